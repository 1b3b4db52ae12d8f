// Who watches whom, and news of them. Looks at the store are in watch_looks.cc.

#include "presence/core/watch_desk.h"

#include "presence/base/log.h"

#include <algorithm>
#include <string_view>

namespace presence {

namespace {

/// Whether what is seen looks as it did when the verdict was `before`: who is online shows neither
/// `since` nor last seen.
bool looks_the_same(const Seen& seen, Verdict before) {
    const auto sees = [](Verdict verdict) {
        return verdict.online() && !verdict.own() && !verdict.unread();
    };
    return sees(before) && sees(seen.verdict) && seen.record &&
           seen.record->presence.shown.status == Status::online;
}

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
    const std::uint32_t connection = index_.edge(id).connection;
    older_.erase(id);
    if (index_.remove(id) && (neighbour_ == nullptr || !neighbour_->follows(user))) {
        bus_.unsubscribe(user);
    }
    if (neighbour_ != nullptr) {
        neighbour_->on_unwatched(connection, user);
    }
}

bool WatchDesk::tells(std::uint32_t connection, const UserId& user) {
    WatchIndex::EdgeId id = 0;
    return index_.find_edge(connection, user, id) && index_.edge(id).verdict.online();
}

bool WatchDesk::is_news(const WatchEdge& edge, const PresenceEvent& event) {
    if (edge.verdict.own()) {
        return event.tells_own && event.presence.own_version > edge.told;
    }
    return edge.verdict.online() && event.tells_shown && event.presence.shown_version > edge.told;
}

bool WatchDesk::is_older(const WatchEdge& edge, const Seen& seen) {
    return !seen.unreachable && edge.told < kNotTold && seen.verdict == edge.verdict &&
           (seen.verdict.online() || seen.verdict.own()) && seen.version() < edge.told;
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
    if (event->rules_revision > subject->rules_revision) {
        // Word of a change of rules was lost, or comes later: nothing goes out by the old ones.
        reader_.heard(event->user, event->rules_revision);
        subject->rules_revision = event->rules_revision;
        ++counters_.rules_behind;
        reconsider(event->user, {});
    }
    reader_.note_versions(event->user, event->presence);
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
        const bool takes = sink_of(connection)->can_take(connection);
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
            edge.unknown = false;
            edge.told = edge.verdict.own() ? presence.own_version : presence.shown_version;
            subjects.push_back(&subject);
            verdicts.push_back(edge.verdict);
        }
        if (!subjects.empty()) {
            sink_of(connection)->deliver_news(connection, subjects, verdicts);
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

std::size_t WatchDesk::count_after(const WatchRequest& request) {
    std::vector<std::string_view> named;
    named.reserve(request.users.size());
    for (const UserId& user : request.users) {
        named.push_back(user.text);
    }
    std::ranges::sort(named);
    const auto doubles = std::ranges::unique(named);
    std::size_t after = named.size() - doubles.size();
    if (!request.replace) {
        for (const WatchIndex::EdgeId id : index_.edges_of(request.connection)) {
            const std::string_view watched = index_.subject_of(id).user.text;
            after += std::binary_search(named.begin(), doubles.begin(), watched) ? 0U : 1U;
        }
    }
    return after;
}

WatchDesk::Wanted WatchDesk::add_edges(const WatchRequest& request) {
    Wanted wanted;
    wanted.edges.reserve(request.users.size());
    wanted.created.reserve(request.users.size());
    for (const UserId& user : request.users) {
        const WatchIndex::Added added = index_.add(request.connection, user);
        wanted.edges.push_back(hold(added.edge));
        wanted.created.push_back(added.created);
        if (!index_.subject_of(added.edge).subscribed) {
            wanted.unsubscribed.push_back(user);
        }
    }
    if (request.replace) {
        std::vector<WatchIndex::EdgeId> named;
        for (const EdgeRef& ref : wanted.edges) {
            named.push_back(ref.id);
        }
        std::ranges::sort(named);
        for (const WatchIndex::EdgeId id : index_.edges_of(request.connection)) {
            if (!std::ranges::binary_search(named, id)) {
                wanted.replaced.push_back({id, index_.edge(id).serial});
            }
        }
    }
    return wanted;
}

/// A request that failed changes nothing: what it added goes, what was there is looked at again,
/// as its news was held meanwhile.
void WatchDesk::give_up(const WatchRequest& request, const Wanted& wanted) {
    std::vector<UserId> kept;
    for (std::size_t i = 0; i < wanted.edges.size(); ++i) {
        if (find(wanted.edges[i]) == nullptr) {
            continue;
        }
        if (wanted.created[i]) {
            drop(wanted.edges[i].id);
        } else {
            let_go(wanted.edges[i]);
            kept.push_back(request.users[i]);
        }
    }
    look_again_later(request.connection, std::move(kept));
}

Task<Result<std::vector<Seen>>> WatchDesk::watch(WatchRequest request) {
    const std::size_t after = count_after(request);
    if (after > limits_.watch) {
        co_return Error{
            ErrorCode::limit_exceeded,
            fmt::format("users would make {} watched, most is {}", after, limits_.watch), 0,
            static_cast<std::int64_t>(limits_.watch)};
    }
    const Wanted wanted = add_edges(request);
    if (!wanted.unsubscribed.empty()) {
        std::vector<UserId> users = wanted.unsubscribed;
        Result<bool> subscribed = co_await bus_.subscribe(std::move(users));
        if (!subscribed) {
            give_up(request, wanted);
            co_return subscribed.error();
        }
        for (const UserId& user : wanted.unsubscribed) {
            if (WatchIndex::Subject* const subject = index_.find(user)) {
                subject->subscribed = true;
            }
        }
    }
    std::vector<UserId> users = request.users;
    UserId viewer = request.viewer;
    Result<std::vector<Seen>> seen = co_await reader_.look(std::move(viewer), std::move(users));
    if (!seen) {
        give_up(request, wanted);
        co_return seen.error();
    }
    for (const EdgeRef& ref : wanted.replaced) {
        if (find(ref) != nullptr) {
            drop(ref.id);
        }
    }
    std::vector<UserId> unread;
    for (std::size_t i = 0; i < wanted.edges.size(); ++i) {
        Seen& one = (*seen)[i];
        recall(wanted.edges[i], one);
        const WatchEdge* const edge = find(wanted.edges[i]);
        if (edge != nullptr && edge->unknown) {
            one.rules_untouched = false;  // What it holds is `unknown`, under whatever version.
        }
        take(wanted.edges[i], one);
        look_again_if_untold(request.connection, one);
        if (one.verdict.unread()) {
            unread.push_back(one.user);
        }
    }
    look_again_later(request.connection, std::move(unread));
    co_return seen;
}

void WatchDesk::recall(EdgeRef ref, Seen& seen) {
    const WatchEdge* const edge = find(ref);
    const bool was_told = edge != nullptr && edge->told > Version{} && edge->told < kNotTold;
    if (was_told && seen.unreachable && seen.verdict == edge->verdict) {
        seen.told = edge->told;
    }
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
    const bool was_unknown = std::exchange(edge->unknown, seen.unreachable);
    edge->verdict = seen.verdict;
    edge->dirty = false;
    WatchIndex::Subject& subject = index_.subject(edge->subject);
    subject.rules_revision = std::max(subject.rules_revision, seen.rules_revision);
    if (seen.unreachable) {
        if (edge->told == Version{} || edge->told == kNotTold) {
            edge->told = seen.version();  // No older one may follow.
        }
        release_news(ref);
        return !was_unknown;
    }
    edge->told = seen.version();
    release_news(ref);
    if (was_unknown) {
        return true;
    }
    if (edge->told == told && looks_the_same(seen, before)) {
        return false;
    }
    return !(before == seen.verdict)
               ? told.value > 0 || edge->told.value > 0 || before.unread() || seen.verdict.unread()
               : edge->told != told;
}

void WatchDesk::release_news(EdgeRef ref) {
    WatchEdge* const edge = find(ref);
    if (edge == nullptr || edge->unready > 0) {
        return;
    }
    WatchIndex::Subject& subject = index_.subject(edge->subject);
    if (!subject.news) {
        return;
    }
    if (is_news(*edge, *subject.news)) {
        mark_dirty(ref.id);
    }
    if (!subject.collected) {
        subject.collected = true;
        collected_.push_back(edge->subject);
    }
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

void WatchDesk::unwatch_others(std::uint32_t connection, const UserId& user) {
    std::vector<UserId> others;
    for (const WatchIndex::EdgeId id : index_.edges_of(connection)) {
        if (const UserId& watched = index_.subject_of(id).user; !(watched == user)) {
            others.push_back(watched);
        }
    }
    unwatch(connection, others);
}

void WatchDesk::unwatch_all(std::uint32_t connection) {
    while (!index_.edges_of(connection).empty()) {
        drop(index_.edges_of(connection).back());
    }
}

}  // namespace presence
