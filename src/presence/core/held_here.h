#pragma once

#include "presence/core/shard.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace presence {

namespace detail {

using HeldRecords = std::vector<std::pair<std::size_t, UserRecordRef>>;

[[nodiscard]] inline Task<HeldRecords> find_held(
    Shard& shard, std::vector<std::pair<std::size_t, UserId>> users) {
    HeldRecords found;
    for (const auto& [index, user] : users) {
        found.emplace_back(index, shard.service.record_here(user));
    }
    co_return found;
}

}  // namespace detail

/// The records of those of `users` who have sessions on this node, from their home threads, in that
/// order; null for the others. For SnapshotReader while the store is away (DESIGN rule 30).
[[nodiscard]] inline Task<std::vector<UserRecordRef>> records_held(Scheduler& here, Shards& shards,
                                                                   std::vector<UserId> users) {
    std::vector<UserRecordRef> records(users.size());
    for (std::size_t home = 0; home < shards.all.size(); ++home) {
        std::vector<std::pair<std::size_t, UserId>> share;
        for (std::size_t i = 0; i < users.size(); ++i) {
            if (shards.homes.index_of(users[i]) == home) {
                share.emplace_back(i, users[i]);
            }
        }
        if (share.empty()) {
            continue;
        }
        Shard& shard = *shards.all[home];
        using Found = detail::HeldRecords;
        auto make = [&shard, share = std::move(share)]() -> Task<Found> {
            return detail::find_held(shard, share);
        };
        Task<Found> there = run_there<Found>(here, shard.scheduler, std::move(make));
        Found found = co_await there;
        for (auto& [index, record] : found) {
            records[index] = std::move(record);
        }
    }
    co_return records;
}

/// What all threads of the node know of versions of `users`, in that order: each has read and heard
/// what its own viewers asked for. For SnapshotReader likewise.
[[nodiscard]] inline Task<std::vector<ToldVersions>> versions_known(Scheduler& here, Shards& shards,
                                                                    std::vector<UserId> users) {
    using Known = std::vector<ToldVersions>;
    Known known(users.size());
    for (Shard* const shard : shards.all) {
        auto make = [shard, &users]() -> Task<Known> { co_return shard->reader.known_here(users); };
        Task<Known> there = run_there<Known>(here, shard->scheduler, std::move(make));
        const Known found = co_await there;
        for (std::size_t i = 0; i < found.size(); ++i) {
            known[i].own = std::max(known[i].own, found[i].own);
            known[i].shown = std::max(known[i].shown, found[i].shown);
        }
    }
    co_return known;
}

}  // namespace presence
