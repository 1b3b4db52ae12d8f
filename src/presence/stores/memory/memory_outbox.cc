#include "presence/stores/memory/memory_outbox.h"

#include <algorithm>
#include <set>

namespace presence {

namespace {
constexpr const char* kName = "the outbox";
}

OutboxBatch MemoryOutboxState::taken(const std::string& id, Millis lease) {
    Batch& batch = batches_.at(id);
    ++batch.attempts;
    batch.due = clock_.wall_now() + lease;
    OutboxBatch given{id, batch.target, {}, batch.attempts, clock_.wall_now() - batch.first};
    for (const Event& event : events_) {
        if (event.batch == id) {
            given.bodies.push_back(event.event.body);
        }
    }
    return given;
}

/// False: there is nothing that a new batch could hold.
bool MemoryOutboxState::form(const OutboxClaim& claim, const std::string& id) {
    std::set<std::string> busy;
    for (const Event& event : events_) {
        if (event.event.target == claim.target && !event.batch.empty()) {
            busy.insert(event.event.subject);
        }
    }
    std::size_t count = 0;
    for (Event& event : events_) {
        if (count < claim.most_events && event.event.target == claim.target &&
            event.batch.empty() && !busy.contains(event.event.subject)) {
            event.batch = id;
            ++count;
        }
    }
    if (count > 0) {
        batches_[id] = {claim.target, 0, clock_.wall_now(), clock_.wall_now()};
    }
    return count > 0;
}

/// Takes out a batch with its events, and gives their bodies.
std::vector<std::string> MemoryOutboxState::remove(const std::string& id) {
    std::vector<std::string> bodies;
    std::erase_if(events_, [&](const Event& event) {
        if (event.batch == id) {
            bodies.push_back(event.event.body);
        }
        return event.batch == id;
    });
    batches_.erase(id);
    return bodies;
}

Task<Result<bool>> MemoryOutbox::append(std::vector<OutboxEvent> events) {
    if (state_.faults.unavailable()) {
        co_return StoreFaults::error(kName);
    }
    const std::lock_guard lock(state_.mutex_);
    for (OutboxEvent& event : events) {
        state_.events_.push_back({std::move(event), ""});
    }
    co_return true;
}

Task<Result<std::vector<OutboxBatch>>> MemoryOutbox::claim(OutboxClaim claim) {
    if (state_.faults.unavailable()) {
        co_return StoreFaults::error(kName);
    }
    const std::lock_guard lock(state_.mutex_);
    const WallTime now = state_.clock_.wall_now();
    std::vector<std::pair<WallTime, std::string>> due;
    for (const auto& [id, batch] : state_.batches_) {
        if (batch.target == claim.target && batch.due <= now) {
            due.emplace_back(batch.due, id);
        }
    }
    std::ranges::sort(due);
    due.resize(std::min(due.size(), claim.new_ids.size()));
    std::vector<OutboxBatch> given;
    for (const auto& [when, id] : due) {
        given.push_back(state_.taken(id, claim.lease));
    }
    for (const std::string& id : claim.new_ids) {
        if (given.size() == claim.new_ids.size() || !state_.form(claim, id)) {
            break;
        }
        given.push_back(state_.taken(id, claim.lease));
    }
    co_return given;
}

Task<Result<bool>> MemoryOutbox::delivered(std::string batch) {
    if (state_.faults.unavailable()) {
        co_return StoreFaults::error(kName);
    }
    const std::lock_guard lock(state_.mutex_);
    static_cast<void>(state_.remove(batch));
    co_return true;
}

Task<Result<bool>> MemoryOutbox::retry(std::string batch, Millis after) {
    if (state_.faults.unavailable()) {
        co_return StoreFaults::error(kName);
    }
    const std::lock_guard lock(state_.mutex_);
    const auto found = state_.batches_.find(batch);
    if (found != state_.batches_.end()) {
        found->second.due = state_.clock_.wall_now() + after;
    }
    co_return true;
}

Task<Result<bool>> MemoryOutbox::give_up(std::string batch, std::string error) {
    if (state_.faults.unavailable()) {
        co_return StoreFaults::error(kName);
    }
    const std::lock_guard lock(state_.mutex_);
    const auto found = state_.batches_.find(batch);
    if (found == state_.batches_.end()) {
        co_return true;
    }
    DeadLetter letter{
        batch,           found->second.target, {}, found->second.attempts, state_.clock_.wall_now(),
        std::move(error)};
    letter.bodies = state_.remove(batch);
    state_.dead_.emplace_back(++state_.last_dead_, std::move(letter));
    if (state_.dead_.size() > kMostDeadLetters) {
        state_.dead_.pop_front();
    }
    co_return true;
}

Task<Result<bool>> MemoryOutbox::forget(std::string target) {
    const std::lock_guard lock(state_.mutex_);
    std::erase_if(state_.events_, [&](const auto& one) { return one.event.target == target; });
    std::erase_if(state_.batches_, [&](const auto& one) { return one.second.target == target; });
    co_return true;
}

Task<Result<DeadLetters>> MemoryOutbox::dead_letters(std::optional<std::int64_t> after,
                                                     std::size_t most) {
    const std::lock_guard lock(state_.mutex_);
    DeadLetters page;
    for (const auto& [number, letter] : state_.dead_) {
        if (number <= after.value_or(0)) {
            continue;
        }
        if (page.letters.size() == most) {
            co_return page;
        }
        page.letters.push_back(letter);
        page.next = number;
    }
    page.next.reset();
    co_return page;
}

Task<Result<OutboxCounts>> MemoryOutbox::counts() {
    const std::lock_guard lock(state_.mutex_);
    co_return OutboxCounts{state_.events_.size(), state_.dead_.size()};
}

}  // namespace presence
