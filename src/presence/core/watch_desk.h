#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/limits.h"
#include "presence/core/slot_pool.h"
#include "presence/core/snapshot.h"
#include "presence/core/watch_index.h"
#include "presence/model/partition.h"
#include "presence/ports/presence_bus.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace presence {

/// Where news of watched users goes: the gateway of the thread, or its HTTP readers. No call may
/// call back into the desk.
class WatchSink {
public:
    virtual ~WatchSink() = default;
    /// Whose connection it is; null if it is gone.
    [[nodiscard]] virtual const UserId* viewer_of(std::uint32_t connection) = 0;
    /// False: it does not read, or asked for nothing now. It is told later, by catch_up.
    [[nodiscard]] virtual bool can_take(std::uint32_t connection) = 0;
    /// Tells the newest of several users, from events. Bytes once made are in `Subject::encoded`.
    virtual void deliver_news(std::uint32_t connection,
                              std::span<WatchIndex::Subject* const> subjects,
                              std::span<const Verdict> verdicts) = 0;
    /// Tells what a look at the store found.
    virtual void deliver_seen(std::uint32_t connection, std::span<const Seen* const> seen) = 0;
};

/// Who else on the thread follows users, and wants to know of watches that end.
class WatchNeighbour {
public:
    virtual ~WatchNeighbour() = default;
    /// It needs the user's changes from the bus.
    [[nodiscard]] virtual bool follows(const UserId& user) const = 0;
    virtual void on_unwatched(std::uint32_t connection, const UserId& user) = 0;
};

/// How a watch list is to change.
struct WatchRequest {
    std::uint32_t connection = 0;
    UserId viewer;
    std::vector<UserId> users;
    bool replace = false;  ///< These and no others (`mode: set`).
};

/// What connections watch, and what they are told: watch before read, news by state and not by
/// event, verdicts kept with the watch (DESIGN rules 20 to 22, 27). One thread.
///
/// Every look at the store goes the same way: the edges concerned are marked unready, so that news
/// is held; the look is made; the edge takes verdict and version from it; held news that is newer
/// goes out. So no change can fall between, and none is told twice.
class WatchDesk {
public:
    WatchDesk(Scheduler& scheduler, const Clock& clock, PresenceBus& bus, SnapshotReader& reader,
              const Limits& limits, CoreCounters& counters);

    /// Of the gateway's connections.
    void set_sink(WatchSink* sink) { sinks_[0] = sink; }
    /// Of those whose names have the bit kHttpReader.
    void set_reader_sink(WatchSink* sink) { sinks_[watcher_kind(kHttpReader)] = sink; }
    /// Of those that have the bits kCanaryReader.
    void set_canary_sink(WatchSink* sink) { sinks_[watcher_kind(kCanaryReader)] = sink; }
    void set_neighbour(WatchNeighbour* neighbour) { neighbour_ = neighbour; }

    /// Watches, then reads. The answer is what the viewer now holds, for a snapshot that the caller
    /// sends before it returns to the loop.
    /// @retval ErrorCode::limit_exceeded  Nothing was changed.
    [[nodiscard]] Task<Result<std::vector<Seen>>> watch(WatchRequest request);
    /// Reads, and watches nobody. What the viewer is given of users that it watches counts as told,
    /// as the answer of watch() does.
    [[nodiscard]] Task<Result<std::vector<Seen>>> get(WatchRequest request);
    void unwatch(std::uint32_t connection, std::span<const UserId> users);
    /// All but `user`.
    void unwatch_others(std::uint32_t connection, const UserId& user);
    void unwatch_all(std::uint32_t connection);

    void on_presence(const PresenceEventRef& event);

    /// Rules of `user` changed: every watch of or by the user is judged anew, and whoever gained or
    /// lost sight is told. `viewing` are the user's connections on this thread.
    void reconsider(const UserId& user, std::span<const std::uint32_t> viewing);
    /// The second half of it alone: all watches of these connections are judged anew.
    void reconsider_views(std::span<const std::uint32_t> viewing);

    /// Looks at every watch again and tells the differences, in paced batches: events may have been
    /// lost, or the store is away and what can be told has changed (DESIGN rule 30).
    void look_at_all_again();
    /// The same for the watches of users in `lost`, and for all of viewers whose own rules are
    /// there (RULINGS 16).
    void look_again(const PartitionSet& lost);

    /// Tells a connection that can take news again all that it missed, in one piece.
    Detached catch_up(std::uint32_t connection);
    /// The same; completes when it has told it, or found that it cannot yet.
    [[nodiscard]] Task<bool> catch_up_now(std::uint32_t connection);

    /// Sends what was collected. At the end of each turn of the loop.
    void flush();

    /// Called for a user of whom a viewer holds a version that the store has not reached, look
    /// after look.
    using OnOlder = std::function<void(const UserId& user, ToldVersions told)>;
    void set_on_older(OnOlder hook) { on_older_ = std::move(hook); }

    /// Whether anybody here watches the user.
    [[nodiscard]] bool follows(const UserId& user) { return index_.find(user) != nullptr; }
    /// Whether the connection is told by a watch how the user's status changes.
    [[nodiscard]] bool tells(std::uint32_t connection, const UserId& user);

