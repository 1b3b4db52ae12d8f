#include "presence/stores/memory/memory_sessions.h"

#include "presence/base/assert.h"
#include "presence/ports/ending_record.h"

#include <algorithm>
#include <utility>

namespace presence {

UserRecordRef MemorySessions::load(const UserId& user) {
    const MonoTime now = clock_.now();
    Stripe& stripe = stripe_of(user);
    const std::lock_guard lock(stripe.mutex);
    drop_some(stripe, now);
    const auto found = stripe.entries.find(user);
    if (found == stripe.entries.end() || found->second.over_at() <= now) {
        return nullptr;
    }
    return found->second.record;
}

CommitOutcome MemorySessions::commit(Commit commit, PresenceBus* bus) {
    PRESENCE_ASSERT(commit.record && commit.record->commit > commit.expected);
    PRESENCE_ASSERT(!commit.event || commit.event->user == commit.user);
    const MonoTime now = clock_.now();
    Stripe& stripe = stripe_of(commit.user);
    const std::lock_guard lock(stripe.mutex);
    drop_some(stripe, now);
    const auto found = stripe.entries.find(commit.user);
    const bool exists = found != stripe.entries.end() && found->second.over_at() > now;
    if ((exists ? found->second.record->commit : 0) != commit.expected) {
        return CommitOutcome::conflict;
    }
    Entry& entry = found != stripe.entries.end() ? found->second : stripe.entries[commit.user];
    entry.record = std::move(commit.record);
    if (!entry.record->sessions.empty()) {
        if (entry.leaving) {
            entry.leaving->over_at = kNever;
        }
    } else {
        if (!entry.leaving) {
            entry.leaving = std::make_unique<Leaving>();
        }
        entry.leaving->over_at = now + commit.keep;
        if (entry.leaving->filed_at == kNever) {
            file(stripe, commit.user, *entry.leaving);
        }
    }
    if (commit.event && bus != nullptr) {
        bus->publish(std::move(commit.event));
    }
    return CommitOutcome::committed;
}

void MemorySessions::erase(const UserId& user) {
    Stripe& stripe = stripe_of(user);
    const std::lock_guard lock(stripe.mutex);
    stripe.entries.erase(user);
}

void MemorySessions::damage(const UserId& user) {
    Stripe& stripe = stripe_of(user);
    const std::lock_guard lock(stripe.mutex);
    stripe.entries[user].record = unreadable_record();
}

void MemorySessions::entomb(NodeId node, std::uint32_t partition) {
    const std::lock_guard lock(nodes_mutex_);
    tombs_.emplace(node, partition);
    has_tombs_ = true;
}

bool MemorySessions::is_entombed(NodeId node, std::uint32_t partition) const {
    if (!has_tombs_) {
        return false;
    }
    const std::lock_guard lock(nodes_mutex_);
    return tombs_.contains({node, partition});
}

void MemorySessions::owe_end(NodeId node, LastSeenRow row) {
    const std::lock_guard lock(nodes_mutex_);
    UserId user = row.user;
    ends_[node].insert_or_assign(std::move(user), std::move(row));
}

void MemorySessions::drop_ends(NodeId node, const std::vector<LastSeenRow>& written) {
    const std::lock_guard lock(nodes_mutex_);
    std::map<UserId, LastSeenRow>& owed = ends_[node];
    for (const LastSeenRow& row : written) {
        const auto found = owed.find(row.user);
        if (found != owed.end() && found->second.last_seen <= row.last_seen &&
            found->second.own_version <= row.own_version &&
            found->second.shown_version <= row.shown_version) {
            owed.erase(found);
        }
    }
}

std::size_t MemorySessions::ends_of(NodeId node, std::uint32_t partition) const {
    const std::lock_guard lock(nodes_mutex_);
    const auto owed = ends_.find(node);
    return owed == ends_.end()
               ? 0
               : static_cast<std::size_t>(std::ranges::count_if(owed->second, [&](const auto& one) {
                     return partition_of(one.first) == partition;
                 }));
}

std::vector<LastSeenRow> MemorySessions::take_ends(NodeId from, NodeId to, std::uint32_t partition,
                                                   std::size_t limit) {
    const std::lock_guard lock(nodes_mutex_);
    std::vector<LastSeenRow> taken;
    std::erase_if(ends_[from], [&](const auto& one) {
        if (taken.size() >= limit || partition_of(one.first) != partition) {
            return false;
        }
        taken.push_back(one.second);
        return from != to;
    });
    for (const LastSeenRow& row : taken) {
        const auto [mine, fresh] = ends_[to].try_emplace(row.user, row);
        if (!fresh && mine->second.own_version < row.own_version) {
            mine->second = row;
        }
    }
    return taken;
}

std::vector<UserId> MemorySessions::users_of(NodeId node, std::uint32_t partition,
                                             std::size_t limit) const {
    std::vector<UserId> users;
    for (const Stripe& stripe : stripes_) {
        const std::lock_guard lock(stripe.mutex);
        for (const auto& [user, entry] : stripe.entries) {
            if (users.size() < limit && partition_of(user) == partition &&
                std::ranges::find(entry.record->sessions, node, &Session::node) !=
                    entry.record->sessions.end()) {
                users.push_back(user);
            }
        }
    }
    std::ranges::sort(users);  // So that a simulation repeats.
    return users;
}

void MemorySessions::lose_all() {
    ++losses_;
    for (Stripe& stripe : stripes_) {
        const std::lock_guard lock(stripe.mutex);
        stripe.entries.clear();
        stripe.deadlines = {};
    }
    const std::lock_guard lock(nodes_mutex_);
    tombs_.clear();
    ends_.clear();
    has_tombs_ = false;
}

std::size_t MemorySessions::size() const {
    std::size_t sum = 0;
    for (const Stripe& stripe : stripes_) {
        const std::lock_guard lock(stripe.mutex);
        sum += stripe.entries.size();
    }
    return sum;
}

std::size_t MemorySessions::deadlines() const {
    std::size_t sum = 0;
    for (const Stripe& stripe : stripes_) {
        const std::lock_guard lock(stripe.mutex);
        sum += stripe.deadlines.size();
    }
    return sum;
}

void MemorySessions::file(Stripe& stripe, const UserId& user, Leaving& leaving) {
    leaving.filed_at = leaving.over_at;
    stripe.deadlines.push({leaving.filed_at, user});
}

void MemorySessions::drop_some(Stripe& stripe, MonoTime now) {
    for (int dropped = 0; dropped < kDropsPerCall; ++dropped) {
        if (stripe.deadlines.empty() || stripe.deadlines.top().at > now) {
            return;
        }
        const Deadline due = stripe.deadlines.top();
        stripe.deadlines.pop();
        const auto found = stripe.entries.find(due.user);
        if (found == stripe.entries.end() || !found->second.leaving ||
            found->second.leaving->filed_at != due.at) {
            continue;
        }
        Entry& entry = found->second;
        if (entry.leaving->over_at <= now) {
            stripe.entries.erase(found);
        } else if (entry.leaving->over_at != kNever) {
            file(stripe, due.user, *entry.leaving);
        } else {
            entry.leaving.reset();
        }
    }
}

bool MemorySessionStore::slow() const {
    return scheduler_ != nullptr && shared_.faults().delay() > Millis{0};
}

Task<Result<std::vector<UserRecordRef>>> MemorySessionStore::load(std::vector<UserId> users) {
    if (slow()) {
        co_await wait_for(*scheduler_, shared_.faults().delay());
    }
    if (shared_.faults().unavailable()) {
        co_return StoreFaults::error("session store");
    }
    std::vector<UserRecordRef> records;
    records.reserve(users.size());
    for (const UserId& user : users) {
        records.push_back(shared_.load(user));
    }
    if (losses_ != nullptr) {
        losses_->meet(shared_.losses());
    }
    co_return records;
}

CommitOutcome MemorySessionStore::commit_now(Commit commit) {
    if (shared_.is_entombed(node_, MemorySessions::partition_of(commit.user))) {
        return CommitOutcome::fenced;
    }
    std::optional<LastSeenRow> ended = std::move(commit.ended);
    const CommitOutcome outcome = shared_.commit(std::move(commit), bus_);
    if (outcome == CommitOutcome::committed && ended && node_) {
        shared_.owe_end(node_, std::move(*ended));
    }
    return outcome;
}

Task<Result<std::vector<CommitOutcome>>> MemorySessionStore::commit_many(
    std::vector<Commit> commits) {
    if (slow()) {
        co_await wait_for(*scheduler_, shared_.faults().delay());
    }
    if (shared_.faults().unavailable()) {
        co_return StoreFaults::error("session store");
    }
    if (shared_.faults().refuses_writes() &&
        !std::ranges::all_of(commits,
                             [](const Commit& commit) { return is_ending(*commit.record); })) {
        co_return StoreFaults::error("session store");
    }
    std::vector<CommitOutcome> outcomes;
    outcomes.reserve(commits.size());
    for (Commit& commit : commits) {
        outcomes.push_back(commit_now(std::move(commit)));
    }
    if (shared_.faults().loses_answers()) {
        co_return StoreFaults::error("session store");
    }
    co_return outcomes;
}

Task<Result<bool>> MemorySessionStore::drop_ends(std::vector<LastSeenRow> written) {
    if (slow()) {
        co_await wait_for(*scheduler_, shared_.faults().delay());
    }
    if (shared_.faults().unavailable()) {
        co_return StoreFaults::error("session store");
    }
    shared_.drop_ends(node_, written);
    co_return true;
}

Task<Result<bool>> MemorySessionStore::erase(UserId user) {
    if (slow()) {
        co_await wait_for(*scheduler_, shared_.faults().delay());
    }
    if (shared_.faults().unavailable()) {
        co_return StoreFaults::error("session store");
    }
    shared_.erase(user);
    if (shared_.faults().loses_answers()) {
        co_return StoreFaults::error("session store");
    }
    co_return true;
}

}  // namespace presence
