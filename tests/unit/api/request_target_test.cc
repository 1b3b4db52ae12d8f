#include "presence/api/request_target.h"

#include <gtest/gtest.h>

namespace presence::api {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(SplitPath, CutsAtEachRawSlashAndNormalisesNothing) {
    EXPECT_EQ(split_path("/v1/users"), (Pieces{"v1", "users"}));
    EXPECT_EQ(split_path("/"), (Pieces{""}));
    EXPECT_EQ(split_path("/a/"), (Pieces{"a", ""}));
    EXPECT_EQ(split_path("//a"), (Pieces{"", "a"}));
    EXPECT_EQ(split_path("/a/../b/."), (Pieces{"a", "..", "b", "."}));
    EXPECT_EQ(split_path("/a%2Fb"), (Pieces{"a%2Fb"}));
    EXPECT_EQ(split_path(""), Pieces{});
    EXPECT_EQ(split_path("*"), Pieces{});
    EXPECT_EQ(split_path("http://host/v1"), Pieces{});
}

TEST(DecodeSegment, DecodesOnce) {
    EXPECT_EQ(decode_segment("a%2Fb"), "a/b");
    EXPECT_EQ(decode_segment("%2E%2e"), "..");
    EXPECT_EQ(decode_segment("a%252Fb"), "a%2Fb");
    EXPECT_EQ(decode_segment("a+b"), "a+b");
    EXPECT_EQ(decode_segment("%00"), std::string(1, '\0'));
    EXPECT_EQ(decode_segment("%c3%BC"), "\xC3\xBC");
    EXPECT_EQ(decode_segment(""), "");
}

TEST(DecodeSegment, RefusesBrokenEscapes) {
    for (const char* text : {"%", "a%", "%2", "%zz", "%2g", "%%20", "% 1", "%-1"}) {
        EXPECT_EQ(decode_segment(text), std::nullopt) << text;
    }
}

TEST(QueryValue, FindsOneParameterAmongOthers) {
    EXPECT_EQ(query_value("a=1&viewer=b%26c&d", "viewer").value(), "b&c");
    EXPECT_EQ(query_value("viewer=a+b%2B", "viewer").value(), "a b+");
    EXPECT_EQ(query_value("viewer", "viewer").value(), "");
    EXPECT_EQ(query_value("viewer=a=b", "viewer").value(), "a=b");
    EXPECT_EQ(query_value("%76iewer=x", "viewer").value(), "x");
    EXPECT_EQ(query_value("viewers=x&&=&view=y", "viewer").value(), std::nullopt);
    EXPECT_EQ(query_value("", "viewer").value(), std::nullopt);
    EXPECT_EQ(query_value("other=%zz&viewer=a", "viewer").value(), "a");
}

TEST(QueryValue, RefusesDoublesAndBrokenEscapes) {
    for (const char* query : {"viewer=a&viewer=a", "viewer=%", "viewer=%zz", "viewer=a&viewer=%"}) {
        const auto value = query_value(query, "viewer");
        ASSERT_FALSE(value.has_value()) << query;
        EXPECT_EQ(value.error().code, ErrorCode::bad_request);
    }
}

TEST(HasParameter, SeesThroughEscapes) {
    EXPECT_TRUE(has_parameter("token=x", "token"));
    EXPECT_TRUE(has_parameter("a=1&token", "token"));
    EXPECT_TRUE(has_parameter("tok%65n=x", "token"));
    EXPECT_FALSE(has_parameter("tokens=x&a=token", "token"));
    EXPECT_FALSE(has_parameter("", "token"));
}

TEST(QueryUsers, AreSplitAtRawCommasAndDecodedAfterwards) {
    const auto users = query_users("x=1&users=a,b%2Cc,d+e,%2e,a", "users", 5);
    ASSERT_TRUE(users.has_value());
    std::vector<std::string> names;
    for (const UserId& user : *users) {
        names.emplace_back(user.text);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b,c", "d e", "."}));
}

TEST(QueryUsers, AreRefusedByNameAndPlace) {
    EXPECT_EQ(query_users("", "users", 5).error().message, "users is needed");
    EXPECT_EQ(query_users("users=a&users=b", "users", 5).error().message, "users is given twice");
    EXPECT_TRUE(query_users("users=a,,b", "users", 5).error().message.starts_with("users[1] "));
    EXPECT_TRUE(query_users("users=a,%zz", "users", 5).error().message.starts_with("users[1] "));
    const auto over = query_users("users=a,b,c", "users", 2);
    EXPECT_EQ(over.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(over.error().limit, 2);
}

TEST(QueryInteger, KeepsToItsBounds) {
    EXPECT_EQ(query_integer("n=0", "n", 0, 9).value(), 0);
    EXPECT_EQ(query_integer("n=9", "n", 0, 9).value(), 9);
    EXPECT_EQ(query_integer("m=9", "n", 0, 9).value(), std::nullopt);
    for (const char* bad : {"n=", "n=10", "n=-1", "n=1.0", "n=+1", "n=%20", "n=0x1", "n=1&n=1",
                            "n=99999999999999999999"}) {
        EXPECT_FALSE(query_integer(bad, "n", 0, 9).has_value()) << bad;
    }
}

}  // namespace
}  // namespace presence::api
