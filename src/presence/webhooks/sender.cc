#include "presence/webhooks/sender.h"

#include "presence/base/backoff.h"
#include "presence/base/log.h"
#include "presence/webhooks/receiver_urls.h"

#include <fmt/format.h>

#include <utility>

namespace presence::webhooks {

namespace {

constexpr Millis kBetweenLooks{500};
/// Counting a million rows is no trifle for a database.
constexpr Millis kBetweenCounts{10'000};
/// A little more than an attempt can take, so that a killed node's batches come back soon.
constexpr Millis kLease = CurlLoop::kTimeout + Millis{5'000};
constexpr int kGone = 410;

bool is_success(int status) {
    return status >= 200 && status < 300;
}

std::string body_of(const std::vector<std::string>& events) {
    return fmt::format("{{\"events\":[{}]}}", fmt::join(events, ","));
}

std::string failure_of(const Response& response) {
    return response.status == 0 ? response.error : fmt::format("it answered {}", response.status);
}

}  // namespace

Millis wait_after(Random& random, int attempt) {
    constexpr Millis kFirst{1'000};
    constexpr Millis kMost{1'800'000};
    return backoff(random, attempt, kFirst, kMost);
}

Sender::Sender(const Clock& clock, const MakeOutbox& make_outbox, WebhookConfig config,
               Listener listener, std::size_t most_events, WebhookEncoder encode)
    : clock_(clock),
      loop_(clock),
      outbox_(make_outbox(loop_)),
      listener_(std::move(listener)),
      most_events_(most_events),
      encode_(encode) {
    loop_.post([this, first = std::move(config)]() mutable {
        configure(std::move(first));
        look_again();
    });
    thread_ = std::thread([this] { loop_.run(); });
}

void Sender::reload(WebhookConfig config) {
    loop_.post([this, fresh = std::move(config)]() mutable { configure(std::move(fresh)); });
}

void Sender::wake() {
    loop_.post([this] { look(); });
}

void Sender::stop() {
    loop_.stop();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Sender::configure(WebhookConfig config) {
    config_ = std::move(config);
    std::map<std::string, Target> fresh;
    for (const std::string& url : config_.urls) {
        const auto known = targets_.find(url);
        if (known != targets_.end()) {
            fresh.insert(targets_.extract(known));
        }
        Target& target = fresh[url];
        target.facts.url = url;
        target.facts.stopped = false;
    }
    // What is on its way to others stays in the outbox, for another node or a later reload.
    targets_ = std::move(fresh);
    tell_listener();
    look();
}

void Sender::tell_listener() {
    std::vector<std::string> wanted;
    for (const auto& [url, target] : targets_) {
        if (!target.facts.stopped) {
            wanted.push_back(url);
        }
    }
    listener_(wanted, outbox_full_);
}

Sender::Target* Sender::find(const std::string& url) {
    const auto found = targets_.find(url);
    return found == targets_.end() ? nullptr : &found->second;
}

void Sender::forget_idle(const std::string& url) {
    const auto found = traffic_.find(url);
    if (found != traffic_.end() && found->second.under_way == 0 && !found->second.claiming) {
        traffic_.erase(found);
    }
}

Detached Sender::look_again() {
    look();
    if (!targets_.empty() && clock_.now() >= count_at_) {
        count_at_ = clock_.now() + kBetweenCounts;
        Result<OutboxCounts> counts = co_await outbox_->counts();
        const bool full = counts && counts->waiting >= most_events_;
        waiting_ = counts ? counts->waiting : waiting_.load();
        if (counts && full != outbox_full_) {
            outbox_full_ = full;
            log::warning("webhook_outbox", "it holds {} events and is {}", counts->waiting,
                         full ? "full: new ones are dropped" : "no longer full");
            tell_listener();
        }
    }
    loop_.after(kBetweenLooks, [this] { look_again(); });
}

void Sender::look() {
    for (const auto& [url, target] : targets_) {
        const auto busy = traffic_.find(url);
        const bool has_room = busy == traffic_.end() ||
                              (!busy->second.claiming && busy->second.under_way < kSideBySide);
        if (!target.facts.stopped && has_room) {
            claim(url);
        }
    }
}

Detached Sender::claim(std::string url) {
    Traffic& traffic = traffic_[url];
    traffic.claiming = true;
    OutboxClaim asked{.target = url, .new_ids = {}, .lease = kLease};
    for (std::size_t i = traffic.under_way; i < kSideBySide; ++i) {
        asked.new_ids.push_back("msg_" + random_.token());
    }
    Result<std::vector<OutboxBatch>> batches = co_await outbox_->claim(std::move(asked));
    traffic_[url].claiming = false;
    Target* const target = find(url);
    if (target != nullptr &&
        batches) {  // Else a reload took it away: they come back by their lease.
        for (OutboxBatch& batch : *batches) {
            send(std::move(batch));
        }
    } else if (target != nullptr) {
        target->facts.last_error = batches.error().message;
    }
    forget_idle(url);
}

Request Sender::request_for(const std::string& url, const std::string& id, std::string body) const {
    const WallTime now = clock_.wall_now();
    Request request;
    request.url = url;
    request.headers = {"content-type: application/json", "expect:", "webhook-id: " + id,
                       fmt::format("webhook-timestamp: {}", now.ms() / 1000),
                       "webhook-signature: " + sign(config_.secrets, id, now, body)};
    request.body = std::move(body);
    request.allow_http = allows_http(config_, url);
    request.allow_private = config_.allow_private;
    return request;
}

void Sender::send(OutboxBatch batch) {
    ++traffic_[batch.target].under_way;
    Request request = request_for(batch.target, batch.id, body_of(batch.bodies));
    loop_.send(std::move(request), [this, batch = std::move(batch)](Response response) mutable {
        settle(std::move(batch), std::move(response));
    });
}

void Sender::count(const Response& response) {
    std::atomic<std::uint64_t>& outcome = is_success(response.status) ? delivered_
                                          : response.status == kGone  ? gone_
                                          : response.status != 0      ? refused_
                                                                      : unanswered_;
    outcome.fetch_add(1, std::memory_order_relaxed);
}

SenderCounters Sender::counters() const {
    const auto read = [](const std::atomic<std::uint64_t>& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    return {read(delivered_),  read(refused_),  read(gone_),
            read(unanswered_), read(given_up_), read(waiting_)};
}

Detached Sender::settle(OutboxBatch batch, Response response) {
    const bool arrived = is_success(response.status);
    const std::string failure = arrived ? "" : failure_of(response);
    count(response);
    --traffic_[batch.target].under_way;
    forget_idle(batch.target);
    Target* target = find(batch.target);
    if (target != nullptr) {
        ++(arrived ? target->facts.delivered : target->facts.failed);
        target->facts.last_error = arrived ? target->facts.last_error : failure;
    }
    if (response.status == kGone) {
        stop_target(batch.target);
        co_return;
    }
    if (arrived) {
        Result<bool> done = co_await outbox_->delivered(batch.id);
        if (!done) {  // It will come once more, with the same id.
            log::warning("webhook_not_settled", "{}: {}", batch.id, done.error().message);
        }
    } else if (batch.age >= kGiveUpAfter) {
        log::error("webhook_given_up", "{} after {} attempts: {}", batch.id, batch.attempt,
                   failure);
        given_up_.fetch_add(1, std::memory_order_relaxed);
        Result<bool> buried = co_await outbox_->give_up(batch.id, failure);
        static_cast<void>(buried);
    } else {
        log::info("webhook_failed", "{} attempt {}: {}", batch.id, batch.attempt, failure);
        const Millis wait = wait_after(random_, batch.attempt);
        Result<bool> filed = co_await outbox_->retry(batch.id, wait);
        static_cast<void>(filed);
    }
    look();
}

Detached Sender::stop_target(std::string url) {
    Target* const target = find(url);
    if (target == nullptr || target->facts.stopped) {
        co_return;
    }
    target->facts.stopped = true;
    log::warning("webhook_stopped", "{} answered 410: nothing more is sent to it", url);
    tell_listener();
    Result<bool> forgotten = co_await outbox_->forget(url);
    static_cast<void>(forgotten);
}

// --- Questions of other threads --------------------------------------------------------------

Task<Result<WebhookFacts>> Sender::facts(Scheduler& home) {
    using Answer = Completion<Result<WebhookFacts>>;
    Answer answer([&](Answer::Done done) {
        loop_.post([this, home = &home, done = std::move(done)]() mutable {
            answer_facts(*home, std::move(done));
        });
    });
    Result<WebhookFacts> facts = co_await answer;
    co_return facts;
}

Detached Sender::answer_facts(Scheduler& home, Completion<Result<WebhookFacts>>::Done done) {
    Result<OutboxCounts> counts = co_await outbox_->counts();
    Result<WebhookFacts> facts = WebhookFacts{};
    if (counts) {
        facts->outbox = *counts;
        for (const auto& [url, target] : targets_) {
            facts->targets.push_back(target.facts);
        }
    } else {
        facts = counts.error();
    }
    home.post(
        [done = std::move(done), facts = std::move(facts)]() mutable { done(std::move(facts)); });
}

Task<Result<DeadLetters>> Sender::dead_letters(Scheduler& home, std::optional<std::int64_t> after,
                                               std::size_t most) {
    using Answer = Completion<Result<DeadLetters>>;
    Answer answer([&](Answer::Done done) {
        loop_.post([this, home = &home, after, most, done = std::move(done)]() mutable {
            answer_dead(*home, after, most, std::move(done));
        });
    });
    Result<DeadLetters> letters = co_await answer;
    co_return letters;
}

Detached Sender::answer_dead(Scheduler& home, std::optional<std::int64_t> after, std::size_t most,
                             Completion<Result<DeadLetters>>::Done done) {
    Result<DeadLetters> letters = co_await outbox_->dead_letters(after, most);
    home.post([done = std::move(done), letters = std::move(letters)]() mutable {
        done(std::move(letters));
    });
}

Task<Result<std::vector<WebhookTrial>>> Sender::test(Scheduler& home) {
    using Answer = Completion<Result<std::vector<WebhookTrial>>>;
    Answer answer([&](Answer::Done done) {
        loop_.post([this, home = &home, done = std::move(done)]() mutable {
            answer_test(*home, std::move(done));
        });
    });
    Result<std::vector<WebhookTrial>> trials = co_await answer;
    co_return trials;
}

void Sender::answer_test(Scheduler& home,
                         Completion<Result<std::vector<WebhookTrial>>>::Done done) {
    struct Trials {
        std::vector<WebhookTrial> all;
        std::size_t open = 0;
        Completion<Result<std::vector<WebhookTrial>>>::Done done;
        Scheduler& home;
        void finish() {
            home.post(
                [done = std::move(done), all = std::move(all)]() mutable { done(std::move(all)); });
        }
    };
    auto trials = std::make_shared<Trials>(
        Trials{.all = {}, .open = config_.urls.size(), .done = std::move(done), .home = home});
    if (config_.urls.empty()) {
        trials->finish();
        return;
    }
    WebhookEvent event;
    event.at = clock_.wall_now();
    const std::string body = body_of({encode_(event, "evt_" + random_.token())});
    for (const std::string& url : config_.urls) {
        loop_.send(request_for(url, "msg_" + random_.token(), body),
                   [trials, url](const Response& response) {
                       const bool arrived = is_success(response.status);
                       trials->all.push_back(
                           {url, arrived, response.status, arrived ? "" : failure_of(response)});
                       if (--trials->open == 0) {
                           trials->finish();
                       }
                   });
    }
}

}  // namespace presence::webhooks
