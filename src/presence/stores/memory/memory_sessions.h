#pragma once

#include "presence/base/clock.h"
#include "presence/ports/presence_bus.h"
#include "presence/ports/session_store.h"
#include "presence/stores/memory/faults.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

namespace presence {

/// The user records of one process, shared by its threads' MemorySessionStores. Any thread.
///
/// Holds pointers to the committed records, never copies. A record without sessions goes when its
/// `keep` is over: at once for whoever asks for it, and from memory with a few others at each later
/// call, so no call does more than a bounded share of that work.
class MemorySessions {
public:
    explicit MemorySessions(const Clock& clock) : clock_(clock) {}
    MemorySessions(const MemorySessions&) = delete;
    MemorySessions& operator=(const MemorySessions&) = delete;

    /// Null where there is none.
    [[nodiscard]] UserRecordRef load(const UserId& user);

    /// See SessionStore::commit. The event goes to `bus` (both may be null) before anybody else can
    /// commit this user, so that events leave in the order of the commits.
    [[nodiscard]] CommitOutcome commit(Commit commit, PresenceBus* bus);
    void erase(const UserId& user);
    /// From now on the record of `user` cannot be read.
    void damage(const UserId& user);

    // --- For MemoryRegistry -------------------------------------------------------------------
    static constexpr std::uint32_t kPartitions = 64;
    [[nodiscard]] static std::uint32_t partition_of(const UserId& user) {
        return static_cast<std::uint32_t>(IdHash{}(user) % kPartitions);
    }
    /// Ends that nodes owe to the database.
    void owe_end(NodeId node, LastSeenRow row);
    void drop_ends(NodeId node, const std::vector<LastSeenRow>& written);
    [[nodiscard]] std::size_t ends_of(NodeId node, std::uint32_t partition) const;
    [[nodiscard]] std::vector<LastSeenRow> take_ends(NodeId from, NodeId to,
                                                     std::uint32_t partition, std::size_t limit);
    void entomb(NodeId node, std::uint32_t partition);
    [[nodiscard]] bool is_entombed(NodeId node, std::uint32_t partition) const;
    /// Looks at every record: meant for tests and simulation.
    [[nodiscard]] std::vector<UserId> users_of(NodeId node, std::uint32_t partition,
                                               std::size_t limit) const;
    /// What a restart without data does to a store.
    void lose_all();
    /// The last writes may be lost.
    void fail_over() { ++losses_; }
    [[nodiscard]] std::uint64_t losses() const { return losses_; }

    /// Records in memory, those that are over but not yet dropped included.
    [[nodiscard]] std::size_t size() const;
    /// Deadlines filed for dropping records: about one for each record without sessions.
    [[nodiscard]] std::size_t deadlines() const;

    [[nodiscard]] StoreFaults& faults() { return faults_; }
    void set_unavailable(bool unavailable) { faults_.set_unavailable(unavailable); }

private:
    static constexpr std::size_t kStripes = 64;
    /// Records looked at for dropping in one call. Two would keep up with one commit a call.
    static constexpr int kDropsPerCall = 4;
    static constexpr MonoTime kNever{Millis::max()};

    struct Leaving {
        MonoTime over_at = kNever;   ///< From then on there is no record. kNever: it has sessions.
        MonoTime filed_at = kNever;  ///< The deadline under which `deadlines` knows the user.
    };
    struct Entry {
        UserRecordRef record;
        std::unique_ptr<Leaving>
            leaving;  ///< Null where it has sessions, and no deadline is filed.

        [[nodiscard]] MonoTime over_at() const { return leaving ? leaving->over_at : kNever; }
    };
    struct Deadline {
        MonoTime at;
        UserId user;
        friend bool operator>(const Deadline& a, const Deadline& b) { return a.at > b.at; }
    };
    struct alignas(64) Stripe {
        mutable std::mutex mutex;
        boost::unordered_flat_map<UserId, Entry, IdHash, IdEqual> entries;
        /// One live deadline a user, filed again when it turns out to be too early; stale ones
        /// (of another `filed_at`) are dropped when their time comes.
        std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines;
    };

    [[nodiscard]] Stripe& stripe_of(const UserId& user) {
        constexpr int kTopBits = 6;
        static_assert(kStripes == std::size_t{1} << kTopBits);
        return stripes_[IdHash{}(user) >> (sizeof(std::size_t) * 8 - kTopBits)];
    }
    static void file(Stripe& stripe, const UserId& user, Leaving& leaving);
    static void drop_some(Stripe& stripe, MonoTime now);

    const Clock& clock_;
    std::array<Stripe, kStripes> stripes_;
    StoreFaults faults_;
    std::atomic<std::uint64_t> losses_ = 0;
    mutable std::mutex nodes_mutex_;  ///< Guards what follows.
    std::set<std::pair<NodeId, std::uint32_t>> tombs_;
    std::map<NodeId, std::map<UserId, LastSeenRow>> ends_;
    std::atomic<bool> has_tombs_ = false;
};

/// One thread's way to the shared records. Completes at once, unless told to be slow.
class MemorySessionStore final : public SessionStore {
public:
    /// @param bus         This thread's end of the bus; null: events are dropped.
    /// @param for_delays  Needed only where `faults().set_delay` is used.
    MemorySessionStore(MemorySessions& shared, PresenceBus* bus, Scheduler* for_delays = nullptr)
        : shared_(shared), bus_(bus), scheduler_(for_delays) {}

    void set_node(NodeId node) override { node_ = node; }
    void watch_losses(LossWatch& watch) override { losses_ = &watch; }
    [[nodiscard]] Task<Result<std::vector<UserRecordRef>>> load(std::vector<UserId> users) override;
    [[nodiscard]] Task<Result<std::vector<CommitOutcome>>> commit_many(
        std::vector<Commit> commits) override;
    [[nodiscard]] Task<Result<bool>> drop_ends(std::vector<LastSeenRow> written) override;
    [[nodiscard]] Task<Result<bool>> erase(UserId user) override;

private:
    [[nodiscard]] bool slow() const;
    [[nodiscard]] CommitOutcome commit_now(Commit commit);

    MemorySessions& shared_;
    PresenceBus* bus_;
    Scheduler* scheduler_;
    NodeId node_;
    LossWatch* losses_ = nullptr;
};

}  // namespace presence
