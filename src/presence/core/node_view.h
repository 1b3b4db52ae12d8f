#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/model/store_health.h"

#include <cstdint>
#include <map>
#include <optional>

namespace presence {

/// What one thread knows of the nodes that share the session store with this one. Kept up to date
/// by core/cluster_member.h; until then, and for good where nothing is shared, the node is alone.
struct NodeView {
    struct Other {
        WallTime renewed_at;  ///< Last sign of life, by the reference clock.
        bool alive = true;    ///< Its lease stands, or may have been lost with the store's data.
        bool leased = true;   ///< It stands by what the store says.
    };

    StoreHealth health = StoreHealth::ok;  ///< Of the store that is shared.
    NodeId self;                           ///< None: alone, all records are this node's.
    MonoTime lease_until;  ///< Counted from before the renewal was sent (RULINGS 21).
    std::map<NodeId, Other> others;
    /// False: the store lost data or was away, and not all nodes have stated theirs since.
    bool all_stated = true;
    /// Times that the store may have lost what was written last, and the number of the one after
    /// which it had nothing left (0: none did that).
    std::uint32_t losses = 0;
    std::uint32_t lost_all = 0;
    /// The store went away less than ClusterConfig::unknown_after ago, refuses writes, or is back
    /// since and not all nodes have stated theirs: who was told something goes on holding it
    /// (DESIGN rule 30).
    bool spares_watchers = false;
    /// What was told before the store's present life began lies below, whatever is left of it. The
    /// same on all nodes and for all users, so it says nothing of any (docs/adr/0009).
    std::uint64_t version_floor = 0;

    [[nodiscard]] bool alone() const noexcept { return !self; }

    /// Whether this node may tell others what it thinks (DESIGN rules 30, 32).
    [[nodiscard]] bool vouches(MonoTime now) const noexcept { return alone() || now < lease_until; }

    /// Nothing that other nodes wrote can be read.
    [[nodiscard]] bool is_cut_off() const noexcept { return health == StoreHealth::down; }

    /// Whether all nodes have stated who is with them since the store was away.
    [[nodiscard]] bool all_have_stated() const noexcept { return alone() || all_stated; }

    /// Whether a user without a record, or offline by it, is one who is not there. While the store
    /// refuses writes others may hold who came since.
    [[nodiscard]] bool knows_all() const noexcept {
        return all_have_stated() && health != StoreHealth::degraded;
    }

    /// When `node` was last alive; empty: it still is, or it is not known, as it may just have
    /// come.
    [[nodiscard]] std::optional<WallTime> died_at(NodeId node) const {
        const auto found = others.find(node);
        if (node == self || found == others.end() || found->second.alive) {
            return std::nullopt;
        }
        return found->second.renewed_at;
    }

    /// The same by what the store says: those who have known of a loss for longer than this node
    /// may take `node` for dead before it does.
    [[nodiscard]] std::optional<WallTime> seems_dead_since(NodeId node) const {
        const auto found = others.find(node);
        if (node == self || found == others.end() || found->second.leased) {
            return std::nullopt;
        }
        return found->second.renewed_at;
    }
};

}  // namespace presence
