// Records that were lost, or changed without our hearing of it (DESIGN rules 30, 31).

#include "presence/base/log.h"
#include "presence/base/slice.h"
#include "presence/core/at_homes.h"
#include "presence/core/cluster_member.h"
#include "presence/core/deadline.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>

namespace presence {

namespace {

/// Users stated again with one check, beside those whose records differ.
constexpr std::size_t kMostUnsure = 200;

/// Users whose records are compared with one round of questions, however many there are.
constexpr std::size_t kLookedOver = 10'000;

/// Users that the store has of this node without its knowing: ends that a fail-over lost, which are
/// those of a second or so. What is more is found the next time.
constexpr std::size_t kMostUnheld = 1'000;

/// A quiet user's record must not run out under a session that lives (RULINGS 20): far more often
/// than its time, and seldom enough to cost nothing.
constexpr Millis kKeepEvery = std::chrono::hours{1};

/// Rounds in which all partitions are checked once an interval. With each round all users are gone
/// through, and the names of its share of them are copied: the fewer the rounds, the more names.
constexpr std::uint32_t kRounds = 16;
/// Between two rounds, however short the interval and however slow the store.
constexpr Millis kLeastPause{10};

std::vector<UserId> names_of(const std::vector<HeldUser>& held, bool only_unsure = false) {
    std::vector<UserId> names;
    names.reserve(only_unsure ? 0 : held.size());
    for (const HeldUser& one : held) {
        if (one.unsure || !only_unsure) {
            names.push_back(one.user);
        }
    }
    return names;
}

}  // namespace

Task<std::vector<HeldUser>> ClusterMember::users_in(Partitions partitions) {
    std::vector<HeldUser> users;
    const HeldFilter wanted = [&registry = parts_.registry, partitions](const UserId& user) {
        return registry.partition_of(user) - partitions.first < partitions.count;
    };
    for (Shard* const shard : parts_.shards.all) {
        std::uint32_t place = 0;
        do {
            auto make = [shard, place, &wanted]() -> Task<HeldPart> {
                co_return shard->service.users_from(place, wanted);
            };
            Task<HeldPart> there =
                run_there<HeldPart>(parts_.scheduler, shard->scheduler, std::move(make));
            HeldPart here = co_await there;
            std::ranges::move(here.users, std::back_inserter(users));
            place = here.next;
            if (place != 0) {
                co_await pause_for(parts_.scheduler, Millis{1});  // The thread is others', too.
            }
        } while (place != 0);
    }
    co_return users;
}

/// Without an incarnation: once all nodes have stated who is there, the presences end of those who
/// left while the store was away, and of those whose end it lost.
Detached ClusterMember::assert_all(std::string incarnation) {
    if (asserting_) {
        must_assert_ = true;  // What is under way may have passed by what is to be stated now.
        co_return;
    }
    asserting_ = true;
    must_assert_ = must_assert_ && incarnation.empty();
    const bool ends = incarnation.empty();
    const std::uint32_t losses = losses_;
    std::vector<HeldUser> held = co_await users_in(all_partitions());
    std::vector<UserId> users = names_of(held, ends);
    const std::size_t count = users.size();
    const auto flow = [](PresenceService& service, std::vector<UserId> share) {
        return service.assert_again(std::move(share));
    };
    bool done = co_await at_homes(std::move(users), flow);
    if (done && !ends && losses_healed_ < losses) {
        done = co_await assert_ends();
    }
    if (done && ends && losses > 0) {
        std::vector<std::vector<UserId>> shares(parts_.registry.partitions());
        for (HeldUser& one : held) {
            shares[parts_.registry.partition_of(one.user)].push_back(std::move(one.user));
        }
        for (std::uint32_t partition = 0; done && partition < shares.size(); ++partition) {
            done = co_await end_unheld(partition, std::move(shares[partition]));
        }
    }
    asserting_ = false;
    if (!done || health_ != StoreHealth::ok) {
        must_assert_ = true;  // At the next renewal.
        co_return;
    }
    if (ends) {
        co_return;
    }
    losses_healed_ = losses;
    asserted_ = std::move(incarnation);
    if (has_stated()) {
        awaited_.erase(self_);
    }
    if (awaited_.empty()) {
        // Only now, so that nobody here is shown what the store had before the nodes' word.
        tell_threads(false, {});
        assert_all({});
        look_again_everywhere();
    }
    schedule(Millis{0});  // The others wait to read that it is done.
    log::info("asserted", "{} users were stated to the store again", count);
}

Task<bool> ClusterMember::assert_ends() {
    auto owed = std::make_shared<std::map<UserId, LastSeenRow>>();
    for (Shard* const shard : parts_.shards.all) {
        auto make = [shard, spooled = shard == parts_.shards.all.front()] {
            return shard->last_seen.owed(spooled);
        };
        using Rows = std::vector<LastSeenRow>;
        Task<Rows> there = run_there<Rows>(parts_.scheduler, shard->scheduler, std::move(make));
        Rows here = co_await there;
        for (LastSeenRow& row : here) {
            const auto [place, first] = owed->try_emplace(row.user, row);
            if (!first && place->second.own_version < row.own_version) {
                place->second = std::move(row);
            }
        }
    }
    std::vector<UserId> users;
    for (const auto& [user, row] : *owed) {
        users.push_back(user);
    }
    const auto flow = [owed](PresenceService& service, std::vector<UserId> share) {
        std::vector<LastSeenRow> ends;
        for (const UserId& user : share) {
            ends.push_back(owed->at(user));
        }
        return service.assert_ends(std::move(ends));
    };
    const bool done = co_await at_homes(std::move(users), flow);
    co_return done;
}

Task<bool> ClusterMember::end_unheld(std::uint32_t partition, std::vector<UserId> held) {
    if (leaving_) {
        co_return true;  // What it has handed over is others' to end.
    }
    Result<Leftovers> stored =
        co_await parts_.registry.left_of(self_, partition, held.size() + kMostUnheld);
    if (!stored) {
        co_return false;
    }
    std::ranges::sort(held);
    std::erase_if(stored->users,
                  [&](const UserId& user) { return std::ranges::binary_search(held, user); });
    const auto flow = [](PresenceService& service, std::vector<UserId> share) {
        return service.end_unheld(std::move(share));
    };
    const bool ended = co_await at_homes(std::move(stored->users), flow);
    co_return ended;
}

Detached ClusterMember::check_next() {
    if (stopped_) {
        co_return;
    }
    const MonoTime begun = parts_.clock.now();
    const std::uint32_t all = parts_.registry.partitions();
    const std::uint32_t share = (all + kRounds - 1) / kRounds;
    const std::uint32_t rounds = (all + share - 1) / share;
    if (health_ == StoreHealth::ok && !asserting_) {
        const std::uint32_t first = next_partition_;
        next_partition_ = first + share < all ? first + share : 0;
        Task<bool> checking = check({first, std::min(share, all - first)});
        co_await checking;
    }
    const Millis every = parts_.config.heartbeat.interval / static_cast<int>(rounds);
    parts_.scheduler.after(std::max(every - (parts_.clock.now() - begun), kLeastPause),
                           [this] { check_next(); });
}

Task<bool> ClusterMember::check(Partitions partitions) {
    std::vector<HeldUser> held = co_await users_in(partitions);
    std::vector<std::vector<HeldUser>> shares(partitions.count);
    for (HeldUser& one : held) {
        // Who is unsure needs no question, and may be of any.
        const std::uint32_t share =
            one.unsure ? 0 : parts_.registry.partition_of(one.user) - partitions.first;
        shares[share].push_back(std::move(one));
    }
    bool all = true;
    for (std::uint32_t i = 0; i < partitions.count && health_ == StoreHealth::ok; ++i) {
        const std::uint32_t partition = partitions.first + i;
        const bool compared = co_await check_one(partition, std::move(shares[i]));
        all = all && compared;
        if (unheard_ends_.erase(partition) > 0) {
            co_await take_ends_once(self_, partition);
        }
    }
    co_return all;
}

Task<bool> ClusterMember::check_one(std::uint32_t partition, std::vector<HeldUser> held) {
    ++counters_.checks;
    const MonoTime now = parts_.clock.now();
    const auto kept = kept_at_.find(partition);
    const bool keep = kept == kept_at_.end() || now >= kept->second + kKeepEvery;
    std::vector<UserId> names = keep ? names_of(held) : std::vector<UserId>{};
    const bool compared = co_await compare(std::move(held), keep);
    if (!compared || !keep) {
        co_return compared;
    }
    const bool ended = co_await end_unheld(partition, std::move(names));
    if (ended) {
        kept_at_[partition] = now;
    }
    co_return ended;
}

Task<bool> ClusterMember::look_over() {
    if (health_ != StoreHealth::ok) {
        co_return false;
    }
    const std::vector<HeldUser> held = co_await users_in(all_partitions());
    for (std::size_t i = 0; i < held.size(); i += kLookedOver) {
        std::vector<HeldUser> some = slice(held, i, kLookedOver);
        const bool compared = co_await compare(std::move(some), false);
        if (!compared) {
            co_return false;
        }
    }
    co_return true;
}

Task<bool> ClusterMember::compare(std::vector<HeldUser> held, bool keep) {
    // Of those no question is needed. A batch at a time: they are not many, or the store is not
    // well.
    std::vector<UserId> changed;
    for (const HeldUser& one : held) {
        if (one.unsure && changed.size() < kMostUnsure) {
            changed.push_back(one.user);
        }
    }
    std::erase_if(held, [](const HeldUser& one) { return one.unsure; });
    std::vector<UserId> asked = names_of(held);
    std::vector<std::uint64_t> stored;
    if (!asked.empty()) {
        Result<std::vector<std::uint64_t>> answer = co_await parts_.registry.commits_of(
            std::move(asked), keep ? std::optional(self_) : std::nullopt);
        if (!answer) {
            co_return false;
        }
        stored = std::move(*answer);
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
        if (held[i].commit == 0 || held[i].commit == stored[i]) {
            continue;
        }
        // Perhaps it was changed from here while this was under way.
        Shard& shard = parts_.shards.home_of(held[i].user);
        auto make = [&shard, user = held[i].user]() -> Task<std::uint64_t> {
            co_return shard.service.commit_here(user);
        };
        Task<std::uint64_t> there =
            run_there<std::uint64_t>(parts_.scheduler, shard.scheduler, std::move(make));
        const std::uint64_t here = co_await there;
        if (here == held[i].commit) {
            changed.push_back(held[i].user);
        }
    }
    counters_.records_stale += changed.size();
    const auto flow = [](PresenceService& service, std::vector<UserId> share) {
        return service.assert_again(std::move(share));
    };
    co_await at_homes(std::move(changed), flow);
    co_return true;
}

}  // namespace presence
