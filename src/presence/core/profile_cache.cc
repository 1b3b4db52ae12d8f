#include "presence/core/profile_cache.h"

#include "presence/base/log.h"
#include "presence/ports/presence_bus.h"

#include <algorithm>

namespace presence {

namespace {
std::uint64_t declared_revision(const ProfileRef& profile) {
    return profile ? profile->declared.revision : 0;
}
}  // namespace

/// Suspends until the load of an entry that is under way has ended. False: it failed.
struct ProfileCache::WaitFor {
    Entry& entry;  ///< May be gone when the wait is over.
    bool answered = false;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> flow) {
        if (!entry.waiting) {
            entry.waiting = std::make_unique<std::vector<Waiter>>();
        }
        entry.waiting->push_back({flow, &answered});
    }
    bool await_resume() const noexcept { return answered; }
};

ProfileCache::ProfileCache(const Clock& clock, ProfileStore& store, const Limits& limits,
                           CoreCounters& counters, Millis ttl, const NodeView* nodes)
    : clock_(clock),
      store_(store),
      limits_(limits),
      counters_(counters),
      ttl_(ttl),
      nodes_(nodes) {}

bool ProfileCache::fresh(const Entry& entry, MonoTime now) const {
    const bool unheard = nodes_ != nullptr && nodes_->is_cut_off();
    const Millis ttl = unheard ? std::min(ttl_, kUnheardTtl) : ttl_;
    return entry.loaded && !entry.stale && !entry.outdated && now - entry.loaded_at < ttl;
}

ProfileCache::Entry* ProfileCache::find(const UserId& user) {
    const std::optional<std::uint32_t> place = by_id_.find(user.text);
    return place ? pool_.in(*place).first : nullptr;
}

ProfileCache::Entry& ProfileCache::entry_for(const UserId& user) {
    if (Entry* const found = find(user)) {
        return *found;
    }
    make_room();
    const SlotId made = pool_.create();
    Entry& entry = pool_.at(made);
    entry.user = user;
    by_id_.insert(made.slot);
    return entry;
}

Task<std::vector<ProfileAnswer>> ProfileCache::get(std::vector<UserId> users) {
    // A round more is a read that was overtaken by an invalidation. So many in a row come only of a
    // writer that never rests, and an end there must be.
    constexpr int kRounds = 20;
    bool failed = false;
    for (int round = 0; round < kRounds; ++round) {
        const MonoTime now = clock_.now();
        std::vector<ProfileAnswer> answers;
        answers.reserve(users.size());
        std::vector<UserId> to_load;
        const UserId* under_way = nullptr;
        for (const UserId& user : users) {
            Entry& entry = entry_for(user);
            if (fresh(entry, now)) {
                counters_.profile_hits += round == 0 ? 1U : 0U;
                answers.push_back(answer_of(&entry, failed, now));
            } else if (entry.loading) {
                under_way = &user;
            } else {
                entry.loading = true;
                to_load.push_back(user);
            }
        }
        if (!to_load.empty()) {
            const bool answered = co_await load(std::move(to_load));
            if (!answered) {
                failed = true;
                break;
            }
        } else if (under_way != nullptr) {
            WaitFor wait{*find(*under_way)};
            const bool answered = co_await wait;
            if (!answered) {
                failed = true;
                break;  // Nor would it answer us: waiting in turn would make many waits of one.
            }
            --round;  // What others read costs us no round; they are bounded themselves.
        } else {
            co_return answers;
        }
    }
    std::vector<ProfileAnswer> answers;
    answers.reserve(users.size());
    for (const UserId& user : users) {
        answers.push_back(answer_of(find(user), failed, clock_.now()));
    }
    co_return answers;
}

ProfileAnswer ProfileCache::answer_of(const Entry* entry, bool failed, MonoTime now) {
    // An old rule stays in force while the database is away, but not one known to be void.
    const bool known = entry != nullptr && entry->loaded && !entry->stale;
    if (!known) {
        return {nullptr, false, !failed, {}};
    }
    return {entry->profile, true, false, now - entry->declared_at.ago(now)};
}

Task<ProfileAnswer> ProfileCache::get(UserId user) {
    std::vector<UserId> one;
    one.push_back(std::move(user));
    std::vector<ProfileAnswer> answers = co_await get(std::move(one));
    co_return answers.front();
}

