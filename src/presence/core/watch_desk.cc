#include "presence/core/watch_desk.h"

#include "presence/base/log.h"

#include <algorithm>

namespace presence {

namespace {
/// Edges judged in one turn of the loop after a change of rules, so that beats are not kept
/// waiting by a celebrity's block.
constexpr std::size_t kPace = 256;
/// After that much the announcement that a record still owed has been made.
constexpr Millis kAfterUntold{100};
constexpr Millis kRetryUnread{1000};
}  // namespace

WatchDesk::WatchDesk(Scheduler& scheduler, const Clock& clock, PresenceBus& bus,
                     SnapshotReader& reader, const Limits& limits, CoreCounters& counters)
    : scheduler_(scheduler),
      clock_(clock),
      bus_(bus),
      reader_(reader),
      limits_(limits),
      counters_(counters) {}

WatchDesk::EdgeRef WatchDesk::hold(WatchIndex::EdgeId id) {
    WatchEdge& edge = index_.edge(id);
    ++edge.unready;
    return {id, edge.serial};
}

WatchEdge* WatchDesk::find(EdgeRef ref) {
    WatchEdge& edge = index_.edge(ref.id);
    return edge.serial == ref.serial && ref.serial != 0 ? &edge : nullptr;
}

void WatchDesk::drop(WatchIndex::EdgeId id) {
    const UserId user = index_.subject_of(id).user;
    if (index_.remove(id)) {
        bus_.unsubscribe(user);
    }
}

bool WatchDesk::is_news(const WatchEdge& edge, const PresenceEvent& event) {
    if (edge.verdict.own()) {
        return event.tells_own && event.presence.own_version > edge.told;
    }
    return edge.verdict.online() && event.tells_shown && event.presence.shown_version > edge.told;
}

void WatchDesk::mark_dirty(WatchIndex::EdgeId id) {
    WatchEdge& edge = index_.edge(id);
    if (!edge.dirty) {
        edge.dirty = true;
        dirty_.emplace_back(edge.connection, id);
    }
}

void WatchDesk::on_presence(const PresenceEventRef& event) {
    WatchIndex::Subject* const subject = index_.find(event->user);
    if (subject == nullptr) {
        return;
    }
    bool kept = false;
    for (const WatchIndex::EdgeId id : subject->edges) {
        const WatchEdge& edge = index_.edge(id);
        if (edge.unready > 0) {
            kept = true;
        } else if (is_news(edge, *event)) {
            mark_dirty(id);
            kept = true;
        }
    }
    if (!kept) {
        return;
    }
    if (subject->news) {
        // What an older event told of one face and this one does not must not be lost.
        if ((subject->news->tells_shown && !event->tells_shown) ||
            (subject->news->tells_own && !event->tells_own)) {
            auto both = std::make_shared<PresenceEvent>(*event);
            both->tells_shown = both->tells_shown || subject->news->tells_shown;
            both->tells_own = both->tells_own || subject->news->tells_own;
            subject->news = std::move(both);
        } else {
            subject->news = event;
        }
    } else {
        subject->news = event;
    }
    subject->encoded.reset();
    if (!subject->collected) {
        subject->collected = true;
        collected_.push_back(index_.edge(subject->edges.front()).subject);
    }
}

void WatchDesk::flush() {
    if (dirty_.empty() && collected_.empty()) {
        return;
    }
    auto dirty = std::move(dirty_);
    dirty_ = {};
    std::ranges::stable_sort(dirty, {}, &std::pair<std::uint32_t, WatchIndex::EdgeId>::first);
    std::vector<WatchIndex::Subject*> subjects;
    std::vector<Verdict> verdicts;
    for (std::size_t i = 0; i < dirty.size();) {
        const std::uint32_t connection = dirty[i].first;
        const bool takes = sink_->can_take(connection);
        subjects.clear();
        verdicts.clear();
        for (; i < dirty.size() && dirty[i].first == connection; ++i) {
            WatchEdge& edge = index_.edge(dirty[i].second);
            if (!edge.dirty || edge.connection != connection || !takes || edge.unready > 0) {
                continue;  // Gone; or stays dirty until catch_up; or a look will tell.
            }
            WatchIndex::Subject& subject = index_.subject(edge.subject);
            if (!subject.news) {
                continue;
            }
            const Presence& presence = subject.news->presence;
            edge.dirty = false;
            edge.told = edge.verdict.own() ? presence.own_version : presence.shown_version;
            subjects.push_back(&subject);
            verdicts.push_back(edge.verdict);
        }
        if (!subjects.empty()) {
            sink_->deliver_news(connection, subjects, verdicts);
        }
    }
    for (const std::uint32_t slot : std::exchange(collected_, {})) {
        WatchIndex::Subject* const subject = index_.subject_at(slot);
        if (subject != nullptr && subject->collected) {
            subject->collected = false;
            forget_news(*subject);
        }
    }
}

void WatchDesk::forget_news(WatchIndex::Subject& subject) {
    subject.encoded.reset();
    const bool held = std::ranges::any_of(
        subject.edges, [&](WatchIndex::EdgeId id) { return index_.edge(id).unready > 0; });
    if (!held) {
        subject.news.reset();
    }
}

Task<Result<std::vector<Seen>>> WatchDesk::watch(WatchRequest request) {
    std::size_t after = request.users.size();
    if (!request.replace) {
        after = index_.edges_of(request.connection).size();
        for (const UserId& user : request.users) {
            WatchIndex::EdgeId known = 0;
            after += index_.find_edge(request.connection, user, known) ? 0U : 1U;
        }
    }
    if (after > limits_.watch) {
        co_return Error{
            ErrorCode::limit_exceeded,
            fmt::format("users would make {} watched, most is {}", after, limits_.watch), 0,
            static_cast<std::int64_t>(limits_.watch)};
    }
    std::vector<EdgeRef> edges;
    std::vector<UserId> to_subscribe;
    edges.reserve(request.users.size());
    for (const UserId& user : request.users) {
        const WatchIndex::Added added = index_.add(request.connection, user);
        edges.push_back(hold(added.edge));
        if (!index_.subject_of(added.edge).subscribed) {
            to_subscribe.push_back(user);
        }
    }
    if (request.replace) {
        std::vector<WatchIndex::EdgeId> gone;
        for (const WatchIndex::EdgeId id : index_.edges_of(request.connection)) {
            if (index_.edge(id).unready == 0) {
                gone.push_back(id);
            }
        }
        std::ranges::for_each(gone, [this](WatchIndex::EdgeId id) { drop(id); });
    }
    if (!to_subscribe.empty()) {
        std::vector<UserId> users = to_subscribe;
        Result<bool> subscribed = co_await bus_.subscribe(std::move(users));
        for (const UserId& user : to_subscribe) {
            WatchIndex::Subject* const subject = index_.find(user);
            if (subject != nullptr && subscribed) {
                subject->subscribed = true;
            }
        }
    }
    std::vector<UserId> users = request.users;
    const UserId viewer = request.viewer;
    Result<std::vector<Seen>> seen = co_await reader_.look(viewer, std::move(users));
    if (!seen) {
        for (const EdgeRef ref : edges) {
            if (find(ref) != nullptr) {
                drop(ref.id);
            }
        }
        co_return seen.error();
    }
    Millis untold{0};
    std::vector<UserId> again;
    const WallTime now = clock_.wall_now();
    for (std::size_t i = 0; i < edges.size(); ++i) {
        take(edges[i], (*seen)[i]);
        const UserRecordRef& record = (*seen)[i].record;
        if (record && record->untold_until > now) {
            untold = std::max(untold, record->untold_until - now);
            again.push_back((*seen)[i].user);
        }
    }
    if (!again.empty()) {
        look_again_later(request.connection, std::move(again), untold + kAfterUntold);
    }
    co_return seen;
}

bool WatchDesk::take(EdgeRef ref, const Seen& seen) {
    WatchEdge* const edge = find(ref);
    if (edge == nullptr) {
        return false;
    }
    if (edge->unready > 0) {
        --edge->unready;
    }
    const Verdict before = edge->verdict;
    const Version told = edge->told;
    edge->verdict = seen.verdict;
    edge->told = seen.version();
    edge->dirty = false;
    WatchIndex::Subject& subject = index_.subject(edge->subject);
    if (edge->unready == 0 && subject.news) {
        if (is_news(*edge, *subject.news)) {
            mark_dirty(ref.id);
        }
        if (!subject.collected) {
            subject.collected = true;
            collected_.push_back(edge->subject);
        }
    }
    return !(before == seen.verdict)
               ? told.value > 0 || edge->told.value > 0 || before.unread() || seen.verdict.unread()
               : edge->told != told;
}

void WatchDesk::let_go(EdgeRef ref) {
    if (WatchEdge* const edge = find(ref); edge != nullptr && edge->unready > 0) {
        --edge->unready;
    }
}

void WatchDesk::unwatch(std::uint32_t connection, std::span<const UserId> users) {
    for (const UserId& user : users) {
        WatchIndex::EdgeId id = 0;
        if (index_.find_edge(connection, user, id)) {
            drop(id);
        }
    }
}

void WatchDesk::unwatch_all(std::uint32_t connection) {
    while (!index_.edges_of(connection).empty()) {
        drop(index_.edges_of(connection).back());
    }
}

Detached WatchDesk::refresh(std::uint32_t connection, std::vector<EdgeRef> edges,
                            std::vector<UserId> users) {
    const UserId* const viewer = sink_->viewer_of(connection);
    if (viewer == nullptr) {
        co_return;
    }
    const UserId who = *viewer;
    Result<std::vector<Seen>> seen = co_await reader_.look(who, std::move(users));
    if (!seen) {
        std::ranges::for_each(edges, [this](EdgeRef ref) { let_go(ref); });
        log::warning("watches_not_refreshed", "{}", seen.error().message);
        co_return;
    }
    const bool takes = sink_->can_take(connection);
    std::vector<const Seen*> news;
    std::vector<UserId> unread;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        WatchEdge* const edge = find(edges[i]);
        const Version told = edge != nullptr ? edge->told : Version{};
        const Verdict before = edge != nullptr ? edge->verdict : Verdict{};
        if (!take(edges[i], (*seen)[i])) {
            continue;
        }
        counters_.verdicts_changed += before == (*seen)[i].verdict ? 0U : 1U;
        if (takes) {
            news.push_back(&(*seen)[i]);
        } else {
            edge->told = told;  // It was not told: catch_up will see the difference.
            edge->verdict = before;
            edge->dirty = true;
        }
        if ((*seen)[i].verdict.unread()) {
            unread.push_back((*seen)[i].user);
        }
    }
    if (!news.empty()) {
        sink_->deliver_seen(connection, news);
    }
    if (!unread.empty()) {
        look_again_later(connection, std::move(unread), kRetryUnread);
    }
}

