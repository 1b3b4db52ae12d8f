#include "presence/base/ids.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace presence {
namespace {

std::string said_of(std::string_view text) {
    const char* wrong = check_id(text);
    return wrong == nullptr ? "" : wrong;
}

TEST(Ids, OneTo128BytesAreAccepted) {
    EXPECT_EQ(said_of("a"), "");
    EXPECT_EQ(said_of(std::string(128, 'x')), "");
}

TEST(Ids, NoneAnd129BytesAreRefused) {
    EXPECT_EQ(said_of(""), "is empty, least is 1 byte");
    EXPECT_EQ(said_of(std::string(129, 'x')), "is longer than 128 bytes");
}

TEST(Ids, TheBoundCountsBytesAndNotCodePoints) {
    std::string umlauts;
    for (int i = 0; i < 64; ++i) {
        umlauts += "\u00FC";
    }
    EXPECT_EQ(said_of(umlauts), "");
    EXPECT_EQ(said_of(umlauts + "x"), "is longer than 128 bytes");
}

TEST(Ids, BytesThatAreNotUtf8AreRefused) {
    EXPECT_EQ(said_of("a\xFF"), "is not valid UTF-8");
    EXPECT_EQ(said_of("\xC0\xAF"), "is not valid UTF-8");
    EXPECT_EQ(said_of("\xED\xA0\x80"), "is not valid UTF-8");
    EXPECT_EQ(said_of("a\xE2\x82"), "is not valid UTF-8");
}

TEST(Ids, ControlCharactersAreRefused) {
    using namespace std::string_view_literals;
    EXPECT_EQ(said_of("a\0b"sv), "holds a control character");
    EXPECT_EQ(said_of("a\nb"), "holds a control character");
    EXPECT_EQ(said_of("\x1F"), "holds a control character");
    EXPECT_EQ(said_of("\x7F"), "holds a control character");
    EXPECT_EQ(said_of("\xC2\x80"), "holds a control character");
    EXPECT_EQ(said_of("\xC2\x9F"), "holds a control character");
}

TEST(Ids, DirectionControlsAreRefused) {
    for (const char* control : {"\u200E", "\u200F", "\u202A", "\u202E", "\u2066", "\u2069"}) {
        EXPECT_EQ(said_of(std::string("user") + control), "holds a direction control") << control;
    }
}

TEST(Ids, NeighboursOfDirectionControlsAreAccepted) {
    for (const char* neighbour : {"\u2010", "\u2065", "\u206A"}) {
        EXPECT_EQ(said_of(std::string("user") + neighbour), "") << neighbour;
    }
}

TEST(Ids, BlankOnesAreRefused) {
    for (const char* blank : {" ", "   ", "\u00A0", "\u200B", "\u3000", "\uFEFF \u200D"}) {
        EXPECT_EQ(said_of(blank), "is blank");
    }
}

TEST(Ids, OnesOfNothingButInvisibleCharactersAreRefused) {
    for (const char* blank :
         {"\u061C", "\u115F", "\u1160", "\u2061", "\u2064", "\u206A", "\u206F", "\u3164", "\uFE00",
          "\uFE0F", "\uFFA0", "\U000E0000", "\U000E0041", "\U000E0FFF", "\u3164\u2061 \uFE0F"}) {
        EXPECT_EQ(said_of(blank), "is blank") << blank;
        EXPECT_EQ(said_of("a" + std::string(blank)), "") << blank;
    }
    for (const char* shown : {"\u115E", "\u1161", "\u3163", "\u3165", "\uFFA1", "\u2070"}) {
        EXPECT_EQ(said_of(shown), "") << shown;
    }
}

/// FO-071: lookalikes are different people; what shows nothing is nobody.
TEST(Ids, Fo071LookalikesAreDistinctAndOnlyWhatShowsNothingIsRefused) {
    const std::unordered_set<UserId, IdHash, IdEqual> people{
        UserId("user"),        UserId("us\u0435r"),    UserId("User"), UserId("user "),
        UserId("j\u00FCrgen"), UserId("ju\u0308rgen"), UserId("k"),    UserId("\u212A"),
        UserId("\uFF55ser"),   UserId("us\u200Der")};
    EXPECT_EQ(people.size(), 10U);
    for (const UserId& person : people) {
        EXPECT_EQ(said_of(person.text), "") << person.text.view();
    }
}

TEST(Ids, Fo073NumbersAsTextKeepEveryDigit) {
    EXPECT_NE(UserId("007"), UserId("7"));
    EXPECT_NE(UserId("9007199254740993"), UserId("9007199254740992"));
}

TEST(Ids, AreFoundByPlainText) {
    const std::unordered_set<UserId, IdHash, IdEqual> people{UserId("ada")};
    EXPECT_TRUE(people.contains(std::string_view("ada")));
    EXPECT_FALSE(people.contains(std::string_view("bob")));
}

TEST(Ids, EpochsAndVersionsAreOrdered) {
    EXPECT_LT(Epoch{1}, Epoch{2});
    EXPECT_LT(Version{1}, Version{2});
    EXPECT_EQ(Version{}, Version{0});
}

}  // namespace
}  // namespace presence