Task<bool> ProfileCache::load(std::vector<UserId> users) {
    std::vector<std::uint16_t> generations;
    generations.reserve(users.size());
    for (const UserId& user : users) {
        generations.push_back(find(user)->generation);
    }
    counters_.profile_loads += users.size();
    Result<std::vector<ProfileRef>> loaded = co_await store_.load(users);
    if (!loaded) {
        counters_.profile_failures += users.size();
        log::warning("profiles_unavailable", "{} users: {}", users.size(), loaded.error().message);
    }
    std::vector<Waiter> waiting;
    for (std::size_t i = 0; i < users.size(); ++i) {
        Entry& entry = *find(users[i]);
        entry.loading = false;
        if (loaded && entry.generation == generations[i]) {
            const MonoTime now = clock_.now();
            const bool is_new = !entry.loaded ||
                                declared_revision(entry.profile) != declared_revision((*loaded)[i]);
            entry.declared_at = is_new ? ShortMoment(now) : entry.declared_at;
            entry.profile = std::move((*loaded)[i]);
            entry.loaded = true;
            entry.stale = entry.outdated = false;
            entry.loaded_at = now;
        }
        if (const auto here = std::move(entry.waiting)) {
            waiting.insert(waiting.end(), here->begin(), here->end());
        }
    }
    for (const Waiter& waiter : waiting) {
        *waiter.answered = loaded.has_value();
        waiter.flow.resume();
    }
    co_return loaded.has_value();
}

void ProfileCache::invalidate(const UserId& user) {
    if (Entry* const found = find(user)) {
        ++found->generation;
        found->stale = true;
    }
}

void ProfileCache::outdate(const UserId& user) {
    if (Entry* const found = find(user)) {
        if (found->loading) {
            ++found->generation;
        }
        found->outdated = true;
    }
}

void ProfileCache::note_record(const UserId& user) {
    const bool can_be_lost = nodes_ != nullptr && !nodes_->alone();
    if (Entry* const found = can_be_lost ? find(user) : nullptr) {
        found->recorded = true;
    }
}

bool ProfileCache::note_no_record(const UserId& user) {
    Entry* const found = find(user);
    if (found != nullptr && found->recorded) {
        found->recorded = false;
        outdate(user);
    }
    return found != nullptr && found->outdated;
}

bool ProfileCache::heard(const UserId& user, std::uint64_t revision) {
    Entry* const found = find(user);
    if (found == nullptr || revision <= found->heard || revision == kErased) {
        return false;
    }
    found->heard = revision;
    if (found->loading) {
        ++found->generation;  // It may have begun before the change.
    }
    const std::uint64_t held = found->profile ? found->profile->revision : 0;
    if (!found->loaded || found->stale || held >= revision) {
        return false;
    }
    ++found->generation;
    found->stale = true;
    return true;
}

const DeclaredState* ProfileCache::declared_of(const UserId& user) {
    const Entry* const found = find(user);
    const bool known = found != nullptr && found->loaded && !found->stale && found->profile;
    return known ? &found->profile->declared : nullptr;
}

std::uint64_t ProfileCache::revision_of(const UserId& user) {
    const Entry* const found = find(user);
    if (found == nullptr) {
        return 0;
    }
    return std::max(found->heard, found->profile ? found->profile->revision : 0);
}

void ProfileCache::invalidate(const PartitionSet& partitions) {
    pool_.for_each([&](SlotId, Entry& entry) {
        if (partitions.holds(entry.user)) {
            ++entry.generation;
            entry.stale = true;
        }
    });
}

void ProfileCache::make_room() {
    if (pool_.size() < limits_.profile_cache) {
        return;
    }
    // A hand that goes round: what it finds old goes, and if nothing is, the first idle one.
    constexpr std::size_t kLook = 32;
    SlotId victim;
    for (std::size_t looked = 0; looked < std::min(kLook, pool_.size()); ++looked) {
        hand_ = (hand_ + 1) % pool_.slots();
        const auto [at, name] = pool_.in(hand_);
        if (at != nullptr && !at->loading && (!victim || !fresh(*at, clock_.now()))) {
            victim = name;
        }
    }
    if (victim) {
        ++counters_.profile_evictions;
        by_id_.erase(victim.slot);
        pool_.destroy(victim);
    }
}

}  // namespace presence