void WatchDesk::look_again_later(std::uint32_t connection, std::vector<UserId> users, Millis wait) {
    const UserId* const viewer = sink_ != nullptr ? sink_->viewer_of(connection) : nullptr;
    if (viewer == nullptr) {
        return;
    }
    scheduler_.after(wait, [this, connection, who = *viewer, users = std::move(users)] {
        const UserId* const still = sink_->viewer_of(connection);
        if (still != nullptr && *still == who) {
            refresh_users(connection, users);
        }
    });
}

void WatchDesk::refresh_users(std::uint32_t connection, const std::vector<UserId>& users) {
    std::vector<EdgeRef> edges;
    std::vector<UserId> watched;
    for (const UserId& user : users) {
        WatchIndex::EdgeId id = 0;
        if (index_.find_edge(connection, user, id)) {
            edges.push_back(hold(id));
            watched.push_back(user);
        }
    }
    if (!edges.empty()) {
        refresh(connection, std::move(edges), std::move(watched));
    }
}

void WatchDesk::catch_up(std::uint32_t connection) {
    std::vector<EdgeRef> edges;
    std::vector<UserId> users;
    for (const WatchIndex::EdgeId id : index_.edges_of(connection)) {
        if (index_.edge(id).dirty) {
            edges.push_back(hold(id));
            users.push_back(index_.subject_of(id).user);
        }
    }
    if (!edges.empty()) {
        refresh(connection, std::move(edges), std::move(users));
    }
}

