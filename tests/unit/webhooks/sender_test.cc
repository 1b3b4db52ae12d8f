// Deliveries, to a receiver of the test's own on loopback.

#include "presence/webhooks/sender.h"

#include "presence/stores/memory/memory_outbox.h"

#include "support/run_task.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <condition_variable>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace presence::webhooks {
namespace {

using namespace std::chrono_literals;
using presence::testing::run_until_complete;

/// Takes one call after the other and answers when it is told to.
class Receiver {
public:
    Receiver() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        const timeval patience{5, 0};
        ::setsockopt(listener_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(listener_, 8), 0);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/hook";
    }
    ~Receiver() {
        hang_up();
        ::close(listener_);
    }
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    /// Waits for a call that has `text` in it.
    [[nodiscard]] bool gets(std::string_view text) {
        hang_up();
        call_ = ::accept(listener_, nullptr, nullptr);
        std::string received;
        char bytes[4096];
        while (call_ >= 0 && received.find(text) == std::string::npos) {
            const ssize_t got = ::recv(call_, bytes, sizeof bytes, 0);
            if (got <= 0) {
                return false;
            }
            received.append(bytes, static_cast<std::size_t>(got));
        }
        return call_ >= 0;
    }
    void answer(int status) {
        const std::string head = "HTTP/1.1 " + std::to_string(status) +
                                 " x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        EXPECT_EQ(::send(call_, head.data(), head.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(head.size()));
        hang_up();
    }

    void hang_up() {
        if (call_ >= 0) {
            ::close(std::exchange(call_, -1));
        }
    }

    std::string url;

private:
    int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int call_ = -1;
};

class WebhookSender : public ::testing::Test {
protected:
    void append(const std::string& body) {
        MemoryOutbox outbox(state_);
        std::vector<OutboxEvent> events{{receiver.url, body, "\"" + body + "\""}};
        ASSERT_TRUE(run_until_complete(outbox.append(std::move(events))));
    }
    void wait_for_reloads(int count) {
        std::unique_lock lock(mutex_);
        ASSERT_TRUE(changed_.wait_for(lock, 10s, [&] { return configured_ >= count; }));
    }
    [[nodiscard]] WebhookConfig config() const {
        WebhookConfig config;
        config.urls = {receiver.url};
        config.secrets = {*parse_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")};
        config.allow_private = true;
        return config;
    }

    Receiver receiver;

private:
    SystemClock clock_;
    MemoryOutboxState state_{clock_};
    std::mutex mutex_;
    std::condition_variable changed_;
    int configured_ = 0;

protected:
    Sender sender{clock_,
                  [this](Scheduler&) { return std::make_unique<MemoryOutbox>(state_); },
                  config(),
                  [this](const std::vector<std::string>&, bool) {
                      const std::lock_guard lock(mutex_);
                      ++configured_;
                      changed_.notify_all();
                  },
                  1'000,
                  [](const WebhookEvent&, std::string_view id) { return std::string(id); }};
};

TEST_F(WebhookSender, AReceiverTakenOutAndPutBackDuringADeliveryGetsTheNextOne) {
    append("first");
    sender.wake();
    ASSERT_TRUE(receiver.gets("first"));

    WebhookConfig without = config();
    without.urls.clear();
    sender.reload(without);
    sender.reload(config());
    wait_for_reloads(3);
    receiver.answer(200);
    append("second");
    sender.wake();

    EXPECT_TRUE(receiver.gets("second"));
    receiver.answer(200);
}

TEST_F(WebhookSender, CountsItsCallsByWhatCameOfThem) {
    const auto counted = [this](std::uint64_t SenderCounters::*outcome) {
        for (int tries = 0; sender.counters().*outcome == 0 && tries < 1'000; ++tries) {
            std::this_thread::sleep_for(10ms);
        }
        return sender.counters().*outcome;
    };
    append("first");
    sender.wake();
    ASSERT_TRUE(receiver.gets("first"));
    receiver.answer(503);
    EXPECT_EQ(counted(&SenderCounters::refused), 1U);
    ASSERT_TRUE(receiver.gets("first"));  // Once more, after a second or so.
    receiver.answer(200);
    EXPECT_EQ(counted(&SenderCounters::delivered), 1U);
    append("second");
    sender.wake();
    ASSERT_TRUE(receiver.gets("second"));
    receiver.answer(410);
    EXPECT_EQ(counted(&SenderCounters::gone), 1U);
    EXPECT_EQ(sender.counters().unanswered, 0U);
    EXPECT_EQ(sender.counters().given_up, 0U);
    EXPECT_EQ(sender.counters().refused, 1U);
}

TEST_F(WebhookSender, CountsACallThatNobodyAnswers) {
    append("first");
    sender.wake();
    ASSERT_TRUE(receiver.gets("first"));
    receiver.hang_up();
    for (int tries = 0; sender.counters().unanswered == 0 && tries < 1'000; ++tries) {
        std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(sender.counters().unanswered, 1U);
    EXPECT_EQ(sender.counters().delivered, 0U);
}

}  // namespace
}  // namespace presence::webhooks
