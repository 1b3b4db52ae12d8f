#pragma once

#include "presence/app/shared_store.h"
#include "presence/base/clock.h"
#include "presence/base/random.h"
#include "presence/core/cluster_member.h"
#include "presence/core/shard.h"
#include "presence/gateway/gateway.h"

#include <memory>
#include <vector>

namespace presence::app {

/// This node's place among those that share its store: ties core's ClusterMember to the threads.
class NodeCluster {
public:
    struct Parts {
        SharedStore& store;
        Scheduler& first;  ///< The thread on which the member lives.
        ReferenceClock& clock;
        Random& random;  ///< That thread's.
        Shards& shards;
        const CoreConfig& config;
        std::vector<gateway::Gateway*> gateways;  ///< One a shard.
    };

    /// Before the threads run.
    explicit NodeCluster(const Parts& parts);
    NodeCluster(const NodeCluster&) = delete;
    NodeCluster& operator=(const NodeCluster&) = delete;

    // On the member's thread.
    [[nodiscard]] Task<bool> start() { return member_->start(); }
    void set_leaving() { member_->set_leaving(); }
    [[nodiscard]] Task<bool> leave(bool owes) { return member_->leave(owes); }
    [[nodiscard]] Task<bool> look_over() { return member_->look_over(); }
    [[nodiscard]] const ClusterMember& member() const noexcept { return *member_; }

private:
    std::unique_ptr<NodeRegistry> registry_;
    std::unique_ptr<ClusterMember> member_;
};

}  // namespace presence::app
