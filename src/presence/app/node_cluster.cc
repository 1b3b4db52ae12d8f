#include "presence/app/node_cluster.h"

#include "presence/core/held_here.h"

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
    for (std::size_t i = 0; i < parts.shards.all.size(); ++i) {
        Shard* const shard = parts.shards.all[i];
        shard->reader.set_held_here([shard, shards = &parts.shards](std::vector<UserId> users) {
            return records_held(shard->scheduler, *shards, std::move(users));
        });
        shard->reader.set_ask_known([shard, shards = &parts.shards](std::vector<UserId> users) {
            return versions_known(shard->scheduler, *shards, std::move(users));
        });
        shard->reader.set_on_unreachable([first = &parts.first, member = member_.get()] {
            first->post([member] { member->suspect(); });
        });
        shard->on_loss = [first = &parts.first, member = member_.get()] {
            first->post([member] { member->suspect_loss(); });
        };
        shard->reader.set_on_lapsed([shards = &parts.shards](const UserId& user) {
            Shard& home = shards->home_of(user);
            home.scheduler.post([&home, user] { home.service.settle_lapsed(user); });
        });
        shard->watches.set_on_older(
            [shards = &parts.shards](const UserId& user, ToldVersions told) {
                Shard& home = shards->home_of(user);
                home.scheduler.post([&home, user, told] { home.service.settle_above(user, told); });
            });
        gateway::Gateway* const gateway = parts.gateways[i];
        parts.store.set_gap_handler(i, [shard, gateway](const PartitionSet& lost) {
            shard->cache.invalidate(lost);  // RULINGS 8
            shard->watches.look_again(lost);
            shard->rooms.look_at_all_again();
            gateway->look_for_revoked();  // RULINGS 43
        });
    }
}

}  // namespace presence::app
