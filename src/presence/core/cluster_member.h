#pragma once

#include "presence/base/clock.h"
#include "presence/base/random.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/shard.h"
#include "presence/model/store_health.h"
#include "presence/ports/node_registry.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace presence {

/// What this node has done about the others. Owner's thread.
struct ClusterCounters {
    std::uint64_t renewals = 0;
    std::uint64_t renewal_failures = 0;
    std::uint64_t renamed = 0;  ///< Woke up after the others had settled its death.
    std::uint64_t deaths_settled = 0;
    std::uint64_t users_swept = 0;
    std::uint64_t ends_taken_over = 0;  ///< That dead nodes owed to the database.
    std::uint64_t checks = 0;           ///< Partitions looked over for lost records.
    std::uint64_t records_stale = 0;    ///< Records that were lost, or changed without our knowing.
    std::uint64_t stores_lost = 0;      ///< Incarnations of the store that ended, fail-overs.
    std::uint64_t clock_offsets = 0;    ///< Renewals at which the clock was too far off.
};

/// This node among those that share its session store: it keeps the lease, tells its threads who
/// is there, settles the dead, looks for lost records, and states its sessions again to a store
/// that has lost them (DESIGN rules 30 to 32, 36).
///
/// On the thread of `parts.scheduler`; goes to the home threads of users by run_there.
class ClusterMember {
public:
    struct Parts {
        Scheduler& scheduler;
        ReferenceClock& clock;
        Random& random;
        NodeRegistry& registry;
        Shards& shards;
        const CoreConfig& config;
        /// The store went away, came back, or refuses writes. Called on this thread.
        std::function<void(StoreHealth)> on_health;
    };

    explicit ClusterMember(Parts parts);

    /// Draws a name and takes the first lease. False: the store does not answer yet; it is tried
    /// again, and until then this node stands by itself.
    [[nodiscard]] Task<bool> start();

    /// Somebody here could not read the store: it counts as down until a renewal says otherwise.
    void suspect();

    /// Somebody here met a loss of the store's data of which no renewal has told yet.
    void suspect_loss();

    /// Compares what this node holds of its users with the store, and reads anew what others have
    /// changed since: a count of the records is then as good as one in the store.
    /// False: the store does not answer.
    [[nodiscard]] Task<bool> look_over();

    /// From now on the others see that this node is going.
    void set_leaving() { leaving_ = true; }
    /// Gives the lease back, if nothing is left that others would have to see to: no session, and
    /// no end that this node `owes` to the database. No call after.
    [[nodiscard]] Task<bool> leave(bool owes);

    [[nodiscard]] NodeId self() const noexcept { return self_; }
    [[nodiscard]] StoreHealth health() const noexcept { return health_; }
    [[nodiscard]] const ClusterCounters& counters() const noexcept { return counters_; }
    /// Nodes with a lease, this one included, as last heard.
    [[nodiscard]] std::size_t live_nodes() const noexcept { return live_.size(); }

private:
    void schedule(Millis wait);
    [[nodiscard]] Task<bool> renew();
    Detached beat();
    /// What a renewal tells beside who is there.
    struct News {
        bool first = false;        ///< The store was never reached before.
        bool was_down = false;     ///< Or may have been, as this process was away itself.
        bool is_back = false;      ///< It takes writes, and did not.
        bool lost = false;         ///< All that it had.
        bool failed_over = false;  ///< A part of it may lack the last writes, or all.
        MonoTime renewed_before;   ///< When this node had last renewed its lease.
    };
    void learn(const Membership& membership, MonoTime sent_at, WallTime sent_wall);
    void learn_who_lives(const Membership& membership, const News& news);
    using Others = std::map<NodeId, NodeView::Other>;
    /// From now on a user without a record is one of whom nobody can tell, until all who lived, or
    /// turn out to live, have stated theirs.
    void await_all(const Membership& membership, const News& news, const Others& lived,
                   bool is_new_loss);
    /// When the others settle the death of a node that has not renewed since then.
    [[nodiscard]] MonoTime death_of(WallTime renewed_at, const Membership& membership) const;
    void keep_time(const Membership& membership, MonoTime sent_at, WallTime sent_wall);
    void set_health(StoreHealth health);
    void rename();
    /// What watchers and lists of rooms hold of others is void, or can be had again.
    void look_again_everywhere();
    /// What a node that has gone remembered is gone, too (TransitionMemory).
    void lose_memory_of_others();
    /// Puts what is known into every thread's NodeView.
    void tell_threads(bool renamed, MonoTime last_vouched);

