#include "presence/stores/memory/memory_sessions.h"

#include "presence/base/assert.h"

#include <utility>

namespace presence {

UserRecordRef MemorySessions::load(const UserId& user) {
    const MonoTime now = clock_.now();
    Stripe& stripe = stripe_of(user);
    const std::lock_guard lock(stripe.mutex);
    drop_some(stripe, now);
    const auto found = stripe.entries.find(user);
    if (found == stripe.entries.end() || found->second.over_at <= now) {
        return nullptr;
    }
    return found->second.record;
}

CommitOutcome MemorySessions::commit(const UserId& user, std::uint64_t expected,
                                     UserRecordRef record, Millis keep, PresenceEventRef event,
                                     PresenceBus* bus) {
    PRESENCE_ASSERT(record && record->commit > expected);
    PRESENCE_ASSERT(!event || event->user == user);
    const MonoTime now = clock_.now();
    Stripe& stripe = stripe_of(user);
    const std::lock_guard lock(stripe.mutex);
    drop_some(stripe, now);
    const auto found = stripe.entries.find(user);
    const bool exists = found != stripe.entries.end() && found->second.over_at > now;
    if ((exists ? found->second.record->commit : 0) != expected) {
        return CommitOutcome::conflict;
    }
    Entry& entry = found != stripe.entries.end() ? found->second : stripe.entries[user];
    entry.over_at = record->sessions.empty() ? now + keep : kNever;
    entry.record = std::move(record);
    if (entry.over_at != kNever && entry.filed_at == kNever) {
        file(stripe, user, entry);
    }
    if (event && bus != nullptr) {
        bus->publish(std::move(event));
    }
    return CommitOutcome::committed;
}

void MemorySessions::erase(const UserId& user) {
    Stripe& stripe = stripe_of(user);
    const std::lock_guard lock(stripe.mutex);
    stripe.entries.erase(user);
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

void MemorySessions::file(Stripe& stripe, const UserId& user, Entry& entry) {
    entry.filed_at = entry.over_at;
    stripe.deadlines.push({entry.filed_at, user});
}

void MemorySessions::drop_some(Stripe& stripe, MonoTime now) {
    for (int dropped = 0; dropped < kDropsPerCall; ++dropped) {
        if (stripe.deadlines.empty() || stripe.deadlines.top().at > now) {
            return;
        }
        const Deadline due = stripe.deadlines.top();
        stripe.deadlines.pop();
        const auto found = stripe.entries.find(due.user);
        if (found == stripe.entries.end() || found->second.filed_at != due.at) {
            continue;
        }
        Entry& entry = found->second;
        entry.filed_at = kNever;
        if (entry.over_at <= now) {
            stripe.entries.erase(found);
        } else if (entry.over_at != kNever) {
            file(stripe, due.user, entry);
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
    co_return records;
}

Task<Result<CommitOutcome>> MemorySessionStore::commit(UserId user, std::uint64_t expected,
                                                       UserRecordRef record, Millis keep,
                                                       PresenceEventRef event) {
    if (slow()) {
        co_await wait_for(*scheduler_, shared_.faults().delay());
    }
    if (shared_.faults().unavailable()) {
        co_return StoreFaults::error("session store");
    }
    const CommitOutcome outcome =
        shared_.commit(user, expected, std::move(record), keep, std::move(event), bus_);
    if (shared_.faults().loses_answers()) {
        co_return StoreFaults::error("session store");
    }
    co_return outcome;
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
