#include "presence/app/node_cluster.h"

#include "presence/core/connect_shards.h"

#include <utility>

namespace presence::app {

NodeCluster::NodeCluster(const Parts& parts)
    : registry_(parts.store.registry(parts.first, parts.random)) {
    const auto tell_gateways = [shards = &parts.shards,
                                gateways = parts.gateways](StoreHealth now) {
        for (std::size_t i = 0; i < gateways.size(); ++i) {
            shards->all[i]->scheduler.post(
                [gateway = gateways[i], now] { gateway->set_store_health(now); });
        }
    };
    member_ = std::make_unique<ClusterMember>(
        ClusterMember::Parts{parts.first, parts.clock, parts.random, *registry_, parts.shards,
                             parts.config, tell_gateways});
    connect_shards(parts.shards, *member_, parts.first);
    for (std::size_t i = 0; i < parts.shards.all.size(); ++i) {
        Shard* const shard = parts.shards.all[i];
        gateway::Gateway* const gateway = parts.gateways[i];
        parts.store.set_gap_handler(i, [shard, gateway](const PartitionSet& lost) {
            shard->after_gap(lost);
            gateway->look_for_revoked();  // RULINGS 43
        });
    }
}

}  // namespace presence::app
