// Rooms whose members are on several nodes, and what is lost between these.

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

namespace presence::testing {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// For news to come, and for viewers to be open to more.
constexpr Millis kQuiet{2'000};

/// Where it does not matter in how many pieces something was told.
std::string in_one(const std::vector<std::string>& lines) {
    std::string all;
    for (const std::string& line : lines) {
        all += line + "\n";
    }
    return all;
}

TEST(RoomsOverNodes, WhoComesBackToARoomThatItsNodeHadGivenUpIsSeenAgain) {
    Cluster cluster(2);
    const auto xena = cluster.connect(cluster.node(0), "xena");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(bob, "hall");
    for (int i = 0; i < 3; ++i) {
        cluster.join(xena, "hall", {.hears = false});
        cluster.run(kQuiet);
        EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 2; joined xena online,"));
        cluster.leave(xena, "hall");
        cluster.run(kQuiet);
        EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 1; left xena,"));
        EXPECT_EQ(cluster.node(0).shard.rooms.keeper().room_count(), 0U);
    }
    EXPECT_EQ(cluster.node(1).shard.counters.room_gaps, 0U);
}

TEST(RoomsOverNodes, WhoIsShownOfflineInAnOutageIsInNoListAndComesBackToIt) {
    CoreConfig config;
    config.degraded_show = DegradedShow::offline;
    Cluster cluster(2, config);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto eve = cluster.connect(cluster.node(0), "eve");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(ann, "hall");
    cluster.join(bob, "hall");
    cluster.run(kQuiet);
    cluster.told_rooms(ann);
    cluster.set_store(false);
    cluster.run(15s);
    EXPECT_THAT(cluster.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    EXPECT_EQ(cluster.join(eve, "hall").line(), "room hall 2; members ann online, eve online,");
    cluster.run(kQuiet);
    cluster.told_rooms(ann);
    cluster.set_store(true);
    cluster.run(15s);
    EXPECT_THAT(cluster.told_rooms(ann), ElementsAre("update hall 3; joined bob online,"));
}

TEST(RoomsOverNodes, ABlockWhoseWordWasLostHidesTheMemberOnceTheGapIsClosed) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto ann = cluster.connect(cluster.node(1), "ann");
    cluster.join(bob, "hall");
    cluster.join(ann, "hall");
    cluster.run(kQuiet);
    cluster.told_rooms(ann);
    cluster.set_deaf(cluster.node(1), true);
    cluster.block(cluster.node(0), "bob", "ann");
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(ann), IsEmpty());
    cluster.close_gap(cluster.node(1));
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
}

TEST(RoomsOverNodes, AfterAGapNobodyIsToldAListByWhatWasJudgedBefore) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto ann = cluster.connect(cluster.node(1), "ann");
    const auto carl = cluster.connect(cluster.node(1), "carl");
    cluster.join(bob, "hall");
    cluster.join(carl, "hall");
    cluster.join(ann, "hall");
    cluster.run(kQuiet);
    cluster.told_rooms(ann);
    cluster.set_deaf(cluster.node(1), true);
    cluster.block(cluster.node(0), "bob", "ann");
    cluster.run(kQuiet);
    cluster.profiles.faults().set_delay(1'500ms);
    cluster.close_gap(cluster.node(1));
    cluster.join(bob, "hall", {.meta = "here"});
    cluster.leave(carl, "hall");
    cluster.run(3s);
    EXPECT_THAT(in_one(cluster.told_rooms(ann)), Not(HasSubstr("here")));
    EXPECT_EQ(cluster.join(ann, "hall").line(), "room hall 1; members ann online,");
}

TEST(RoomsOverNodes, WhoBecomesInvisibleElsewhereInAnOutageIsInNoListForLong) {
    Cluster cluster(2);
    const auto there = cluster.connect(cluster.node(0), "ann");
    const auto here = cluster.connect(cluster.node(1), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(here, "hall");
    cluster.join(bob, "hall");
    cluster.run(kQuiet);
    cluster.told_rooms(bob);
    cluster.set_store(false);
    cluster.run(12s);
    cluster.told_rooms(bob);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::invisible);
    cluster.run(2s);
    cluster.node(1).shard.rooms.look_at_all_again();  // As its gateway lets it while it is deaf.
    cluster.run(4s);
    EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 1; left ann,"));
}

TEST(RoomsOverNodes, WhatHappenedDuringACutIsToldOnceTheGapIsClosed) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto carl = cluster.connect(cluster.node(0), "carl");
    const auto dora = cluster.connect(cluster.node(2), "dora");
    const auto ann = cluster.connect(cluster.node(1), "ann");
    for (const auto& one : {bob, carl, ann}) {
        cluster.join(one, "hall");
    }
    cluster.run(kQuiet);
    cluster.told_rooms(ann);
    cluster.set_deaf(cluster.node(1), true);
    cluster.leave(carl, "hall");
    cluster.declare(cluster.node(0), "bob", DeclaredStatus::busy);
    cluster.join(dora, "hall");
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(ann), IsEmpty());
    cluster.close_gap(cluster.node(1));
    cluster.run(kQuiet);
    const std::string told = in_one(cluster.told_rooms(ann));
    EXPECT_THAT(told, HasSubstr("joined dora online,"));
    EXPECT_THAT(told, HasSubstr("changed bob busy,"));
    EXPECT_THAT(told, HasSubstr("left carl,"));
    // Others could not ask a deaf node who is there.
    EXPECT_THAT(in_one(cluster.told_rooms(dora)), HasSubstr("joined ann online,"));
}

