// Looks at the store for watches that stand: after rules changed, for slow readers, and again where
// a look could not tell.

#include "presence/base/log.h"
#include "presence/core/watch_desk.h"

#include <algorithm>
#include <iterator>

namespace presence {

namespace {
/// Edges looked at with one read and judged in one turn of the loop, so that beats are not kept
/// waiting by a celebrity's block, nor the store by the end of an outage.
constexpr std::size_t kEdgesAtOnce = 1'000;
/// After that much the announcement that a record still owed has been made.
constexpr Millis kAfterUntold{100};
/// No window is longer, whatever a clock that was set back makes of its end.
constexpr Millis kMostUntold{1000};

/// A store that did not answer is known to be away by then, or to be away in part.
constexpr Millis kUntilAway{2'500};

/// Whether a viewer of both would see a difference.
bool shows_the_same(const Seen& a, const Seen& b) {
    if (!a.record || !b.record) {
        return false;
    }
    const Presence& before = a.record->presence;
    const Presence& after = b.record->presence;
    const bool same_face = b.verdict.own()
                               ? before.own == after.own && before.declared == after.declared
                               : before.shown == after.shown;
    return same_face && before.last_seen == after.last_seen && before.doubtful == after.doubtful;
}

/// The viewer cannot be told now what a look has just found. What it holds stays in the edge where
/// that says all of it, so that catching up tells neither too little nor what it holds already:
/// nothing, whatever the verdict was; or a version that nobody can follow up at the moment.
/// @param held      The edge as it was before the look.
/// @param not_told  Differs from whatever a look finds.
void leave_behind(WatchEdge& edge, const WatchEdge& held, Version not_told) {
    const bool holds_nothing = held.told == Version{} && !held.unknown && !held.verdict.unread();
    const bool holds_the_last = edge.unknown && edge.verdict == held.verdict;
    edge.told = holds_nothing || holds_the_last ? held.told : not_told;
    edge.unknown = held.unknown;
    edge.dirty = true;
}
}  // namespace

Task<Result<std::vector<Seen>>> WatchDesk::get(WatchRequest request) {
    std::vector<std::pair<std::size_t, EdgeRef>> watched;  // Places in the request.
    for (std::size_t i = 0; i < request.users.size(); ++i) {
        WatchIndex::EdgeId id = 0;
        if (index_.find_edge(request.connection, request.users[i], id)) {
            watched.emplace_back(i, hold(id));
        }
    }
    UserId viewer = request.viewer;
    std::vector<UserId> users = request.users;
    Result<std::vector<Seen>> seen = co_await reader_.look(std::move(viewer), std::move(users));
    std::vector<UserId> again;
    for (const auto& [place, ref] : watched) {
        const WatchEdge* const edge = find(ref);
        if (edge == nullptr) {
            continue;
        }
        if (!seen) {
            let_go(ref);
            again.push_back(request.users[place]);
            continue;
        }
        Seen& one = (*seen)[place];
        recall(ref, one);
        if (one.verdict.unread() || is_older(*edge, one)) {
            again.push_back(one.user);
        }
        take(ref, one);
        look_again_if_untold(request.connection, one);
    }
    look_again_later(request.connection, std::move(again));
    co_return seen;
}

void WatchDesk::look_again_if_untold(std::uint32_t connection, const Seen& seen) {
    // One who may not see must not be told of others at other moments for it: so each by itself.
    if (!seen.record || !(seen.verdict.online() || seen.verdict.own())) {
        return;
    }
    const Millis untold = seen.record->untold_until - clock_.wall_now();
    const UserId* const viewer = viewer_of(connection);
    WatchIndex::EdgeId edge = 0;
    if (untold <= Millis{0} || viewer == nullptr ||
        !index_.find_edge(connection, seen.user, edge)) {
        return;
    }
    if (untold_.insert_or_assign(edge, Untold{connection, *viewer, seen}).second) {
        heal_after(edge, untold);
    }
}

void WatchDesk::heal_after(WatchIndex::EdgeId edge, Millis untold) {
    scheduler_.after(std::min(untold, kMostUntold) + kAfterUntold, [this, edge] {
        const auto found = untold_.find(edge);
        const Millis left = found->second.seen.record->untold_until - clock_.wall_now();
        if (left > Millis{0}) {
            heal_after(edge, left);  // Seen again meanwhile, in a later window.
            return;
        }
        Untold ended = std::move(found->second);
        untold_.erase(found);
        const UserId* const still = viewer_of(ended.connection);
        if (still != nullptr && *still == ended.viewer) {
            heal(ended.connection, std::move(ended.seen));
        }
    });
}

Detached WatchDesk::heal(std::uint32_t connection, Seen before) {
    // What was seen was on its way to being taken back: if it was, nobody may have been told.
    WatchIndex::EdgeId id = 0;
    if (!index_.find_edge(connection, before.user, id) ||
        index_.edge(id).told != before.version()) {
        co_return;  // Told since, so the announcements have it.
    }
    before.verdict = index_.edge(id).verdict;
    const EdgeRef edge = hold(id);
    UserId viewer = *viewer_of(connection);
    std::vector<UserId> users{before.user};
    Result<std::vector<Seen>> looked = co_await reader_.look(std::move(viewer), std::move(users));
    if (!looked) {
        let_go(edge);
        look_again_later(connection, {before.user});
        co_return;
    }
    const Seen& seen = looked->front();
    const bool unsure = seen.unreachable && seen.verdict == before.verdict;
    if (unsure && reader_.spares(seen)) {
        let_go(edge);
        release_news(edge);
        co_return;  // As in take_all.
    }
    const UserId* const still = viewer_of(connection);
    if (unsure && still != nullptr && find(edge) != nullptr &&
        clock_.wall_now() - before.record->untold_until < kUntilAway) {
        take(edge, before);
        if (untold_.insert_or_assign(id, Untold{connection, *still, before}).second) {
            heal_after(id, kRetry);
        }
        co_return;
    }
    if (seen.verdict == before.verdict && seen.record &&
        seen.record->untold_until > clock_.wall_now()) {
        // The next window is open, and what stands in its middle may be taken back as well: the
        // viewer goes on holding what it holds, until that window has ended too.
        take(edge, before);
        before.record = [&] {
            auto later = make_ref<UserRecord>(*before.record);
            later->untold_until = seen.record->untold_until;
            return later;
        }();
        look_again_if_untold(connection, before);
        co_return;
    }
    const WatchEdge held = index_.edge(id);
    const bool differs = take(edge, seen);
    if (!differs || (seen.verdict == before.verdict && shows_the_same(before, seen))) {
        co_return;
    }
    if (sink_of(connection)->can_take(connection)) {
        const Seen* const news[]{&seen};
        sink_of(connection)->deliver_seen(connection, news);
    } else if (WatchEdge* const behind = find(edge)) {
        leave_behind(*behind, held, kNotTold);
    }
}

Detached WatchDesk::refresh(std::uint32_t connection, std::vector<EdgeRef> edges,
                            std::vector<UserId> users) {
    Task<bool> refreshing = refresh_now(connection, std::move(edges), std::move(users));
    co_await refreshing;
}

Task<bool> WatchDesk::refresh_now(std::uint32_t connection, std::vector<EdgeRef> edges,
                                  std::vector<UserId> users) {
    const UserId* const viewer = viewer_of(connection);
    if (viewer == nullptr) {
        co_return false;
    }
    UserId who = *viewer;
    std::vector<UserId> looked_at = users;
    Result<std::vector<Seen>> seen = co_await reader_.look(std::move(who), std::move(looked_at));
    if (!seen) {
        log::warning("watches_not_refreshed", "{}", seen.error().message);
        // The edges stay held: their verdicts may be void, and nothing may go out by them.
        scheduler_.after(kRetry, [this, connection, edges = std::move(edges),
                                  users = std::move(users)]() mutable {
            refresh(connection, std::move(edges), std::move(users));
        });
        co_return false;
    }
    take_all(connection, edges, *seen);
    co_return true;
}

void WatchDesk::take_all(std::uint32_t connection, std::span<const EdgeRef> edges,
                         std::vector<Seen>& seen) {
    const bool takes = sink_of(connection)->can_take(connection);
    std::vector<const Seen*> news;
    std::vector<UserId> unread;
    std::vector<UserId> older;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        Seen& one = seen[i];
        WatchEdge* const edge = find(edges[i]);
        if (edge == nullptr) {
            continue;
        }
        recall(edges[i], one);
        if (is_older(*edge, one)) {
            // A node that held the user while the store was away has not said so yet (RULINGS 7).
            note_older(edges[i], one);
            let_go(edges[i]);
            release_news(edges[i]);
            older.push_back(one.user);
            continue;
        }
        older_.erase(edges[i].id);
        if (reader_.spares(one) && edge->told < kNotTold && one.verdict == edge->verdict) {
            let_go(edges[i]);
            release_news(edges[i]);
            continue;  // All are looked at again when it can be told, or has long not been.
        }
        const WatchEdge held = *edge;
        const bool differs = take(edges[i], one);
        if (one.verdict.unread()) {
            unread.push_back(one.user);
        }
        look_again_if_untold(connection, one);
        if (!differs) {
            continue;
        }
        counters_.verdicts_changed += held.verdict == one.verdict ? 0U : 1U;
        if (takes) {
            news.push_back(&one);
        } else {
            leave_behind(*edge, held, kNotTold);
        }
    }
    if (!news.empty()) {
        sink_of(connection)->deliver_seen(connection, news);
    }
    std::ranges::move(older, std::back_inserter(unread));
    look_again_later(connection, std::move(unread));
}

void WatchDesk::note_older(EdgeRef edge, const Seen& seen) {
    const MonoTime now = clock_.now();
    const auto [since, first] = older_.try_emplace(edge.id, now);
    if (first || now - since->second < kOlderFor || !on_older_) {
        return;
    }
    since->second = now;
    const Version told = index_.edge(edge.id).told;
    on_older_(seen.user, seen.verdict.own() ? ToldVersions{told, {}} : ToldVersions{{}, told});
}

void WatchDesk::look_again_later(std::uint32_t connection, std::vector<UserId> users) {
    const UserId* const viewer = viewer_of(connection);
    if (viewer == nullptr || users.empty()) {
        return;
    }
    const auto [waiting, first] = retries_.try_emplace(connection);
    Retry& retry = waiting->second;
    if (!(retry.viewer == *viewer)) {
        retry = {*viewer, {}};  // The connection's number was another's before.
    }
    retry.users.insert(std::make_move_iterator(users.begin()),
                       std::make_move_iterator(users.end()));
    if (first) {
        scheduler_.after(kRetry, [this, connection] {
            const auto found = retries_.find(connection);
            const Retry due = std::move(found->second);
            retries_.erase(found);
            const UserId* const still = viewer_of(connection);
            if (still != nullptr && *still == due.viewer) {
                refresh_users(connection, due.users);
            }
        });
    }
}

void WatchDesk::refresh_users(std::uint32_t connection, const std::set<UserId>& users) {
    std::vector<EdgeRef> edges;
    std::vector<UserId> watched;
    for (const UserId& user : users) {
        WatchIndex::EdgeId id = 0;
        if (index_.find_edge(connection, user, id) && index_.edge(id).unready == 0) {
            edges.push_back(hold(id));
            watched.push_back(user);
        }
    }
    if (!edges.empty()) {
        refresh(connection, std::move(edges), std::move(watched));
    }
}

Detached WatchDesk::catch_up(std::uint32_t connection) {
    Task<bool> catching = catch_up_now(connection);
    co_await catching;
}

Task<bool> WatchDesk::catch_up_now(std::uint32_t connection) {
    std::vector<EdgeRef> edges;
    std::vector<UserId> users;
    for (const WatchIndex::EdgeId id : index_.edges_of(connection)) {
        if (index_.edge(id).dirty) {
            edges.push_back(hold(id));
            users.push_back(index_.subject_of(id).user);
        }
    }
    if (edges.empty()) {
        co_return true;
    }
    Task<bool> refreshing = refresh_now(connection, std::move(edges), std::move(users));
    const bool told = co_await refreshing;
    co_return told;
}

WatchDesk::Work WatchDesk::all_watches_of(std::uint32_t connection) {
    Work all{connection, {}};
    for (const WatchIndex::EdgeId id : index_.edges_of(connection)) {
        all.edges.push_back(hold(id));
    }
    return all;
}

void WatchDesk::look_at_all_again() {
    std::vector<Work> work;
    for (const std::uint32_t connection : index_.connections()) {
        work.push_back(all_watches_of(connection));
    }
    in_paced_batches(std::move(work));
}

void WatchDesk::look_again(const PartitionSet& lost) {
    std::vector<Work> work;
    for (const std::uint32_t connection : index_.connections()) {
        const UserId* const viewer = viewer_of(connection);
        if (viewer != nullptr && lost.holds(*viewer)) {
            work.push_back(all_watches_of(connection));
            continue;
        }
        Work some{connection, {}};
        for (const WatchIndex::EdgeId id : index_.edges_of(connection)) {
            if (lost.holds(index_.subject_of(id).user)) {
                some.edges.push_back(hold(id));
            }
        }
        if (!some.edges.empty()) {
            work.push_back(std::move(some));
        }
    }
    in_paced_batches(std::move(work));
}

void WatchDesk::reconsider(const UserId& user, std::span<const std::uint32_t> viewing) {
    // The watches of this user by others, and all watches by this user.
    std::vector<Work> work;
    if (WatchIndex::Subject* const subject = index_.find(user)) {
        for (const WatchIndex::EdgeId id : subject->edges) {
            work.push_back({index_.edge(id).connection, {hold(id)}});
        }
    }
    in_paced_batches(std::move(work));
    reconsider_views(viewing);
}

void WatchDesk::reconsider_views(std::span<const std::uint32_t> viewing) {
    std::vector<Work> work;
    for (const std::uint32_t connection : viewing) {
        Work all = all_watches_of(connection);
        if (!all.edges.empty()) {
            work.push_back(std::move(all));
        }
    }
    in_paced_batches(std::move(work));
}

void WatchDesk::in_paced_batches(std::vector<Work> work) {
    if (!work.empty()) {
        scheduler_.post(
            [this, work = std::move(work)]() mutable { look_at_next_batch(std::move(work)); });
    }
}

Detached WatchDesk::look_at_next_batch(std::vector<Work> work) {
    std::vector<Work> batch;
    std::size_t edges = 0;
    while (!work.empty() && (batch.empty() || edges + work.back().edges.size() <= kEdgesAtOnce)) {
        edges += work.back().edges.size();
        batch.push_back(std::move(work.back()));
        work.pop_back();
    }
    const bool looked = co_await look_at(batch);
    if (looked) {
        in_paced_batches(std::move(work));
        co_return;
    }
    // The edges stay held: their verdicts may be void, and nothing may go out by them.
    work.insert(work.end(), std::make_move_iterator(batch.begin()),
                std::make_move_iterator(batch.end()));
    scheduler_.after(
        kRetry, [this, work = std::move(work)]() mutable { in_paced_batches(std::move(work)); });
}

Task<bool> WatchDesk::look_at(std::vector<Work>& batch) {
    std::vector<Looking> looks;
    for (Work& work : batch) {
        std::erase_if(work.edges, [this](EdgeRef edge) { return find(edge) == nullptr; });
    }
    std::erase_if(batch, [this](const Work& work) {
        return work.edges.empty() || viewer_of(work.connection) == nullptr;
    });
    for (const Work& work : batch) {
        Looking& one = looks.emplace_back(Looking{*viewer_of(work.connection), {}});
        for (const EdgeRef edge : work.edges) {
            one.users.push_back(index_.subject_of(edge.id).user);
        }
    }
    if (looks.empty()) {
        co_return true;
    }
    Result<std::vector<std::vector<Seen>>> seen = co_await reader_.look_for_all(std::move(looks));
    if (!seen) {
        log::warning("watches_not_refreshed", "{}", seen.error().message);
        co_return false;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (viewer_of(batch[i].connection) != nullptr) {
            take_all(batch[i].connection, batch[i].edges, (*seen)[i]);
        }
    }
    co_return true;
}

}  // namespace presence
