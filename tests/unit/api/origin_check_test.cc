#include "presence/api/origin_check.h"

#include <gtest/gtest.h>

#include <string>

namespace presence::api {
namespace {

TEST(OriginCheck, Fo098TakesTheExactOriginAndNothingLikeIt) {
    const OriginCheck check(
        {"https://app.example.com", "http://[::1]:8080", "https://xn--bcher-kva.example"});
    EXPECT_TRUE(check.allows("https://app.example.com"));
    EXPECT_TRUE(check.allows("HTTPS://App.Example.COM"));
    EXPECT_TRUE(check.allows("http://[::1]:8080"));
    EXPECT_TRUE(check.allows("https://xn--bcher-kva.example"));
    for (const char* origin :
         {"", "null", "http://app.example.com", "https://app.example.com:8443",
          "https://app.example.com:443", "https://evilapp.example.com",
          "https://app.example.com.evil.io", "https://app.example.com@evil.io",
          "https://app.example.com.", "https://app.example.com/", "https://example.com",
          "https://app.example.com https://evil.io", "app.example.com", "//app.example.com",
          "http://[::1]", "http://[::1]:80",
          "https://b\xC3\xBC"
          "cher.example",
          "https://app.example.com%00.evil.io", "*"}) {
        EXPECT_FALSE(check.allows(origin)) << origin;
    }
    EXPECT_FALSE(check.allows("https://app.example.com" + std::string(8 * 1024, 'x')));
    EXPECT_FALSE(check.allows(std::string("https://app.example.com\0.evil.io", 32)));
}

TEST(OriginCheck, AnEmptyListAllowsNobody) {
    const OriginCheck check({});
    EXPECT_FALSE(check.allows("https://app.example.com"));
    EXPECT_FALSE(check.allows(""));
    EXPECT_FALSE(check.any());
}

TEST(OriginCheck, AStarAllowsAll) {
    const OriginCheck check({"*"});
    EXPECT_TRUE(check.any());
    EXPECT_TRUE(check.allows("https://anything.example"));
}

}  // namespace
}  // namespace presence::api
