#include "presence/rules/rooms.h"

#include <gtest/gtest.h>

namespace presence::testing {

TEST(RoomRules, AStarStandsForAnyTextAndAllElseForItself) {
    EXPECT_TRUE(rules::matches_room("doc-*", "doc-7"));
    EXPECT_TRUE(rules::matches_room("doc-*", "doc-"));
    EXPECT_FALSE(rules::matches_room("doc-*", "doc"));
    EXPECT_FALSE(rules::matches_room("doc-*", "my doc-7"));
    EXPECT_TRUE(rules::matches_room("*", "anything"));
    EXPECT_TRUE(rules::matches_room("*-*-end", "a-b-c-end"));
    EXPECT_FALSE(rules::matches_room("*-end", "a-endless"));
    EXPECT_TRUE(rules::matches_room("a*b*c", "abcbc"));
    EXPECT_FALSE(rules::matches_room("a*b*c", "abcb"));
    EXPECT_TRUE(rules::matches_room("hall", "hall"));
    EXPECT_FALSE(rules::matches_room("hall", "Hall"));
    EXPECT_FALSE(rules::matches_room("", "hall"));
    EXPECT_FALSE(rules::matches_room("h?ll", "hall"));
    EXPECT_FALSE(rules::matches_room("h.ll", "hall"));
    EXPECT_TRUE(rules::matches_room("**", ""));
}

TEST(RoomRules, ManyStarsTakeNoLongTime) {
    const std::string pattern(128, '*');
    EXPECT_FALSE(rules::matches_room(pattern + "b", std::string(128, 'a')));
    std::string stars;
    for (int i = 0; i < 64; ++i) {
        stars += "a*";
    }
    EXPECT_FALSE(rules::matches_room(stars + "b", std::string(128, 'a')));
}

TEST(RoomRules, WithoutPatternsAllRoomsMayBeEnteredAndWithNoneOfThemNone) {
    const RoomId hall("hall");
    EXPECT_TRUE(rules::may_enter(std::nullopt, hall));
    EXPECT_FALSE(rules::may_enter(std::vector<std::string>{}, hall));
    EXPECT_TRUE(rules::may_enter(std::vector<std::string>{"doc-*", "ha*"}, hall));
    EXPECT_FALSE(rules::may_enter(std::vector<std::string>{"doc-*"}, hall));
}

TEST(RoomRules, ListsGiveWayBeyondFiveHundredAndReturnAtFourHundredAndFifty) {
    EXPECT_FALSE(rules::is_large(false, 500, 500));
    EXPECT_TRUE(rules::is_large(false, 501, 500));
    EXPECT_TRUE(rules::is_large(true, 451, 500));
    EXPECT_FALSE(rules::is_large(true, 450, 500));
    EXPECT_FALSE(rules::is_large(false, 451, 500));
    EXPECT_TRUE(rules::is_large(false, 4, 3));
    EXPECT_TRUE(rules::is_large(true, 3, 3));
    EXPECT_FALSE(rules::is_large(true, 2, 3));
}

TEST(RoomRules, OpenToAllIsWhatTheOwnRuleSaysAndElseTheDefault) {
    rules::PrivacyDefaults defaults;
    Profile profile;
    EXPECT_TRUE(rules::is_open_to_all(nullptr, defaults));
    EXPECT_TRUE(rules::is_open_to_all(&profile, defaults));
    profile.blocks = UserSet({UserId("somebody")});
    EXPECT_TRUE(rules::is_open_to_all(&profile, defaults));
    profile.privacy.online = PrivacyRule{Audience::contacts, {}};
    EXPECT_FALSE(rules::is_open_to_all(&profile, defaults));
    defaults.online = PrivacyRule{Audience::contacts, {}};
    EXPECT_FALSE(rules::is_open_to_all(nullptr, defaults));
    profile.privacy.online = PrivacyRule{Audience::everyone, {}};
    EXPECT_TRUE(rules::is_open_to_all(&profile, defaults));
}

}  // namespace presence::testing