    [[nodiscard]] const WatchIndex& index() const noexcept { return index_; }
    [[nodiscard]] std::size_t watch_count(std::uint32_t connection) const {
        return index_.edges_of(connection).size();
    }

private:
    /// A look that could not tell is made again after that long.
    static constexpr Millis kRetry{1000};
    /// The nodes have stated what they hold by then, and what was on its way has come.
    static constexpr Millis kOlderFor{3000};
    /// Told to nobody yet, and so different from whatever a look finds.
    static constexpr Version kNotTold{std::numeric_limits<std::uint64_t>::max()};

    /// Names an edge across a wait.
    struct EdgeRef {
        WatchIndex::EdgeId id = 0;
        std::uint32_t serial = 0;
    };

    [[nodiscard]] EdgeRef hold(WatchIndex::EdgeId id);
    [[nodiscard]] WatchEdge* find(EdgeRef edge);
    void drop(WatchIndex::EdgeId id);
    /// Whether the store knows less than the viewer was told.
    [[nodiscard]] static bool is_older(const WatchEdge& edge, const Seen& seen);
    void note_older(EdgeRef edge, const Seen& seen);
    [[nodiscard]] static bool is_news(const WatchEdge& edge, const PresenceEvent& event);
    void mark_dirty(WatchIndex::EdgeId id);
    /// One connection's part of a look; the edges are held.
    struct Work {
        std::uint32_t connection = 0;
        std::vector<EdgeRef> edges;
    };
    [[nodiscard]] Work all_watches_of(std::uint32_t connection);
    /// Looks at all of it, one batch after the other, each with one read for many connections.
    void in_paced_batches(std::vector<Work> work);
    Detached look_at_next_batch(std::vector<Work> work);
    [[nodiscard]] Task<bool> look_at(std::vector<Work>& batch);
    /// Ends the wait of a connection's edges with what was seen, and tells the differences.
    void take_all(std::uint32_t connection, std::span<const EdgeRef> edges,
                  std::vector<Seen>& seen);
    /// With what nobody can tell goes the version that the viewer holds.
    void recall(EdgeRef edge, Seen& seen);
    /// Ends the wait of an edge with what was seen. True: the viewer must be told.
    bool take(EdgeRef edge, const Seen& seen);
    /// The edges of a new request, each held, and those that it puts an end to.
    struct Wanted {
        std::vector<EdgeRef> edges;
        std::vector<EdgeRef> replaced;
        std::vector<UserId> unsubscribed;
        std::vector<bool> created;
    };
    [[nodiscard]] Wanted add_edges(const WatchRequest& request);
    void give_up(const WatchRequest& request, const Wanted& wanted);
    [[nodiscard]] std::size_t count_after(const WatchRequest& request);
    void let_go(EdgeRef edge);
    /// What was held for an edge while it was looked at goes out with the next flush, if newer.
    void release_news(EdgeRef edge);
    void forget_news(WatchIndex::Subject& subject);
    Detached refresh(std::uint32_t connection, std::vector<EdgeRef> edges,
                     std::vector<UserId> users);
    Task<bool> refresh_now(std::uint32_t connection, std::vector<EdgeRef> edges,
                           std::vector<UserId> users);
    /// Looks again at what was seen in the middle of an anti-flap window, and tells the difference
    /// if no announcement has told it.
    Detached heal(std::uint32_t connection, Seen before);
    /// After kRetry, in one look with whatever else of the connection waits for it.
    void look_again_later(std::uint32_t connection, std::vector<UserId> users);
    /// After a look within somebody's anti-flap window: what follows may never be announced, as it
    /// may end where it began.
    void look_again_if_untold(std::uint32_t connection, const Seen& seen);
    void heal_after(WatchIndex::EdgeId edge, Millis untold);
    /// But for those of whom a look is under way: it finds the newest, or comes back here.
    void refresh_users(std::uint32_t connection, const std::set<UserId>& users);
    [[nodiscard]] WatchSink* sink_of(std::uint32_t connection) const {
        return sinks_[watcher_kind(connection)];
    }
    /// Whose connection it is; null if it is gone.
    [[nodiscard]] const UserId* viewer_of(std::uint32_t connection) const {
        WatchSink* const sink = sink_of(connection);
        return sink != nullptr ? sink->viewer_of(connection) : nullptr;
    }

    Scheduler& scheduler_;
    const Clock& clock_;
    PresenceBus& bus_;
    SnapshotReader& reader_;
    const Limits& limits_;
    CoreCounters& counters_;
    std::array<WatchSink*, kWatcherKinds> sinks_{};
    WatchNeighbour* neighbour_ = nullptr;
    WatchIndex index_;
    /// What was seen last in the middle of an anti-flap window.
    struct Untold {
        std::uint32_t connection = 0;
        UserId viewer;
        Seen seen;
    };
    /// One wait an edge, however often it is looked at meanwhile.
    boost::unordered_flat_map<WatchIndex::EdgeId, Untold> untold_;
    /// Since when the looks of an edge have found less than its viewer was told.
    boost::unordered_flat_map<WatchIndex::EdgeId, MonoTime> older_;
    OnOlder on_older_;
    /// Users who a connection must be told of and could not.
    struct Retry {
        UserId viewer;
        std::set<UserId> users;
    };
    boost::unordered_flat_map<std::uint32_t, Retry> retries_;  ///< By connection, one wait each.
    std::vector<std::pair<std::uint32_t, WatchIndex::EdgeId>> dirty_;  ///< Connection, edge.
    std::vector<std::uint32_t> collected_;                             ///< Subjects with news.
};

}  // namespace presence