    // Deaths, in cluster_sweep.cc
    void forget_in_rooms(NodeId node);
    void look_for_deaths(const Membership& membership);
    Detached settle_death(NodeId node, WallTime died_at);
    /// True: nothing of the node is left in the partition.
    [[nodiscard]] Task<bool> sweep(NodeId node, WallTime died_at, std::uint32_t partition);
    /// Makes the ends that `node` owes to the database this node's. False: the store is away.
    [[nodiscard]] Task<bool> take_ends(NodeId node, std::uint32_t partition);
    [[nodiscard]] Task<bool> take_ends_once(NodeId node, std::uint32_t partition);
    /// Which node sees to `partition` of a dead one (RULINGS 26), of those who believe in deaths:
    /// who has just come does not for as long as a lease.
    [[nodiscard]] NodeId sweeper_of(NodeId dead, std::uint32_t partition) const;
    /// Runs `flow(service, users)` for each thread's share of `users`. True: all said yes.
    template <class Flow>
    [[nodiscard]] Task<bool> at_homes(std::vector<UserId> users, Flow flow);

    // Lost records, in cluster_check.cc
    Detached assert_all(std::string incarnation);
    /// Whether a user without a record is one who is not there (RULINGS 23).
    void learn_who_has_stated(const Membership& membership);
    /// Whether this node has stated all that it holds, and has had time to hear who else is there.
    [[nodiscard]] bool has_stated() const;
    Detached check_next();
    /// Some partitions that follow each other.
    struct Partitions {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    [[nodiscard]] Partitions all_partitions() const { return {0, parts_.registry.partitions()}; }
    /// Users held by this node in these, and all who are unsure.
    [[nodiscard]] Task<std::vector<HeldUser>> users_in(Partitions partitions);
    /// States the ends that the database has not got to a store that lost them.
    [[nodiscard]] Task<bool> assert_ends();
    /// Ends what the store has of this node in the partition beside the sessions of `held`.
    /// False: the store does not answer.
    [[nodiscard]] Task<bool> end_unheld(std::uint32_t partition, std::vector<UserId> held);
    [[nodiscard]] Task<bool> check(Partitions partitions);
    [[nodiscard]] Task<bool> check_one(std::uint32_t partition, std::vector<HeldUser> held);
    /// @param keep  Their records are to live on as well, as if they had just been written.
    [[nodiscard]] Task<bool> compare(std::vector<HeldUser> held, bool keep);
    /// Notes a loss that begins now; one is often heard of in several ways and at several times.
    void count_loss(bool all);

    Parts parts_;
    ClusterCounters counters_;
    NodeId self_;
    StoreHealth health_ = StoreHealth::down;  ///< Until it was reached.
    bool leaving_ = false;
    bool stopped_ = false;
    std::string incarnation_;  ///< Of the store as last seen; empty: never reached.
    std::string asserted_;
    bool asserting_ = false;
    bool must_assert_ =
        false;            ///< Something was not stated: an attempt failed, or the lease lapsed.
    bool slept_ = false;  ///< Renamed since the last renewal that went well.
    std::uint32_t losses_ = 0;         ///< Times that the store may have lost what it had.
    std::uint32_t losses_healed_ = 0;  ///< Those after which all was stated again.
    std::uint32_t loss_ = 0;           ///< The latest by number: NodeView::losses.
    std::uint32_t lost_all_ = 0;       ///< NodeView::lost_all.
    std::uint64_t version_floor_ = 0;  ///< NodeView::version_floor.
    MonoTime loss_until_;              ///< What is heard of until then belongs to it.
    MonoTime suspected_at_;            ///< When a look last found the store away.
    MonoTime loss_suspected_at_;       ///< When one last met a loss.
    /// After a loss or an outage: nodes that have not stated theirs since, and until when each of
    /// them is waited for.
    std::map<NodeId, MonoTime> awaited_;
    MonoTime awaited_until_;  ///< All who live have had the time for it by then.
    /// A store that lost all forgot who lives, too: until then everybody has renewed once.
    MonoTime awaited_at_least_;
    WallTime awaited_since_;  ///< By the reference clock; what was posted before does not count.
    std::uint64_t losses_told_ = 0;  ///< Membership::losses.
    Millis warned_ahead_{0};  ///< How far ahead the machine's clock was said to be; 0: it is right.
    MonoTime lease_until_;
    MonoTime beat_at_;          ///< When the last renewal was begun.
    MonoTime no_deaths_until_;  ///< After a fail-over the lease of a live node may be lost.
    std::uint32_t next_partition_ = 0;
    std::map<NodeId, NodeView::Other> others_;
    std::vector<NodeId> live_;                ///< Sorted; this node included.
    std::map<NodeId, MonoTime> alive_since_;  ///< Of these: when they were first seen to be so.
    std::set<NodeId> settling_;
    /// Ends may have become this node's there without its hearing of it.
    std::set<std::uint32_t> unheard_ends_;
    std::map<std::uint32_t, MonoTime> kept_at_;  ///< By partition.
    Scheduler::TimerId timer_;
    bool spares_watchers_ = false;      ///< NodeView::spares_watchers.
    Scheduler::TimerId unknown_timer_;  ///< While the store is away, until watchers are told.
};

}  // namespace presence
