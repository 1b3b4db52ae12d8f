#pragma once

#include "presence/base/clock.h"
#include "presence/base/random.h"
#include "presence/model/webhook_event.h"
#include "presence/ports/webhook_admin.h"
#include "presence/ports/webhook_outbox.h"
#include "presence/webhooks/curl_loop.h"
#include "presence/webhooks/signature.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace presence::webhooks {

/// Where events go and how. From the configuration; a reload brings a new one.
struct WebhookConfig {
    std::vector<std::string> urls;
    std::vector<Secret> secrets;          ///< One, or two during a rotation.
    std::vector<std::string> http_hosts;  ///< Hosts that may be called by plain http.
    bool allow_private = false;           ///< Any address, and plain http to any host.
};

/// What is wrong with one of `urls`.
/// @retval ErrorCode::bad_request  No URL, plain http where that is not allowed, or a password.
[[nodiscard]] Result<bool> check_urls(const WebhookConfig& config);

/// An event as JSON, with its id.
using WebhookEncoder = std::string (*)(const WebhookEvent& event, std::string_view id);

/// What became of calls, and of batches in the end. Test calls are not among them.
struct SenderCounters {
    std::uint64_t delivered = 0;   ///< Answered 2xx.
    std::uint64_t refused = 0;     ///< Answered something else, 410 aside.
    std::uint64_t gone = 0;        ///< Answered 410.
    std::uint64_t unanswered = 0;  ///< No answer in time, or no connection that may be made.
    std::uint64_t given_up = 0;    ///< Batches that became dead letters.
    std::uint64_t waiting = 0;     ///< Events in the outbox, all nodes', when it was last counted.
};

/// Takes batches out of the outbox and brings them to their receivers, on a thread of its own.
///
/// A receiver that answers 2xx has them; 410 stops it until the configuration is read anew; all
/// else is tried again, with growing waits, for a day. Batches of a receiver travel side by side,
/// up to kSideBySide; each holds back only the users in it.
class Sender final : public WebhookAdmin {
public:
    using MakeOutbox = std::function<std::unique_ptr<WebhookOutbox>(Scheduler&)>;
    /// Told, on the sender's thread, when it changes: the targets that events are wanted for, and
    /// whether the outbox is full.
    using Listener = std::function<void(const std::vector<std::string>& targets, bool outbox_full)>;

    /// @param most_events  In the outbox; from there on it counts as full.
    Sender(const Clock& clock, const MakeOutbox& make_outbox, WebhookConfig config,
           Listener listener, std::size_t most_events, WebhookEncoder encode);
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;
    ~Sender() override { stop(); }

    /// Any thread.
    void reload(WebhookConfig config);
    /// There is something in the outbox. Any thread.
    void wake();
    /// Ends the thread; what is under way comes back by its lease. Blocks.
    void stop();

    [[nodiscard]] Task<Result<WebhookFacts>> facts(Scheduler& home) override;
    [[nodiscard]] Task<Result<DeadLetters>> dead_letters(Scheduler& home,
                                                         std::optional<std::int64_t> after,
                                                         std::size_t most) override;
    [[nodiscard]] Task<Result<std::vector<WebhookTrial>>> test(Scheduler& home) override;

    /// Any thread.
    [[nodiscard]] SenderCounters counters() const;

    static constexpr std::size_t kSideBySide = 4;
    static constexpr Millis kGiveUpAfter{24 * 3'600'000};

private:
    struct Target {
        WebhookTargetFacts facts;
    };
    /// What is on its way to a URL. Outlives the target, which a reload may take out and another
    /// put back meanwhile.
    struct Traffic {
        std::size_t under_way = 0;
        bool claiming = false;
    };

    // All below runs on the sender's thread.
    void configure(WebhookConfig config);
    void tell_listener();
    void look();
    Detached look_again();
    Detached claim(std::string url);
    void send(OutboxBatch batch);
    Detached settle(OutboxBatch batch, Response response);
    void count(const Response& response);
    Detached stop_target(std::string url);
    [[nodiscard]] Request request_for(const std::string& url, const std::string& id,
                                      std::string body) const;
    [[nodiscard]] Target* find(const std::string& url);
    void forget_idle(const std::string& url);
    Detached answer_facts(Scheduler& home, Completion<Result<WebhookFacts>>::Done done);
    Detached answer_dead(Scheduler& home, std::optional<std::int64_t> after, std::size_t most,
                         Completion<Result<DeadLetters>>::Done done);
    void answer_test(Scheduler& home, Completion<Result<std::vector<WebhookTrial>>>::Done done);

    const Clock& clock_;
    CurlLoop loop_;
    SystemRandom random_;
    std::unique_ptr<WebhookOutbox> outbox_;
    const Listener listener_;
    const std::size_t most_events_;
    const WebhookEncoder encode_;
    WebhookConfig config_;
    std::map<std::string, Target> targets_;
    std::map<std::string, Traffic> traffic_;  ///< By URL; none where nothing is on its way.
    bool outbox_full_ = false;
    std::atomic<std::uint64_t> delivered_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
    std::atomic<std::uint64_t> gone_ = 0;
    std::atomic<std::uint64_t> unanswered_ = 0;
    std::atomic<std::uint64_t> given_up_ = 0;
    std::atomic<std::uint64_t> waiting_ = 0;
    MonoTime count_at_;  ///< When the outbox is to be counted next.
    std::thread thread_;
};

/// How long after the failed attempt number `attempt` the next one is due.
[[nodiscard]] Millis wait_after(Random& random, int attempt);

}  // namespace presence::webhooks