void WatchDesk::reconsider(const UserId& user, std::span<const std::uint32_t> viewing) {
    // One look a connection: the watches of this user by others, and all watches by this user.
    struct Work {
        std::uint32_t connection;
        std::vector<EdgeRef> edges;
        std::vector<UserId> users;
    };
    std::vector<Work> work;
    if (WatchIndex::Subject* const subject = index_.find(user)) {
        for (const WatchIndex::EdgeId id : subject->edges) {
            work.push_back({index_.edge(id).connection, {hold(id)}, {user}});
        }
    }
    for (const std::uint32_t connection : viewing) {
        Work all{connection, {}, {}};
        for (const WatchIndex::EdgeId id : index_.edges_of(connection)) {
            all.edges.push_back(hold(id));
            all.users.push_back(index_.subject_of(id).user);
        }
        if (!all.edges.empty()) {
            work.push_back(std::move(all));
        }
    }
    for (std::size_t i = 0; i < work.size(); i += kPace) {
        const std::size_t end = std::min(work.size(), i + kPace);
        std::vector<Work> batch(
            std::make_move_iterator(work.begin() + static_cast<std::ptrdiff_t>(i)),
            std::make_move_iterator(work.begin() + static_cast<std::ptrdiff_t>(end)));
        scheduler_.post([this, batch = std::move(batch)]() mutable {
            for (Work& one : batch) {
                refresh(one.connection, std::move(one.edges), std::move(one.users));
            }
        });
    }
}

}  // namespace presence