TEST(RoomsOverNodes, ANodeThatGaveTheRoomUpDuringACutIsInItNoMore) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto ann = cluster.connect(cluster.node(1), "ann");
    cluster.join(bob, "hall", {.hears = false});
    cluster.join(ann, "hall");
    cluster.run(kQuiet);
    cluster.told_rooms(ann);
    cluster.set_deaf(cluster.node(1), true);
    cluster.leave(bob, "hall");
    cluster.run(kQuiet);
    ASSERT_EQ(cluster.node(0).shard.rooms.keeper().room_count(), 0U);
    cluster.close_gap(cluster.node(1));
    cluster.run(3 * kQuiet + kQuiet);
    EXPECT_THAT(cluster.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    EXPECT_EQ(cluster.room_facts(cluster.node(1), "hall").members, 1U);
    EXPECT_EQ(cluster.node(1).shard.counters.room_words_void, 1U);
}

TEST(RoomsOverNodes, ANodeUnderANewNameKeepsItsMembersAndNothingOfItsOldNameStays) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto carl = cluster.connect(cluster.node(0), "carl");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    for (const auto& one : {ann, carl, bob}) {
        cluster.join(one, "hall");
    }
    const NodeId before = cluster.node(0).member.self();
    cluster.run(5s);
    cluster.told_rooms(bob);
    cluster.pause(cluster.node(0));
    cluster.run(45s);
    EXPECT_EQ(cluster.room_facts(cluster.node(1), "hall").members, 1U);
    cluster.go_on(cluster.node(0));
    cluster.run(45s);
    ASSERT_NE(cluster.node(0).member.self(), before);
    EXPECT_EQ(cluster.room_facts(cluster.node(0), "hall").members, 2U);  // Each says its own.
    EXPECT_EQ(cluster.room_facts(cluster.node(1), "hall").members, 1U);
    EXPECT_THAT(in_one(cluster.told_rooms(bob)), HasSubstr("joined ann online,"));
    EXPECT_EQ(cluster.join(bob, "hall").line(),
              "room hall 3; members ann online, bob online, carl online,");
    EXPECT_EQ(cluster.join(carl, "hall").line(),
              "room hall 3; members ann online, bob online, carl online,");
    cluster.run(kQuiet);
    cluster.told_rooms(carl);
    cluster.leave(ann, "hall");
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 2; left ann,"));
    EXPECT_THAT(cluster.told_rooms(carl), ElementsAre("update hall 2; left ann,"));
}

TEST(RoomsOverNodes, AJoinWhileTheStoreIsAwayGivesOthersAsUnknownAndNoneOfThemAsHidden) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto ivy = cluster.connect(cluster.node(0), "ivy");
    const auto carl = cluster.connect(cluster.node(0), "carl");
    const auto ann = cluster.connect(cluster.node(1), "ann");
    const auto dora = cluster.connect(cluster.node(1), "dora");
    cluster.declare(cluster.node(0), "ivy", DeclaredStatus::invisible);
    for (const auto& one : {bob, ivy, ann}) {
        cluster.join(one, "hall", {.hears = false});  // Node 1 follows none of them.
    }
    cluster.run(kQuiet);
    cluster.set_store(false);
    cluster.run(kQuiet);
    EXPECT_EQ(cluster.join(dora, "hall").line(),
              "room hall 3; members ann online, bob unknown, dora online,");
    cluster.join(carl, "hall", {.hears = false});
    cluster.run(kQuiet);
    cluster.told_rooms(dora);
    cluster.set_store(true);
    cluster.run(10s);
    EXPECT_EQ(cluster.join(dora, "hall").line(),
              "room hall 4; members ann online, bob online, carl online, dora online,");
    EXPECT_FALSE(cluster.told_rooms(dora).empty());
}

