// Looks at the store for watches that stand: after rules changed, for slow readers, and again where
// a look could not tell.

#include "presence/base/log.h"
#include "presence/core/watch_desk.h"

#include <algorithm>
#include <limits>

namespace presence {

namespace {
/// Edges judged in one turn of the loop after a change of rules, so that beats are not kept
/// waiting by a celebrity's block.
constexpr std::size_t kPace = 256;
/// After that much the announcement that a record still owed has been made.
constexpr Millis kAfterUntold{100};
/// No window is longer, whatever a clock that was set back makes of its end.
constexpr Millis kMostUntold{1000};
/// Told to nobody yet, and so different from whatever a look finds.
constexpr Version kNotTold{std::numeric_limits<std::uint64_t>::max()};
}  // namespace

void WatchDesk::look_again_if_untold(std::uint32_t connection, const Seen& seen) {
    // One who may not see must not be told of others at other moments for it: so each by itself.
    if (!seen.record || !(seen.verdict.online() || seen.verdict.own())) {
        return;
    }
    const Millis untold = seen.record->untold_until - clock_.wall_now();
    if (untold > Millis{0}) {
        look_again_later(connection, {seen.user}, std::min(untold, kMostUntold) + kAfterUntold);
    }
}

Detached WatchDesk::refresh(std::uint32_t connection, std::vector<EdgeRef> edges,
                            std::vector<UserId> users, bool again) {
    const UserId* const viewer = sink_->viewer_of(connection);
    if (viewer == nullptr) {
        co_return;
    }
    UserId who = *viewer;
    std::vector<UserId> looked_at = users;
    Result<std::vector<Seen>> seen = co_await reader_.look(std::move(who), std::move(looked_at));
    if (!seen) {
        std::ranges::for_each(edges, [this](EdgeRef ref) { let_go(ref); });
        log::warning("watches_not_refreshed", "{}", seen.error().message);
        look_again_later(connection, std::move(users), kRetry);
        co_return;
    }
    const bool takes = sink_->can_take(connection);
    std::vector<const Seen*> news;
    std::vector<UserId> unread;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const Seen& one = (*seen)[i];
        WatchEdge* const edge = find(edges[i]);
        if (edge == nullptr) {
            continue;
        }
        const Verdict before = edge->verdict;
        if (again && before == one.verdict && one.record &&
            one.record->untold_until > clock_.wall_now()) {
            // The next window is open: its announcement will tell, and is told only once.
            let_go(edges[i]);
            look_again_if_untold(connection, one);
            continue;
        }
        const bool differs = take(edges[i], one);
        if (one.verdict.unread()) {
            unread.push_back(one.user);
        }
        look_again_if_untold(connection, one);
        if (!differs) {
            continue;
        }
        counters_.verdicts_changed += before == one.verdict ? 0U : 1U;
        if (takes) {
            news.push_back(&one);
        } else {
            edge->told = kNotTold;  // catch_up will tell it.
            edge->dirty = true;
        }
    }
    if (!news.empty()) {
        sink_->deliver_seen(connection, news);
    }
    if (!unread.empty()) {
        look_again_later(connection, std::move(unread), kRetry);
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
        refresh(connection, std::move(edges), std::move(watched), true);
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
