#include "presence/core/profile_cache.h"

#include "presence/base/log.h"

namespace presence {

/// Suspends until the load of an entry that is under way has ended.
struct ProfileCache::WaitFor {
    Entry& entry;
    bool await_ready() const noexcept { return !entry.loading; }
    void await_suspend(std::coroutine_handle<> waiting) { entry.waiting.push_back(waiting); }
    void await_resume() const noexcept {}
};

ProfileCache::ProfileCache(const Clock& clock, ProfileStore& store, const Limits& limits,
                           CoreCounters& counters, Millis ttl)
    : clock_(clock), store_(store), limits_(limits), counters_(counters), ttl_(ttl) {}

bool ProfileCache::fresh(const Entry& entry) const {
    return entry.loaded && !entry.stale && clock_.now() - entry.loaded_at < ttl_;
}

ProfileCache::Entry& ProfileCache::entry_for(const UserId& user) {
    const auto found = entries_.find(user);
    if (found != entries_.end()) {
        return *found->second;
    }
    make_room();
    return *entries_.emplace(user, std::make_unique<Entry>()).first->second;
}

Task<std::vector<ProfileAnswer>> ProfileCache::get(std::vector<UserId> users) {
    // Three rounds: one read, one more where it was overtaken by an invalidation, one to spare.
    constexpr int kRounds = 3;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<UserId> to_load;
        const UserId* under_way = nullptr;
        for (const UserId& user : users) {
            Entry& entry = entry_for(user);
            if (fresh(entry)) {
                counters_.profile_hits += round == 0 ? 1U : 0U;
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
                break;
            }
        } else if (under_way != nullptr) {
            const auto found = entries_.find(*under_way);
            WaitFor wait{*found->second};
            co_await wait;
            --round;  // What others read costs us no round; they are bounded themselves.
        } else {
            break;
        }
    }
    std::vector<ProfileAnswer> answers;
    answers.reserve(users.size());
    for (const UserId& user : users) {
        const auto found = entries_.find(user);
        // An old rule stays in force while the database is away, but not one known to be void.
        const bool known =
            found != entries_.end() && found->second->loaded && !found->second->stale;
        answers.push_back({known ? found->second->profile : nullptr, known});
    }
    co_return answers;
}

Task<ProfileAnswer> ProfileCache::get(UserId user) {
    std::vector<UserId> one;
    one.push_back(std::move(user));
    std::vector<ProfileAnswer> answers = co_await get(std::move(one));
    co_return answers.front();
}

Task<bool> ProfileCache::load(std::vector<UserId> users) {
    std::vector<std::uint32_t> generations;
    generations.reserve(users.size());
    for (const UserId& user : users) {
        generations.push_back(entries_.find(user)->second->generation);
    }
    counters_.profile_loads += users.size();
    Result<std::vector<ProfileRef>> loaded = co_await store_.load(users);
    if (!loaded) {
        counters_.profile_failures += users.size();
        log::warning("profiles_unavailable", "{} users: {}", users.size(), loaded.error().message);
    }
    std::vector<std::coroutine_handle<>> waiting;
    for (std::size_t i = 0; i < users.size(); ++i) {
        Entry& entry = *entries_.find(users[i])->second;
        entry.loading = false;
        if (loaded && entry.generation == generations[i]) {
            entry.profile = std::move((*loaded)[i]);
            entry.loaded = true;
            entry.stale = false;
            entry.loaded_at = clock_.now();
        }
        waiting.insert(waiting.end(), entry.waiting.begin(), entry.waiting.end());
        entry.waiting.clear();
    }
    for (const std::coroutine_handle<> waiter : waiting) {
        waiter.resume();
    }
    co_return loaded.has_value();
}

void ProfileCache::invalidate(const UserId& user) {
    const auto found = entries_.find(user);
    if (found != entries_.end()) {
        ++found->second->generation;
        found->second->stale = true;
    }
}

void ProfileCache::make_room() {
    if (entries_.size() < limits_.profile_cache) {
        return;
    }
    // A hand that goes round: what it finds old goes, and if nothing is, the first idle one.
    constexpr std::size_t kLook = 32;
    auto victim = entries_.end();
    auto at = entries_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(hand_ % entries_.size()));
    for (std::size_t looked = 0; looked < kLook; ++looked, ++at) {
        if (at == entries_.end()) {
            at = entries_.begin();
        }
        if (at->second->loading) {
            continue;
        }
        if (victim == entries_.end() || !fresh(*at->second)) {
            victim = at;
        }
    }
    hand_ += kLook;
    if (victim != entries_.end()) {
        ++counters_.profile_evictions;
        entries_.erase(victim);
    }
}

}  // namespace presence
