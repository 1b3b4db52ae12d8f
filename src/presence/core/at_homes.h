#pragma once

#include "presence/core/cluster_member.h"

#include <utility>
#include <vector>

namespace presence {

template <class Flow>
Task<bool> ClusterMember::at_homes(std::vector<UserId> users, Flow flow) {
    std::vector<std::vector<UserId>> shares(parts_.shards.all.size());
    for (UserId& user : users) {
        const std::size_t home = parts_.shards.homes.index_of(user);
        shares[home].push_back(std::move(user));
    }
    bool all = true;
    for (std::size_t index = 0; index < shares.size(); ++index) {
        if (shares[index].empty()) {
            continue;
        }
        Shard& shard = *parts_.shards.all[index];
        auto make = [&shard, flow, share = std::move(shares[index])]() mutable {
            return flow(shard.service, std::move(share));
        };
        Task<Result<bool>> there =
            run_there<Result<bool>>(parts_.scheduler, shard.scheduler, std::move(make));
        Result<bool> done = co_await there;
        all = all && done.has_value();
    }
    co_return all;
}

}  // namespace presence
