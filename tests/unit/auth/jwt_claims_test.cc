#include "presence/auth/jwt_verifier.h"

#include "support/virtual_time.h"
#include "unit/auth/signer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace presence::auth {
namespace {

using ::testing::ElementsAre;
using testing::hs256_token;
using testing::VirtualClock;

class JwtClaims : public ::testing::Test {
protected:
    JwtClaims() { use(AuthConfig{.secrets = {"secret"}}); }

    void use(AuthConfig config) {
        auto made = JwtVerifier::make(std::move(config), clock);
        ASSERT_TRUE(made);
        verifier = *std::move(made);
    }

    [[nodiscard]] std::int64_t now() const { return clock.wall_now().ms() / 1000; }

    /// A payload of alice that is good for an hour, with more members.
    [[nodiscard]] std::string payload(const std::string& more = {}) const {
        return fmt::format(R"({{"sub":"alice","exp":{}{}{}}})", now() + 3600,
                           more.empty() ? "" : ",", more);
    }
    /// The same without `exp`, which `more` may give.
    [[nodiscard]] static std::string bare(const std::string& more) {
        return R"({"sub":"alice")" + (more.empty() ? "" : "," + more) + "}";
    }

    [[nodiscard]] Result<TokenClaims> verify(const std::string& json) const {
        return verifier->verify(hs256_token(json));
    }
    [[nodiscard]] bool accepts(const std::string& json) const { return verify(json).has_value(); }

    /// Why a token was refused; `none` if it was accepted.
    [[nodiscard]] Refusal refusal(const std::string& token) const {
        const JwtCounters before = verifier->counters();
        const auto result = verifier->verify(token);
        EXPECT_TRUE(result || result.error().message == "the token was refused");
        EXPECT_TRUE(result || result.error().code == ErrorCode::unauthorized);
        const JwtCounters after = verifier->counters();
        for (std::size_t i = 1; i < kRefusalCount; ++i) {
            if (after.refused[i] != before.refused[i]) {
                return static_cast<Refusal>(i);
            }
        }
        EXPECT_EQ(after.accepted, before.accepted + 1);
        return Refusal::none;
    }
    [[nodiscard]] Refusal why(const std::string& json) const { return refusal(hs256_token(json)); }

