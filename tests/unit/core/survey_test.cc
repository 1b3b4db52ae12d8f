// What all nodes say together: people, rooms, members (docs/adr/0006-surveys.md).

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

namespace presence::testing {

namespace {

using Node = Cluster::Node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum Status;

std::size_t with(const Survey::People& people, Status status) {
    return people.census.by_status.at(static_cast<std::size_t>(status));
}

std::vector<std::string> names(const RoomFacts& facts) {
    std::vector<std::string> names;
    for (const RoomMember& member : facts.page) {
        names.emplace_back(member.user.text);
    }
    return names;
}

std::vector<std::string> lines(const Survey::Rooms& rooms) {
    std::vector<std::string> lines;
    for (const RoomFacts& facts : rooms.rooms) {
        lines.push_back(facts.room.text + " " + std::to_string(facts.members) +
                        (facts.exact ? "" : " about"));
    }
    return lines;
}

TEST(Survey, EachNodeCountsTheSamePeopleAndEachOfThemOnce) {
    Cluster cluster(3);
    const auto phone = cluster.connect(cluster.node(0), "ann");
    const auto laptop = cluster.connect(cluster.node(1), "ann");
    (void)cluster.connect(cluster.node(1), "bob");
    (void)cluster.connect(cluster.node(2), "carl");
    cluster.declare(cluster.node(1), "bob", DeclaredStatus::busy);
    cluster.declare(cluster.node(2), "carl", DeclaredStatus::invisible);
    for (std::size_t asked = 0; asked < 3; ++asked) {
        const Survey::People people = cluster.wait(cluster.node(asked).survey.people());
        EXPECT_TRUE(people.exact);
        EXPECT_EQ(people.nodes, 3U);
        EXPECT_EQ(with(people, online), 1U);
        EXPECT_EQ(with(people, busy), 1U);
        EXPECT_EQ(with(people, invisible), 1U);
        EXPECT_EQ(people.census.live, 4U);
        EXPECT_EQ(cluster.node(asked).survey.under_way(), 0U);
    }
    cluster.bye(phone);
    cluster.lose(laptop);
    const Survey::People people = cluster.wait(cluster.node(2).survey.people());
    EXPECT_EQ(with(people, online), 1U);
    EXPECT_EQ(people.census.live, 2U);
    EXPECT_EQ(people.census.grace, 1U);
}

TEST(Survey, WhatAnotherNodeHasChangedOfAUserIsCountedAsItStands) {
    Cluster cluster(2);
    (void)cluster.connect(cluster.node(0), "ann");
    // A back end that speaks to the other node: the holder of the session is told nothing.
    cluster.declare(cluster.node(1), "ann", DeclaredStatus::dnd);
    for (std::size_t asked = 0; asked < 2; ++asked) {
        const Survey::People people = cluster.wait(cluster.node(asked).survey.people());
        EXPECT_EQ(with(people, dnd), 1U);
        EXPECT_EQ(with(people, online), 0U);
    }
}

TEST(Survey, ManyWhoAskAtOnceShareACountAndNoneIsAnsweredWithOneFromBeforeItAsked) {
    Cluster cluster(2);
    (void)cluster.connect(cluster.node(0), "ann");
    (void)cluster.connect(cluster.node(1), "bob");
    cluster.run(2s);
    cluster.sessions.faults().set_delay(100ms);  // Of the comparison with the store.
    Survey& survey = cluster.node(0).survey;
    const auto first = start_task(survey.people());
    cluster.run(10ms);
    cluster.sessions.faults().set_delay(0ms);
    const std::size_t asked = cluster.node(1).gateway.surveys;
    (void)cluster.connect(cluster.node(1), "carl");  // Perhaps counted already without it.
    ASSERT_FALSE(first->has_value());
    std::vector<Started<Survey::People>> others;
    for (int i = 0; i < 100; ++i) {
        others.push_back(start_task(survey.people()));
    }
    cluster.run(1s);
    ASSERT_TRUE(first->has_value());
    for (const auto& other : others) {
        ASSERT_TRUE(other->has_value());
        EXPECT_TRUE((*other)->exact);
        EXPECT_EQ(with(**other, online), 3U);
    }
    EXPECT_EQ(cluster.node(1).gateway.surveys - asked, 1U);
}

TEST(Survey, AStormOfJoinsLeavesRoomForAllOtherQuestions) {
    Cluster cluster(2);
    cluster.run(2s);
    cluster.pause(cluster.node(1));  // So that they stay under way.
    Survey& survey = cluster.node(0).survey;
    std::vector<Started<Result<RoomStatements>>> joins;
    for (std::size_t i = 0; i < Survey::kMost + 200; ++i) {
        joins.push_back(start_task(survey.room_lists(RoomId("room" + std::to_string(i)))));
    }
    const std::size_t refused = cluster.node(0).shard.counters.surveys_refused;
    EXPECT_EQ(survey.under_way(), joins.size() - refused);
    const auto page = start_task(survey.room(RoomId("hall"), std::nullopt, 10));
    EXPECT_EQ(survey.under_way(), joins.size() - refused + 1);
    EXPECT_EQ(cluster.node(0).shard.counters.surveys_refused, refused);
    cluster.run(1s);
    EXPECT_TRUE(page->has_value());
    EXPECT_TRUE(std::ranges::all_of(joins, [](const auto& join) { return join->has_value(); }));
    EXPECT_EQ(survey.under_way(), 0U);
}

TEST(Survey, ANodeThatDoesNotAnswerIsLeftOutWithinASecondAndTheSumSaysSo) {
    Cluster cluster(3);
    (void)cluster.connect(cluster.node(0), "ann");
    (void)cluster.connect(cluster.node(1), "bob");
    (void)cluster.connect(cluster.node(2), "carl");
    cluster.run(2s);  // All know of each other.
    cluster.pause(cluster.node(1));
    const MonoTime from = cluster.clock.now();
    const Survey::People people = cluster.wait(cluster.node(0).survey.people());
    EXPECT_LE(cluster.clock.now() - from, 1s);
    EXPECT_FALSE(people.exact);
    EXPECT_EQ(people.nodes, 3U);
    EXPECT_EQ(with(people, online), 2U);
    EXPECT_EQ(cluster.node(0).shard.counters.surveys_incomplete, 1U);
    cluster.go_on(cluster.node(1));
    cluster.run(1s);
    EXPECT_TRUE(cluster.wait(cluster.node(0).survey.people()).exact);
}

TEST(Survey, WhoAsksWhileOthersWaitForANodeIsAnsweredWithinASecondToo) {
    Cluster cluster(2);
    (void)cluster.connect(cluster.node(0), "ann");
    cluster.run(2s);
    cluster.pause(cluster.node(1));
    std::vector<Started<Survey::People>> askers;
    for (int i = 0; i < 5; ++i) {
        askers.push_back(start_task(cluster.node(0).survey.people()));
        cluster.run(i < 4 ? 20ms : 980ms);
    }
    for (const auto& asker : askers) {
        ASSERT_TRUE(asker->has_value());
        EXPECT_FALSE((*asker)->exact);
    }
}

TEST(Survey, ADeadNodeIsMissedUntilItIsSettledAndThenNot) {
    Cluster cluster(2);
    (void)cluster.connect(cluster.node(0), "ann");
    (void)cluster.connect(cluster.node(1), "bob");
    cluster.run(2s);
    cluster.kill(cluster.node(1));
    const Survey::People soon = cluster.wait(cluster.node(0).survey.people());
    EXPECT_FALSE(soon.exact);
    cluster.run(15s);
    const Survey::People later = cluster.wait(cluster.node(0).survey.people());
    EXPECT_TRUE(later.exact);
    EXPECT_EQ(later.nodes, 1U);
    EXPECT_EQ(with(later, online), 1U);
}

TEST(Survey, WithoutTheStoreANodeSpeaksForItselfAlone) {
    Cluster cluster(2);
    (void)cluster.connect(cluster.node(0), "ann");
    (void)cluster.connect(cluster.node(1), "bob");
    cluster.run(2s);
    cluster.set_store(false);
    const Survey::People people = cluster.wait(cluster.node(0).survey.people());
    EXPECT_FALSE(people.exact);
    EXPECT_EQ(with(people, online), 1U);
}

TEST(Survey, MembersOfARoomAreListedPageByPageWhereverTheyAre) {
    Cluster cluster(3);
    for (const auto& [name, node] : std::vector<std::pair<const char*, std::size_t>>{
             {"ann", 0}, {"bob", 1}, {"carl", 2}, {"dora", 0}, {"bob", 2}}) {
        cluster.join(cluster.connect(cluster.node(node), name), "hall", {.meta = R"({"at":1})"});
    }
    cluster.run(1s);
    for (std::size_t asked = 0; asked < 3; ++asked) {
        Survey& survey = cluster.node(asked).survey;
        const RoomFacts first = cluster.wait(survey.room(RoomId("hall"), std::nullopt, 3));
        EXPECT_EQ(first.members, 4U);
        EXPECT_TRUE(first.exact);
        EXPECT_TRUE(first.more);
        EXPECT_THAT(names(first), ElementsAre("ann", "bob", "carl"));
        EXPECT_EQ(first.page.front().meta, R"({"at":1})");
        const RoomFacts rest = cluster.wait(survey.room(RoomId("hall"), UserId("carl"), 3));
        EXPECT_THAT(names(rest), ElementsAre("dora"));
        EXPECT_FALSE(rest.more);
        EXPECT_EQ(rest.members, 4U);
    }
}

TEST(Survey, WhoHasJustJoinedOrLeftOnOneNodeIsCountedSoOnAll) {
    Cluster cluster(2);
    cluster.join(cluster.connect(cluster.node(0), "ann"), "hall");
    cluster.run(1s);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(bob, "hall");
    EXPECT_EQ(cluster.wait(cluster.node(0).survey.room(RoomId("hall"), std::nullopt, 9)).members,
              2U);
    cluster.leave(bob, "hall");
    EXPECT_EQ(cluster.wait(cluster.node(0).survey.room(RoomId("hall"), std::nullopt, 9)).members,
              1U);
}

TEST(Survey, RoomsOfAllNodesAreListedByNameWithTheirCounts) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    for (const char* room : {"doc-1", "doc-3", "hall"}) {
        cluster.join(ann, room);
    }
    for (const char* room : {"doc-2", "doc-3", "doc-4"}) {
        cluster.join(bob, room);
    }
    cluster.run(1s);
    for (std::size_t asked = 0; asked < 2; ++asked) {
        Survey& survey = cluster.node(asked).survey;
        const Survey::Rooms all = cluster.wait(survey.rooms("doc-", std::nullopt, 10));
        EXPECT_THAT(lines(all), ElementsAre("doc-1 1", "doc-2 1", "doc-3 2", "doc-4 1"));
        EXPECT_FALSE(all.more);
        const Survey::Rooms page = cluster.wait(survey.rooms("doc-", RoomId("doc-1"), 2));
        EXPECT_THAT(lines(page), ElementsAre("doc-2 1", "doc-3 2"));
        EXPECT_TRUE(page.more);
        EXPECT_THAT(lines(cluster.wait(survey.rooms("none", std::nullopt, 2))), IsEmpty());
    }
}

TEST(Survey, ALargeRoomOfSeveralNodesIsSummedUpAndSaysSo) {
    Cluster cluster(2);
    cluster.limits.room_members = 3;
    for (std::size_t i = 0; i < 6; ++i) {
        const std::string name = "user" + std::to_string(i);
        cluster.join(cluster.connect(cluster.node(i % 2), name.c_str()), "hall");
    }
    cluster.run(3s);
    const RoomFacts facts =
        cluster.wait(cluster.node(0).survey.room(RoomId("hall"), std::nullopt, 4));
    EXPECT_TRUE(facts.large);
    EXPECT_FALSE(facts.exact);
    EXPECT_EQ(facts.members, 6U);
    EXPECT_EQ(facts.counted, 6U);
    EXPECT_THAT(names(facts), ElementsAre("user0", "user1", "user2", "user3"));
}

TEST(Survey, WhereHiddenMembersAreDoesNotShowInWhetherTheCountIsExact) {
    Cluster cluster(2);
    cluster.limits.room_members = 2;
    cluster.hide("ghost");
    for (const char* name : {"ann", "bob", "carl"}) {
        cluster.join(cluster.connect(cluster.node(0), name), "hall");
    }
    cluster.join(cluster.connect(cluster.node(1), "ghost"), "hall");
    cluster.run(3s);
    const RoomFacts facts =
        cluster.wait(cluster.node(1).survey.room(RoomId("hall"), std::nullopt, 9));
    EXPECT_TRUE(facts.large);
    EXPECT_EQ(facts.counted, 3U);
    EXPECT_TRUE(facts.counted_exact);
    EXPECT_EQ(facts.members, 4U);
    EXPECT_FALSE(facts.exact);
}

TEST(Survey, OverTheLimitOfQuestionsUnderWayThisNodesWordHasToDo) {
    Cluster cluster(2);
    (void)cluster.connect(cluster.node(0), "ann");
    (void)cluster.connect(cluster.node(1), "bob");
    cluster.run(2s);
    cluster.pause(cluster.node(1));
    std::vector<Started<Survey::Rooms>> asking;
    for (std::size_t i = 0; i < Survey::kMost; ++i) {
        asking.push_back(start_task(cluster.node(0).survey.rooms("", std::nullopt, 9)));
    }
    const auto last = start_task(cluster.node(0).survey.people());
    cluster.run(100ms);
    ASSERT_TRUE(last->has_value());
    EXPECT_FALSE((*last)->exact);
    EXPECT_EQ(with(**last, online), 1U);
    EXPECT_EQ(cluster.node(0).shard.counters.surveys_refused, 1U);
    cluster.run(2s);
    EXPECT_EQ(cluster.node(0).survey.under_way(), 0U);
}

}  // namespace

}  // namespace presence::testing