TEST(RoomsOverNodes, TheFirstWhoJoinsOnANodeIsAnsweredWithAllWhoAreThereByOthers) {
    Cluster cluster(3);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto carl = cluster.connect(cluster.node(2), "carl");
    cluster.join(ann, "hall", {.meta = R"({"n":1})"});
    cluster.join(bob, "hall");
    cluster.run(kQuiet);
    EXPECT_EQ(cluster.join(carl, "hall").line(),
              R"(room hall 3; members ann online{"n":1}, bob online, carl online,)");
    cluster.run(10 * kQuiet);
    EXPECT_THAT(cluster.told_rooms(carl), IsEmpty());
    EXPECT_EQ(cluster.node(2).shard.counters.room_words_void, 0U);
    EXPECT_EQ(cluster.node(2).shard.counters.room_gaps, 0U);
    cluster.leave(ann, "hall");
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(carl), ElementsAre("update hall 2; left ann,"));
}

TEST(RoomsOverNodes, TheFirstWhoJoinsALargeRoomOnANodeIsGivenTheCountOverAllNodes) {
    Cluster cluster(3);
    cluster.limits.room_members = 4;
    for (int i = 0; i < 6; ++i) {
        const std::string name = "u" + std::to_string(i);
        const auto one = cluster.connect(cluster.node(i % 2 == 0 ? 0 : 1), name.c_str());
        cluster.join(one, "hall", {.hears = false});
    }
    cluster.run(kQuiet);
    const auto ann = cluster.connect(cluster.node(2), "ann");
    EXPECT_EQ(cluster.join(ann, "hall").line(), "room hall 7 or so");
    const auto bob = cluster.connect(cluster.node(2), "bob");
    EXPECT_EQ(cluster.join(bob, "hall", {.observe = true}).line(), "room hall 7 or so");
    cluster.run(10 * kQuiet);
    for (const std::string& line : cluster.told_rooms(bob)) {
        EXPECT_THAT(line, HasSubstr("hall 7"));
    }
}

TEST(RoomsOverNodes, WhoseRulesCouldNotBeReadAfterAGapIsCountedAgainOnceTheyCan) {
    Cluster cluster(2);
    cluster.limits.room_members = 2;
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(ann, "hall");
    cluster.join(bob, "hall");
    for (const char* name : {"carl", "dora"}) {
        cluster.join(cluster.connect(cluster.node(0), name), "hall", {.hears = false});
    }
    cluster.run(kQuiet);
    cluster.profiles.set_unavailable(true);
    Cluster::close_gap(cluster.node(0));
    cluster.run(kQuiet);
    ASSERT_EQ(cluster.room_facts(cluster.node(0), "hall").counted, 0U);
    cluster.profiles.set_unavailable(false);
    cluster.run(2 * kQuiet);
    EXPECT_EQ(cluster.room_facts(cluster.node(0), "hall").counted, 3U);
    EXPECT_EQ(cluster.join(bob, "hall").line(), "room hall 4 or so");
}

TEST(RoomsOverNodes, AJoinWaitsForANodeThatDoesNotAnswerNoLongerThanTheBound) {
    Cluster cluster(3);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto carl = cluster.connect(cluster.node(2), "carl");
    cluster.join(ann, "hall");
    cluster.join(bob, "hall");
    cluster.run(kQuiet);
    cluster.pause(cluster.node(1));
    const MonoTime asked = cluster.clock.now();
    EXPECT_EQ(cluster.join(carl, "hall").line(), "room hall 2; members ann online, carl online,");
    EXPECT_LE(cluster.clock.now() - asked,
              RoomKeeper::kAskEvery + RoomKeeper::kAskPatience + Millis{10});
    EXPECT_GE(cluster.clock.now() - asked, RoomKeeper::kAskPatience - Millis{10});
    cluster.go_on(cluster.node(1));
    cluster.run(kQuiet);
    EXPECT_THAT(in_one(cluster.told_rooms(carl)), HasSubstr("joined bob online,"));
}

