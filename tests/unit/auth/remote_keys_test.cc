#include "presence/auth/jwt_verifier.h"
#include "presence/auth/limits.h"

#include "support/loop_scheduler.h"
#include "support/virtual_time.h"
#include "unit/auth/signer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <optional>

namespace presence::auth {
namespace {

using testing::LoopScheduler;
using testing::Signer;
using testing::VirtualClock;

/// Stands in for the network: answers what the test says, and can be held.
class FakeSite {
public:
    Fetch fetch() {
        return [this](const std::string&, const std::atomic<bool>& stop) -> Result<std::string> {
            std::unique_lock lock(mutex_);
            ++asked_;
            changed_.notify_all();
            while (held_ && !stop.load()) {
                changed_.wait_for(lock, std::chrono::milliseconds(1));
            }
            if (!answer_) {
                return Error{.code = ErrorCode::unavailable, .message = "no answer"};
            }
            return *answer_;
        };
    }
    void answer(std::optional<std::string> text) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(text);
    }
    void hold(bool held) {
        const std::lock_guard lock(mutex_);
        held_ = held;
        changed_.notify_all();
    }
    /// Waits until the site was asked `times` times in all.
    bool was_asked(int times) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return asked_ >= times; }) &&
               asked_ == times;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::string> answer_;
    bool held_ = false;
    int asked_ = 0;
};

