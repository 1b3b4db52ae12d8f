#include "presence/auth/api_keys.h"

#include "presence/auth/base64url.h"

#include <gtest/gtest.h>

namespace presence::auth {
namespace {

TEST(ApiKeys, EachOfSeveralCountsInTheClearOrAsAHash) {
    const auto keys =
        ApiKeys::make({"first", "second",
                       "sha256:2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824"});
    ASSERT_TRUE(keys);

    EXPECT_TRUE(keys->matches("first"));
    EXPECT_TRUE(keys->matches("second"));
    EXPECT_TRUE(keys->matches("hello"));
    EXPECT_FALSE(keys->matches("third"));
    EXPECT_FALSE(keys->matches("firs"));
    EXPECT_FALSE(keys->matches("first "));
    EXPECT_FALSE(keys->matches(""));
    EXPECT_FALSE(
        keys->matches("sha256:2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824"));
}

TEST(ApiKeys, WithoutKeysNobodyIsABackEnd) {
    EXPECT_FALSE(ApiKeys().matches(""));
    EXPECT_FALSE(ApiKeys().matches("x"));
    EXPECT_FALSE(ApiKeys::make({})->matches(""));
}

TEST(ApiKeys, WhatIsNoKeyIsRefused) {
    EXPECT_FALSE(ApiKeys::make({""}));
    EXPECT_FALSE(ApiKeys::make({"sha256:"}));
    EXPECT_FALSE(ApiKeys::make({"sha256:abcd"}));
    EXPECT_FALSE(ApiKeys::make({"sha256:" + std::string(64, 'g')}));
}

TEST(Base64Url, EachValueHasOneSpelling) {
    const auto decode = [](std::string_view text) {
        std::string bytes = "+";
        return decode_base64url(text, bytes) ? bytes : "refused, kept " + bytes;
    };
    for (const std::string_view bytes :
         {"", "a", "ab", "abc", "abcd", "\xff\xfe\xfd", "\xfb\xff"}) {
        EXPECT_EQ(decode(encode_base64url(bytes)), "+" + std::string(bytes));
    }
    EXPECT_EQ(encode_base64url("\xfb\xff"), "-_8");
    for (const char* wrong : {"a", "YQ=", "YQ==", "YR", "+/8", "YW Jj", "YWJj\n", "YWJjZ"}) {
        EXPECT_EQ(decode(wrong), "refused, kept +") << wrong;
    }
}

}  // namespace
}  // namespace presence::auth
