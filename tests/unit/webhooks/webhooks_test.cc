// Signatures, addresses, waits and URLs of webhooks.

#include "presence/webhooks/address_filter.h"
#include "presence/webhooks/sender.h"
#include "presence/webhooks/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence::webhooks {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kOther = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

TEST(WebhookSignature, IsThatOfTheStandardsOwnExample) {
    const std::vector secrets{*parse_secret(kSecret)};
    EXPECT_EQ(sign(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", WallTime::from_ms(1'614'265'330'999),
                   R"({"test": 2432232314})"),
              "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, DuringARotationThereIsOneByEachSecret) {
    const std::vector both{*parse_secret(kSecret), *parse_secret(kOther)};
    const std::vector first{both[0]};
    const std::vector second{both[1]};
    const WallTime at = WallTime::from_ms(5'000);
    EXPECT_EQ(sign(both, "id", at, "x"),
              sign(first, "id", at, "x") + " " + sign(second, "id", at, "x"));
}

TEST(WebhookSignature, SecretsAreReadWithAndWithoutPaddingAndRefusedWithoutBeingRepeated) {
    EXPECT_EQ(parse_secret(kOther)->key.size(), 32U);
    EXPECT_EQ(parse_secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")->key,
              parse_secret(kOther)->key);
    for (const char* bad : {"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_MfKQ9r8GKYqr",
                            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!w", "whsec_===="}) {
        const Result<Secret> refused = parse_secret(bad);
        ASSERT_FALSE(refused) << bad;
        EXPECT_THAT(refused.error().message, Not(HasSubstr("MfKQ9r8GKYqr")));
    }
    EXPECT_FALSE(parse_secret("whsec_" + std::string(120, 'A')));
}

TEST(WebhookAddresses, OnlyThoseOfTheOpenInternetAreCalled) {
    for (const char* open :
         {"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1",
          "169.253.1.1", "192.167.1.1", "198.17.255.255", "223.255.255.255", "2606:4700:4700::1111",
          "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"}) {
        EXPECT_TRUE(is_public_address(open)) << open;
    }
    for (const char* closed : {"0.0.0.0",
                               "10.0.0.1",
                               "100.64.0.1",
                               "127.0.0.1",
                               "127.255.255.254",
                               "169.254.169.254",
                               "172.16.0.1",
                               "172.31.255.255",
                               "192.0.0.1",
                               "192.0.2.1",
                               "192.168.1.1",
                               "198.18.0.1",
                               "198.51.100.7",
                               "203.0.113.9",
                               "224.0.0.1",
                               "239.1.1.1",
                               "255.255.255.255",
                               "::",
                               "::1",
                               "fe80::1",
                               "fc00::1",
                               "fd12:3456::1",
                               "ff02::1",
                               "::ffff:127.0.0.1",
                               "::ffff:10.1.2.3",
                               "::ffff:169.254.169.254",
                               "::127.0.0.1",
                               "64:ff9b::7f00:1",
                               "64:ff9b::a9fe:a9fe",
                               "64:ff9b:1::1",
                               "2001:db8::1",
                               "2001::1",
                               "2002:7f00:1::",
                               "100::1",
                               "3fff::1",
                               "localhost",
                               "",
                               "1.2.3"}) {
        EXPECT_FALSE(is_public_address(closed)) << closed;
    }
}

TEST(WebhookWaits, GrowToHalfAnHourAndAreLeftToChanceEntirely) {
    SeededRandom random(7);
    for (int attempt = 1; attempt < 60; ++attempt) {
        Millis least{1'000'000'000};
        Millis most{0};
        for (int i = 0; i < 400; ++i) {
            const Millis wait = wait_after(random, attempt);
            least = std::min(least, wait);
            most = std::max(most, wait);
        }
        const Millis span = std::min<Millis>(1800s, Millis{1'000LL << std::min(attempt - 1, 30)});
        EXPECT_LE(most, span) << attempt;
        EXPECT_GE(most, span * 9 / 10) << attempt;
        EXPECT_LE(least, span / 10) << attempt;
    }
}

TEST(WebhookUrls, PlainHttpNeedsAnAllowance) {
    WebhookConfig config;
    const auto check = [&](const char* url) {
        config.urls = {url};
        return check_urls(config).has_value();
    };
    EXPECT_TRUE(check("https://hooks.example/path?a=b"));
    EXPECT_TRUE(check("https://[2606:4700::1]:8443/"));
    for (const char* bad : {"http://hooks.example/", "ftp://hooks.example/", "hooks.example",
                            "https://", "https:///x", "https://u:secret@hooks.example/",
                            "https://a b/", "file:///etc/passwd", ""}) {
        EXPECT_FALSE(check(bad)) << bad;
    }
    config.urls = {"https://u:secret@hooks.example/"};
    EXPECT_THAT(check_urls(config).error().message, Not(HasSubstr("secret")));
    config.http_hosts = {"inside.example"};
    EXPECT_TRUE(check("http://inside.example:8080/hook"));
    EXPECT_FALSE(check("http://inside.example.evil/hook"));
    EXPECT_FALSE(check("http://evil/inside.example"));
    config.allow_private = true;
    EXPECT_TRUE(check("http://127.0.0.1:9/x"));
}

}  // namespace
}  // namespace presence::webhooks
