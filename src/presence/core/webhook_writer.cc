#include "presence/core/webhook_writer.h"

#include "presence/base/log.h"

#include <iterator>
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
    for (const std::string& target : targets_) {
        queue_.push_back({target, subject, body});
    }
    arm(kBetweenWrites);
}

void WebhookWriter::forget(const UserId& user) {
    const std::string subject = subject_of(user);
    const auto is_of_user = [&](const OutboxEvent& event) { return event.subject == subject; };
    std::erase_if(queue_, is_of_user);
    std::erase_if(writing_, is_of_user);
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
    std::vector<OutboxEvent> copy = writing_;
    is_writing_ = true;
    Result<bool> appended = co_await outbox_.append(std::move(copy));
    is_writing_ = false;
    std::vector<OutboxEvent> taken = std::exchange(writing_, {});
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
