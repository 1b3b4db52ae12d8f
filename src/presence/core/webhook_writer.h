#pragma once

#include "presence/base/random.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/base/unique_function.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/ports/webhook_events.h"
#include "presence/ports/webhook_outbox.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace presence {

/// Collects events for webhooks and puts them into the outbox in batches, ten times a second at
/// most. What the outbox does not take stays queued, in order. One thread.
class WebhookWriter final : public WebhookEvents {
public:
    /// An event as JSON, with its id.
    using Encode = std::string (*)(const WebhookEvent& event, std::string_view id);

    WebhookWriter(Scheduler& scheduler, Random& random, WebhookOutbox& outbox, Encode encode,
                  const Limits& limits, CoreCounters& counters)
        : scheduler_(scheduler),
          random_(random),
          outbox_(outbox),
          encode_(encode),
          limits_(limits),
          counters_(counters) {}

    /// URLs that events go to from now on; none: events are not wanted.
    void set_targets(std::vector<std::string> targets) { targets_ = std::move(targets); }
    /// The outbox holds as much as it may: events are dropped and counted until this is over.
    void set_outbox_full(bool full) { outbox_full_ = full; }
    /// Called when the outbox has got something.
    void set_wake(UniqueFunction<void()> wake) { wake_ = std::move(wake); }

    [[nodiscard]] bool wanted() const override { return !targets_.empty(); }
    void note(WebhookEvent event) override;
    void forget(const UserId& user) override;

    /// Writes what is queued now. False: the outbox did not take it, and it stays queued.
    [[nodiscard]] Task<bool> flush();

    /// Events times targets that are not in the outbox yet.
    [[nodiscard]] std::size_t queued() const noexcept { return queue_.size() + writing_.size(); }

private:
    struct Queued {
        OutboxEvent event;
        UserId user;  ///< Whom it is about; of nobody where a room was occupied or vacated.
        bool is_last_word = false;  ///< An end without a time: an erasure leaves it.
        bool is_leaving = false;    ///< Likewise, as the last of the user in that room.
    };
    void arm(Millis delay);
    Detached flush_later();

    Scheduler& scheduler_;
    Random& random_;
    WebhookOutbox& outbox_;
    const Encode encode_;
    const Limits& limits_;
    CoreCounters& counters_;
    UniqueFunction<void()> wake_;
    std::vector<std::string> targets_;
    std::vector<Queued> queue_;
    std::vector<Queued> writing_;  ///< What the outbox has not answered for.
    bool is_writing_ = false;
    bool armed_ = false;
    bool outbox_full_ = false;
    bool failing_ = false;  ///< For one log line each way.
};

}  // namespace presence