    VirtualClock clock;
    std::unique_ptr<JwtVerifier> verifier;
};

TEST_F(JwtClaims, AGoodTokenGivesUserTimesAndAllRights) {
    const auto claims =
        verify(fmt::format(R"({{"sub":"alice","exp":{},"iat":{}.25}})", now() + 60, now() - 5));

    ASSERT_TRUE(claims);
    EXPECT_EQ(claims->user, UserId("alice"));
    EXPECT_EQ(claims->expires_at, WallTime::from_ms((now() + 60) * 1000));
    EXPECT_EQ(claims->issued_at, WallTime::from_ms((now() - 5) * 1000 + 250));
    EXPECT_EQ(claims->rights, TokenRights{});
}

TEST_F(JwtClaims, FO_062_ClocksMayDifferByTheLeewayAndNoMore) {
    EXPECT_TRUE(accepts(bare(fmt::format(R"("exp":{})", now() - 1))));
    EXPECT_TRUE(accepts(bare(fmt::format(R"("exp":{})", now() - 30))));
    EXPECT_EQ(why(bare(fmt::format(R"("exp":{})", now() - 31))), Refusal::expired);
    EXPECT_EQ(why(bare(fmt::format(R"("exp":{})", now() - 600))), Refusal::expired);
    for (const char* claim : {"nbf", "iat"}) {
        EXPECT_TRUE(accepts(payload(fmt::format(R"("{}":{})", claim, now() + 1))));
        EXPECT_TRUE(accepts(payload(fmt::format(R"("{}":{})", claim, now() + 30))));
        EXPECT_EQ(why(payload(fmt::format(R"("{}":{})", claim, now() + 31))), Refusal::not_yet);
        EXPECT_EQ(why(payload(fmt::format(R"("{}":{})", claim, now() + 600))), Refusal::not_yet);
    }
}

TEST_F(JwtClaims, TheLeewayIsWhatIsConfigured) {
    use(AuthConfig{.secrets = {"secret"}, .leeway = Millis{5'000}});

    EXPECT_EQ(verifier->leeway(), Millis{5'000});
    EXPECT_TRUE(accepts(bare(fmt::format(R"("exp":{})", now() - 5))));
    EXPECT_FALSE(accepts(bare(fmt::format(R"("exp":{})", now() - 6))));
}

TEST_F(JwtClaims, FO_062_OddExpiriesAreRefused) {
    EXPECT_EQ(why(bare("")), Refusal::expiry_missing);
    for (const char* odd : {R"("1900000000")", "1e20", "-1", "-1.5", "null", "true", "{}",
                            "[1900000000]", "18446744073709551615", "253402300800"}) {
        EXPECT_EQ(why(bare(std::string(R"("exp":)") + odd)), Refusal::claim_type) << odd;
    }
    EXPECT_EQ(why(bare("\"exp\":1e999")), Refusal::malformed);
    EXPECT_EQ(why(bare(fmt::format(R"("exp":{},"nbf":{})", now() + 10, now() + 11))),
              Refusal::expired);
    EXPECT_EQ(why(bare(R"("exp":0)")), Refusal::expired);
}

TEST_F(JwtClaims, AFractionOfAnExpiryIsCut) {
    const auto claims = verify(bare(R"("exp":1900000000.9)"));

    ASSERT_TRUE(claims);
    EXPECT_EQ(claims->expires_at, WallTime::from_ms(1'900'000'000'000));
    EXPECT_EQ(why(bare(fmt::format(R"("exp":{}.9)", now() - 31))), Refusal::expired);
}

TEST_F(JwtClaims, ATokenWithoutExpiryCountsWhereConfigured) {
    use(AuthConfig{.secrets = {"secret"}, .require_expiry = false});

    const auto claims = verify(bare(""));

    ASSERT_TRUE(claims);
    EXPECT_FALSE(claims->expires_at);
    EXPECT_EQ(why(bare(fmt::format(R"("exp":{})", now() - 31))), Refusal::expired);
}

TEST_F(JwtClaims, TheSubjectHasToBeAUserId) {
    const auto with_subject = [this](const std::string& subject) {
        return fmt::format(R"({{"sub":{},"exp":{}}})", subject, now() + 60);
    };
    EXPECT_EQ(why(with_subject("42")), Refusal::claim_type);
    EXPECT_EQ(why(with_subject("null")), Refusal::claim_type);
    EXPECT_EQ(why(with_subject(R"([ "alice" ])")), Refusal::claim_type);
    EXPECT_EQ(why(fmt::format(R"({{"exp":{}}})", now() + 60)), Refusal::subject);
    EXPECT_EQ(why(with_subject(R"("")")), Refusal::subject);
    EXPECT_EQ(why(with_subject(R"(" ")")), Refusal::subject);
    EXPECT_EQ(why(with_subject(R"("a\u0000b")")), Refusal::subject);
    EXPECT_EQ(why(with_subject(R"("a\u202Eb")")), Refusal::subject);
    EXPECT_EQ(why(with_subject("\"" + std::string(129, 'a') + "\"")), Refusal::subject);
    EXPECT_EQ(why(with_subject("\"" + std::string(128, 'a') + "\"")), Refusal::none);
    EXPECT_EQ(why(with_subject(R"("a\"b\\")")), Refusal::none);
}

TEST_F(JwtClaims, AKnownClaimGivenTwiceIsRefused) {
    EXPECT_EQ(why(payload(R"("sub":"bob")")), Refusal::claim_type);
    EXPECT_EQ(why(payload(R"("exp":9999999999)")), Refusal::claim_type);
    EXPECT_EQ(why(payload(R"("other":1,"other":2)")), Refusal::none);
}

TEST_F(JwtClaims, RightsAreNarrowedByTheClaim) {
    const auto claims = verify(
        payload(R"("presence":{"rooms":["doc-*","lobby"],"watch":false,"privacy":false,"new":1})"));

    ASSERT_TRUE(claims);
    ASSERT_TRUE(claims->rights.rooms);
    EXPECT_THAT(*claims->rights.rooms, ElementsAre("doc-*", "lobby"));
    EXPECT_FALSE(claims->rights.watch);
    EXPECT_TRUE(claims->rights.status);
    EXPECT_FALSE(claims->rights.privacy);
}

TEST_F(JwtClaims, ARightWrittenWronglyRefusesTheToken) {
    for (const char* wrong : {"1", "null", "[]", R"({"watch":0})", R"({"watch":"false"})",
                              R"({"status":null})", R"({"rooms":"doc-*"})", R"({"rooms":[1]})",
                              R"({"rooms":[""]})", R"({"rooms":[],"rooms":["*"]})"}) {
        EXPECT_EQ(why(payload(std::string(R"("presence":)") + wrong)), Refusal::claim_type)
            << wrong;
    }
    const auto twice = verify(payload(R"("presence":{"watch":false,"watch":true})"));
    ASSERT_TRUE(twice);
    EXPECT_FALSE(twice->rights.watch);
}

TEST_F(JwtClaims, RoomPatternsAreLimited) {
    const auto with_patterns = [this](std::size_t count, std::size_t bytes) {
        std::string list;
        for (std::size_t i = 0; i < count; ++i) {
            list += (i == 0 ? "\"" : ",\"") + std::string(bytes, 'a') + "\"";
        }
        return why(payload(R"("presence":{"rooms":[)" + list + "]}"));
    };
    EXPECT_EQ(with_patterns(100, 80), Refusal::none);
    EXPECT_EQ(with_patterns(101, 80), Refusal::claim_type);
    EXPECT_EQ(with_patterns(1, 128), Refusal::none);
    EXPECT_EQ(with_patterns(1, 129), Refusal::claim_type);
}

TEST_F(JwtClaims, IssuerAndAudienceCountWhereConfigured) {
    EXPECT_EQ(why(payload(R"("iss":"anyone","aud":["x"])")), Refusal::none);
    use(AuthConfig{.secrets = {"secret"}, .issuer = "https://id", .audiences = {"chat", "mail"}});

    EXPECT_EQ(why(payload(R"("iss":"https://id","aud":"mail")")), Refusal::none);
    EXPECT_EQ(why(payload(R"("iss":"https://id","aud":["x","chat"])")), Refusal::none);
    EXPECT_EQ(why(payload(R"("iss":"https://other","aud":"chat")")), Refusal::issuer);
    EXPECT_EQ(why(payload(R"("aud":"chat")")), Refusal::issuer);
    EXPECT_EQ(why(payload(R"("iss":"https://id","aud":"chat2")")), Refusal::audience);
    EXPECT_EQ(why(payload(R"("iss":"https://id","aud":[])")), Refusal::audience);
    EXPECT_EQ(why(payload(R"("iss":"https://id")")), Refusal::audience);
    EXPECT_EQ(why(payload(R"("iss":"https://id","aud":["chat",1])")), Refusal::claim_type);
    EXPECT_EQ(why(payload(R"("iss":1)")), Refusal::claim_type);
}

TEST_F(JwtClaims, FO_065_DeepJsonInClaimsAndHeaderIsRefused) {
    for (const std::size_t depth : {100U, 1'200U, 2'900U}) {
        const std::string open(depth, '[');
        const std::string close(depth, ']');
        EXPECT_EQ(why(payload("\"x\":" + open + close)), Refusal::malformed) << depth;
        EXPECT_EQ(why(payload("\"x\":" + open)), Refusal::malformed) << depth;
        EXPECT_EQ(refusal(hs256_token(payload(), "secret",
                                      R"({"alg":"HS256","x":)" + open + close + "}")),
                  Refusal::malformed)
            << depth;
    }
    std::string objects;
    for (int i = 0; i < 1'500; ++i) {
        objects += R"({"a":)";
    }
    EXPECT_EQ(why(objects), Refusal::malformed);
    EXPECT_EQ(why(payload("\"x\":" + std::string(60'000, '['))), Refusal::malformed);
    const std::string deepest(29, '[');
    EXPECT_EQ(why(payload("\"x\":" + deepest + std::string(29, ']'))), Refusal::none);
}

TEST_F(JwtClaims, WhatIsNoTokenIsRefused) {
    const std::string good = hs256_token(payload());
    EXPECT_EQ(refusal(good), Refusal::none);
    for (const std::string& wrong :
         {std::string(), std::string("."), std::string(".."), std::string("a.b"), good + ".",
          good + "=", " " + good, good.substr(1), good + "\n", "Bearer " + good, hs256_token("[]"),
          hs256_token("null"), hs256_token(""), hs256_token("{"),
          hs256_token(payload(), "secret", "[]"), hs256_token(payload(), "secret", "")}) {
        EXPECT_EQ(refusal(wrong), Refusal::malformed) << wrong;
    }
    EXPECT_EQ(why(R"({"sub":"\ud83d","exp":9999999999})"), Refusal::malformed);
    EXPECT_EQ(why("{\"sub\":\"\xff\",\"exp\":9999999999}"), Refusal::malformed);
}

TEST_F(JwtClaims, ATokenOfOver16KiBIsRefused) {
    const auto of_length = [this](std::size_t filler) {
        return hs256_token(payload("\"x\":\"" + std::string(filler, 'a') + "\""));
    };
    EXPECT_EQ(refusal(of_length(12'000)), Refusal::none);
    const std::string longer = of_length(12'300);
    ASSERT_GT(longer.size(), 16U * 1024U);
    EXPECT_EQ(refusal(longer), Refusal::malformed);
}

TEST_F(JwtClaims, OneVerificationTakesMicroseconds) {
    const std::string token = hs256_token(payload(R"("iat":1,"presence":{"watch":true})"));
    constexpr int kRounds = 20'000;

    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) {
        ASSERT_TRUE(verifier->verify(token));
    }
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - begin;

    RecordProperty("microseconds", fmt::format("{:.2f}", spent.count() / kRounds));
    std::puts(fmt::format("{:.2f} us a token", spent.count() / kRounds).c_str());
    EXPECT_LT(spent.count() / kRounds, 500);  // Sanitizers and busy machines; about 4 alone.
}

}  // namespace
}  // namespace presence::auth