TEST(RoomsOverNodes, WhatANodeSaidThatLeftTheRoomBeforeItsStatementIsVoidInTheEnd) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(ann, "hall", {.hears = false});
    cluster.run(kQuiet);
    // Its answer to the question comes through, and nothing of what it says after that.
    cluster.join(bob, "hall");
    cluster.set_deaf(cluster.node(0), true);
    cluster.leave(ann, "hall");
    cluster.run(kQuiet);
    cluster.set_deaf(cluster.node(0), false);
    cluster.run(10s);
    EXPECT_EQ(cluster.join(bob, "hall").line(), "room hall 1; members bob online,");
}

TEST(RoomsOverNodes, WhatANodeThatSleptSaysBringsASessionThatWentOnIntoNoRoomThatItHasLeft) {
    Cluster cluster(3);
    const auto ann = cluster.connect(cluster.node(2), "ann");
    const auto before = cluster.connect(cluster.node(0), "dora");
    cluster.join(ann, "hall");
    cluster.join(before, "hall");
    cluster.run(kQuiet);
    cluster.pause(cluster.node(0));
    cluster.run(kQuiet);
    const auto dora = cluster.connect(cluster.node(1), "dora", before);
    ASSERT_TRUE(dora->resumed);
    cluster.join(dora, "hall", {.hears = false});
    cluster.run(Millis{200});
    cluster.leave(dora, "hall");
    cluster.run(kQuiet);
    cluster.go_on(cluster.node(0));
    cluster.run(5 * kQuiet);
    EXPECT_FALSE(cluster.node(1).shard.rooms.is_member(UserId("dora"), RoomId("hall"), dora->id));
    EXPECT_EQ(cluster.join(ann, "hall").line(), "room hall 1; members ann online,");
}

TEST(RoomsOverNodes, WhenListsReturnThoseOfAllNodesDo) {
    Cluster cluster(3);
    cluster.limits.room_members = 10;
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.join(ann, "hall");
    std::vector<Cluster::DeviceRef> crowd;
    for (std::size_t i = 0; i < 11; ++i) {
        const std::string name = "user" + std::to_string(i);
        crowd.push_back(cluster.connect(cluster.node(i % 3), name.c_str()));
        cluster.join(crowd.back(), "hall", {.hears = false});
    }
    cluster.run(kQuiet);
    EXPECT_EQ(cluster.join(ann, "hall").line(), "room hall 12 or so");
    for (std::size_t i = 4; i < 11; ++i) {
        cluster.leave(crowd[i], "hall");
    }
    cluster.run(kQuiet);
    EXPECT_EQ(cluster.told_rooms(ann).back(),
              "room hall 5; members ann online, user0 online, user1 online, user2 online, "
              "user3 online,");
    cluster.leave(crowd[1], "hall");
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(ann), ElementsAre("update hall 4; left user1,"));
}

TEST(RoomsOverNodes, HiddenMembersOfAllNodesMakeARoomLargeOnceTheyAreTooManyToBeLookedAt) {
    Cluster cluster(2);
    cluster.limits.room_members = 5;
    cluster.limits.room_looked_at = 20;
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.join(ann, "hall");
    std::vector<Cluster::DeviceRef> hidden;
    for (std::size_t i = 0; i < 20; ++i) {
        const std::string name = "hidden" + std::to_string(i);
        cluster.hide(name.c_str());
        hidden.push_back(cluster.connect(cluster.node(i % 2), name.c_str()));
        cluster.run(kQuiet);
        EXPECT_THAT(cluster.told_rooms(ann), IsEmpty());
        cluster.join(hidden.back(), "hall", {.hears = false});
    }
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(ann), ElementsAre("room hall 1"));
    EXPECT_EQ(cluster.join(hidden[1], "hall").line(), "room hall 1");
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_THAT(cluster.told_rooms(ann), IsEmpty());
        cluster.leave(hidden[i], "hall");
        cluster.run(kQuiet);
    }
    EXPECT_THAT(cluster.told_rooms(ann), ElementsAre("room hall 1; members ann online,"));
}

}  // namespace

}  // namespace presence::testing
