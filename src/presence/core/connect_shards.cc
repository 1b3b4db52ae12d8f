#include "presence/core/connect_shards.h"

#include "presence/core/held_here.h"

#include <utility>

namespace presence {

void connect_shards(Shards& shards, ClusterMember& member, Scheduler& home) {
    for (Shard* const shard : shards.all) {
        shard->reader.set_held_here([shard, &shards](std::vector<UserId> users) {
            return records_held(shard->scheduler, shards, std::move(users));
        });
        shard->reader.set_ask_known([shard, &shards](std::vector<UserId> users) {
            return versions_known(shard->scheduler, shards, std::move(users));
        });
        shard->reader.set_on_unreachable(
            [&member, &home] { home.post([&member] { member.suspect(); }); });
        shard->on_loss = [&member, &home] { home.post([&member] { member.suspect_loss(); }); };
        shard->reader.set_on_lapsed([&shards](const UserId& user) {
            Shard& its = shards.home_of(user);
            its.scheduler.post([&its, user] { its.service.settle_lapsed(user); });
        });
        shard->watches.set_on_older([&shards](const UserId& user, ToldVersions told) {
            Shard& its = shards.home_of(user);
            its.scheduler.post([&its, user, told] { its.service.settle_above(user, told); });
        });
    }
}

}  // namespace presence
