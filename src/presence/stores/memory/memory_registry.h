#pragma once

#include "presence/base/clock.h"
#include "presence/ports/node_registry.h"
#include "presence/stores/memory/memory_sessions.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace presence {

/// The leases of several nodes in one process, beside the records that they share. For tests and
/// simulation: one thread.
class MemoryNodes {
public:
    /// @param clock  The reference clock.
    MemoryNodes(const Clock& clock, MemorySessions& sessions)
        : clock_(clock), sessions_(sessions) {}

    /// All records, leases and tombstones are gone, as after a restart without data.
    void lose_all();
    /// A part of the store changed hands.
    void fail_over() { sessions_.fail_over(); }
    [[nodiscard]] std::size_t known() const { return nodes_.size(); }
    /// When the record of `user` was last asked to be kept.
    [[nodiscard]] std::optional<WallTime> kept_at(const UserId& user) const {
        const auto found = kept_.find(user);
        return found == kept_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    friend class MemoryRegistry;

    struct Entry {
        WallTime renewed_at;
        MonoTime until;
        bool leaving = false;
        bool burnt = false;    ///< Its death is being settled, or was.
        bool settled = false;  ///< Nothing of it is left.
        std::string asserted;
    };

    const Clock& clock_;
    MemorySessions& sessions_;
    std::map<NodeId, Entry> nodes_;
    std::map<UserId, WallTime> kept_;
    std::uint64_t incarnation_ = 1;
    WallTime begun_at_ = clock_.wall_now();
};

/// One node's way to them. Fails and dawdles with the faults of the records.
class MemoryRegistry final : public NodeRegistry {
public:
    /// @param for_delays  Needed only where the records' `faults().set_delay` is used.
    explicit MemoryRegistry(MemoryNodes& nodes, Scheduler* for_delays = nullptr)
        : nodes_(nodes), scheduler_(for_delays) {}

    [[nodiscard]] std::uint32_t partitions() const override { return MemorySessions::kPartitions; }
    [[nodiscard]] std::uint32_t partition_of(const UserId& user) const override {
        return MemorySessions::partition_of(user);
    }
    [[nodiscard]] Task<Result<Membership>> renew(NodeLease lease) override;
    [[nodiscard]] Task<Result<bool>> burn(NodeId node) override;
    [[nodiscard]] Task<Result<Leftovers>> entomb(NodeId node, std::uint32_t partition,
                                                 std::size_t limit) override;
    [[nodiscard]] Task<Result<Leftovers>> left_of(NodeId node, std::uint32_t partition,
                                                  std::size_t limit) override;
    [[nodiscard]] Task<Result<std::vector<LastSeenRow>>> take_ends(NodeId from, NodeId to,
                                                                   std::uint32_t partition,
                                                                   std::size_t limit) override;
    [[nodiscard]] Task<Result<bool>> forget(NodeId node) override;
    /// Records with sessions stay anyhow: what was asked to be kept is noted for tests.
    [[nodiscard]] Task<Result<std::vector<std::uint64_t>>> commits_of(
        std::vector<UserId> users, std::optional<NodeId> keep_for) override;

private:
    /// The faults that every call meets; an error is what it answers.
    [[nodiscard]] Task<Result<bool>> reach();

    MemoryNodes& nodes_;
    Scheduler* scheduler_;
};

}  // namespace presence
