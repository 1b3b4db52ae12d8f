#include "presence/core/webhook_writer.h"

#include "presence/base/log.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace presence {

namespace {

constexpr Millis kBetweenWrites{100};
constexpr Millis kAfterFailure{1000};

}  // namespace

void WebhookWriter::note(WebhookEvent event) {
    if (targets_.empty()) {
        return;
    }
    if (outbox_full_ || queued() + targets_.size() > limits_.webhook_queue) {
        ++counters_.webhooks_lost;
        return;
    }
    ++counters_.webhooks_noted;
    const std::string body = encode_(event, "evt_" + random_.token());
    const std::string subject =
        event.room.text.empty() ? subject_of(event.user) : subject_of(event.room);
    const bool is_last_word = event.type == WebhookType::user_offline && !event.last_seen;
    const bool is_leaving = event.type == WebhookType::room_left;
    for (const std::string& target : targets_) {
        queue_.push_back({{target, subject, body}, event.user, is_last_word, is_leaving});
    }
    arm(kBetweenWrites);
}

/// As an erasure leaves the outbox (tests/contract/erased_events.h).
void WebhookWriter::forget(const UserId& user) {
    std::set<std::pair<std::string, std::string>> later;  // Targets and rooms with later events.
    const auto goes = [&](const Queued& one) {
        if (!(one.user == user) || one.is_last_word) {
            return false;
        }
        const bool is_last = later.emplace(one.event.target, one.event.subject).second;
        return !(one.is_leaving && is_last);
    };
    for (std::vector<Queued>* const events : {&queue_, &writing_}) {  // The newest first.
        std::ranges::reverse(*events);
        std::vector<Queued> kept;
        std::ranges::copy_if(*events, std::back_inserter(kept), std::not_fn(goes));
        std::ranges::reverse(kept);
        *events = std::move(kept);
    }
}

void WebhookWriter::arm(Millis delay) {
    if (!armed_) {
        armed_ = true;
        scheduler_.after(delay, [this] { flush_later(); });
    }
}

Detached WebhookWriter::flush_later() {
    const bool written = co_await flush();
    armed_ = false;
    if (!queue_.empty()) {
        arm(written ? kBetweenWrites : kAfterFailure);
    }
}

Task<bool> WebhookWriter::flush() {
    if (queue_.empty() || is_writing_) {
        co_return queue_.empty();
    }
    writing_ = std::exchange(queue_, {});
    std::vector<OutboxEvent> copy;
    copy.reserve(writing_.size());
    for (const Queued& one : writing_) {
        copy.push_back(one.event);
    }
    is_writing_ = true;
    Result<bool> appended = co_await outbox_.append(std::move(copy));
    is_writing_ = false;
    std::vector<Queued> taken = std::exchange(writing_, {});
    if (appended) {
        failing_ = false;
        if (wake_) {
            wake_();
        }
        co_return true;
    }
    ++counters_.webhook_failures;
    if (!std::exchange(failing_, true)) {
        log::warning("webhooks_not_written", "{} events stay queued: {}", taken.size(),
                     appended.error().message);
    }
    taken.insert(taken.end(), std::make_move_iterator(queue_.begin()),
                 std::make_move_iterator(queue_.end()));
    queue_ = std::move(taken);
    co_return false;
}

}  // namespace presence