class RemoteKeySet : public ::testing::Test {
protected:
    static std::string set_of(const std::string& jwks) { return R"({"keys":[)" + jwks + "]}"; }
    [[nodiscard]] std::string payload() const {
        return fmt::format(R"({{"sub":"alice","exp":{}}})", clock.wall_now().ms() / 1000 + 86400);
    }
    void start() {
        auto made =
            JwtVerifier::make(AuthConfig{.jwks = "https://issuer/keys"}, clock, site.fetch());
        ASSERT_TRUE(made);
        verifier = *std::move(made);
    }
    /// Verifies and waits for keys if need be.
    bool accepts_patiently(const std::string& token) {
        std::optional<bool> answer;
        const auto ask = [&]() -> Detached {
            auto claims = co_await verifier->verify_patiently(token, home);
            answer = claims.has_value();
        };
        ask();
        EXPECT_TRUE(home.run_until([&] { return answer.has_value(); }, Millis{20'000}));
        return answer.value_or(false);
    }

    VirtualClock clock;
    LoopScheduler home;
    FakeSite site;
    Signer first = Signer::ed25519();
    Signer second = Signer::p256();
    std::unique_ptr<JwtVerifier> verifier;
};

TEST_F(RemoteKeySet, ATokenThatComesBeforeTheFirstFetchWaitsForIt) {
    site.answer(set_of(first.jwk("1")));
    start();

    EXPECT_TRUE(accepts_patiently(first.token(payload(), "1")));
    EXPECT_TRUE(verifier->verify(first.token(payload(), "1")));
    EXPECT_TRUE(site.was_asked(1));
}

TEST_F(RemoteKeySet, AnUnknownKeyIsFetchedAtMostOnceAMinute) {
    site.answer(set_of(first.jwk("1")));
    start();
    ASSERT_TRUE(accepts_patiently(first.token(payload(), "1")));
    site.answer(set_of(first.jwk("1") + "," + second.jwk("2")));

    EXPECT_TRUE(accepts_patiently(second.token(payload(), "2")));
    EXPECT_TRUE(site.was_asked(2));

    EXPECT_FALSE(accepts_patiently(second.token(payload(), "3")));
    clock.pass(kUnknownKeyPause - 1ms);
    EXPECT_FALSE(accepts_patiently(second.token(payload(), "3")));
    EXPECT_TRUE(site.was_asked(2));
    clock.pass(1ms);
    EXPECT_FALSE(accepts_patiently(second.token(payload(), "3")));
    EXPECT_TRUE(site.was_asked(3));
}

TEST_F(RemoteKeySet, AForgedTokenOfAKnownKeyCausesNoFetch) {
    site.answer(set_of(first.jwk("1")));
    start();
    ASSERT_TRUE(accepts_patiently(first.token(payload(), "1")));

    EXPECT_FALSE(accepts_patiently(Signer::ed25519().token(payload(), "1")));
    EXPECT_FALSE(accepts_patiently(Signer::ed25519().token(payload())));
    EXPECT_FALSE(
        accepts_patiently(testing::hs256_token(payload(), "x", R"({"alg":"HS256","kid":"9"})")));
    EXPECT_TRUE(site.was_asked(1));
}

TEST_F(RemoteKeySet, TheOldKeysStayWhenAFetchFails) {
    site.answer(set_of(first.jwk("1")));
    start();
    ASSERT_TRUE(accepts_patiently(first.token(payload(), "1")));

    for (const auto& bad : {std::optional<std::string>(), std::optional<std::string>("<html>"),
                            std::optional<std::string>(R"({"keys":[]})")}) {
        site.answer(bad);
        clock.pass(kUnknownKeyPause);
        EXPECT_FALSE(accepts_patiently(second.token(payload(), "2")));
        EXPECT_TRUE(verifier->verify(first.token(payload(), "1")));
    }
    EXPECT_GE(verifier->counters().key_set_failures, 3U);
}

TEST_F(RemoteKeySet, AWithdrawnKeyCountsNoMore) {
    site.answer(set_of(first.jwk("1")));
    start();
    ASSERT_TRUE(accepts_patiently(first.token(payload(), "1")));
    site.answer(set_of(second.jwk("2")));

    ASSERT_TRUE(accepts_patiently(second.token(payload(), "2")));

    EXPECT_FALSE(verifier->verify(first.token(payload(), "1")));
}

TEST_F(RemoteKeySet, TheImpatientQuestionNeverWaitsButAsksForTheKey) {
    site.answer(set_of(first.jwk("1")));
    site.hold(true);
    start();

    EXPECT_FALSE(verifier->verify(first.token(payload(), "1")));
    site.hold(false);
    EXPECT_TRUE(accepts_patiently(first.token(payload(), "1")));
}

TEST_F(RemoteKeySet, StoppingResumesThoseWhoWait) {
    site.hold(true);
    start();
    std::optional<bool> answer;
    const auto ask = [&]() -> Detached {
        auto claims = co_await verifier->verify_patiently(first.token(payload(), "1"), home);
        answer = claims.has_value();
    };
    ask();
    ASSERT_TRUE(site.was_asked(1));

    verifier->stop();

    EXPECT_TRUE(home.run_until([&] { return answer.has_value(); }, Millis{20'000}));
    EXPECT_EQ(answer, false);
    EXPECT_FALSE(accepts_patiently(first.token(payload(), "1")));
}

TEST_F(RemoteKeySet, AReloadMovesToAnotherUrlOrKeepsTheKeys) {
    site.answer(set_of(first.jwk("1")));
    start();
    ASSERT_TRUE(accepts_patiently(first.token(payload(), "1")));

    ASSERT_TRUE(verifier->reload(AuthConfig{.jwks = "https://issuer/keys", .issuer = "x"}));
    ASSERT_TRUE(verifier->reload(AuthConfig{.jwks = "https://issuer/keys"}));
    EXPECT_TRUE(verifier->verify(first.token(payload(), "1")));
    EXPECT_TRUE(site.was_asked(1));

    site.answer(set_of(second.jwk("2")));
    ASSERT_TRUE(verifier->reload(AuthConfig{.jwks = "https://other/keys"}));
    EXPECT_TRUE(accepts_patiently(second.token(payload(), "2")));
    EXPECT_FALSE(verifier->verify(first.token(payload(), "1")));
}

}  // namespace
}  // namespace presence::auth
