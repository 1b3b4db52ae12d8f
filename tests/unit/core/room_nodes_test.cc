// Rooms by what other nodes say: statements, gaps, dead nodes, large rooms
// (docs/adr/0004-rooms.md).

#include "unit/core/cluster.h"
#include "unit/core/world.h"

#include <gmock/gmock.h>

namespace presence {
namespace {

using testing::Client;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::World;
using testing::WorldOptions;

constexpr Millis kQuiet{2'000};
const RoomId kHall("hall");

/// Another node, as its statements show it.
class OtherNode {
public:
    OtherNode(World& world, std::uint64_t name) : world_(world), node_{name} {}

    std::shared_ptr<RoomStatement> next(std::vector<const char*> users, bool full) {
        auto statement = std::make_shared<RoomStatement>();
        statement->node = node_;
        statement->room = kHall;
        statement->sequence = ++sequence_;
        statement->full = full;
        for (const char* user : users) {
            statement->present.push_back({UserId(user), "", world_.clock.wall_now(), true});
        }
        return statement;
    }
    void say(std::shared_ptr<RoomStatement> statement, std::size_t members) {
        statement->members = members;
        statement->counted = members;
        world_.bus.endpoint(0).publish_room(std::move(statement));
        world_.run(kQuiet);
    }
    /// A statement that nobody got.
    void lose() { ++sequence_; }

private:
    World& world_;
    NodeId node_;
    std::uint64_t sequence_ = 100;
};

/// Their sessions live here all the same, so that there is a presence to show.
void bring_in(World& world, std::initializer_list<const char*> users) {
    for (const char* user : users) {
        (void)world.connect(user);
    }
    world.run(kQuiet);
}

TEST(RoomsOfNodes, MembersByOtherNodesAreListedAndBySeveralOnce) {
    for (const std::size_t threads : {1U, 3U}) {
        WorldOptions options;
        options.threads = threads;
        World world(options);
        bring_in(world, {"bob", "carl"});
        const Client ann = world.connect("ann");
        world.join(ann, "hall");
        OtherNode two(world, 2);
        OtherNode three(world, 3);
        two.say(two.next({"bob", "carl"}, true), 2);
        EXPECT_THAT(world.told_rooms(ann),
                    ElementsAre("update hall 3; joined bob online, carl online,"));
        three.say(three.next({"bob"}, true), 1);
        EXPECT_THAT(world.told_rooms(ann), IsEmpty());
        auto gone = two.next({}, false);
        gone->gone = {UserId("bob"), UserId("carl")};
        two.say(std::move(gone), 0);
        EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; left carl,"));
        three.say(three.next({}, true), 0);
        EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    }
}

TEST(RoomsOfNodes, AMissingStatementIsAskedForAndUntilThenNothingIsApplied) {
    World world;
    bring_in(world, {"bob", "carl", "dora"});
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    OtherNode two(world, 2);
    two.say(two.next({"bob"}, true), 1);
    (void)world.told_rooms(ann);
    const std::uint64_t gaps = world.counters().room_gaps;
    two.lose();
    two.say(two.next({"carl"}, false), 3);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    EXPECT_GT(world.counters().room_gaps, gaps);
    EXPECT_FALSE(world.room_facts("hall").exact);
    two.say(two.next({"bob", "carl", "dora"}, true), 3);
    EXPECT_THAT(world.told_rooms(ann),
                ElementsAre("update hall 4; joined carl online, dora online,"));
    EXPECT_TRUE(world.room_facts("hall").exact);
}

TEST(RoomsOfNodes, AQuestionThatNobodyAnswersIsAskedAgainUntilTheWordIsVoid) {
    for (const std::size_t threads : {1U, 3U}) {
        WorldOptions options;
        options.threads = threads;
        World world(options);
        bring_in(world, {"bob", "carl"});
        const Client ann = world.connect("ann");
        world.join(ann, "hall");
        OtherNode two(world, 2);
        two.say(two.next({"bob"}, true), 1);
        (void)world.told_rooms(ann);
        auto& asked = world.threads[world.homes.index_of(kHall)]->gateway.asked;
        asked.clear();
        two.lose();
        two.say(two.next({"carl"}, false), 2);
        EXPECT_EQ(asked.size(), 3U);
        two.say(two.next({"bob", "carl"}, true), 2);
        EXPECT_EQ(asked.size(), 3U);
        EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 3; joined carl online,"));
        two.lose();
        two.say(two.next({"carl"}, false), 2);
        EXPECT_THAT(world.told_rooms(ann), IsEmpty());
        world.run(2 * kQuiet);
        EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob, carl,"));
        EXPECT_TRUE(world.room_facts("hall").exact);
        asked.clear();
        world.run(10s);
        EXPECT_THAT(asked, IsEmpty());
    }
}

TEST(RoomsOfNodes, AllRoomsAreAskedForInPacedRounds) {
    WorldOptions options;
    options.limits.rooms_per_connection = 1000;
    World world(options);
    const Client ann = world.connect("ann");
    for (int i = 0; i < 300; ++i) {
        world.join(ann, ("room" + std::to_string(i)).c_str());
    }
    world.run(kQuiet);
    auto& asked = world.gateway(ann->user).asked;
    asked.clear();
    world.shard().rooms.look_at_all_again();
    world.shard().rooms.look_at_all_again();
    world.run(kQuiet);
    ASSERT_EQ(asked.size(), 300U);
    for (std::size_t i = 50; i < asked.size(); ++i) {
        EXPECT_GE(asked[i].at - asked[i - 50].at, 10ms);
    }
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

TEST(RoomsOfNodes, AQuestionIsAnsweredWithAFullStatement) {
    World world;
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    world.run(kQuiet);
    world.gateway(UserId("ann")).statements.clear();
    world.bus.endpoint(0).ask_room(kHall);
    world.run(kQuiet);
    const auto& statements = world.gateway(UserId("ann")).statements;
    ASSERT_EQ(statements.size(), 1U);
    EXPECT_TRUE(statements[0]->full);
    EXPECT_EQ(statements[0]->present.size(), 1U);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

TEST(RoomsOfNodes, WhatADeadNodeSaidIsDropped) {
    WorldOptions options;
    options.threads = 2;
    World world(options);
    bring_in(world, {"bob", "carl"});
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    OtherNode two(world, 2);
    OtherNode three(world, 3);
    two.say(two.next({"bob", "carl"}, true), 2);
    three.say(three.next({"carl"}, true), 1);
    (void)world.told_rooms(ann);
    for (const auto& thread : world.threads) {
        thread->shard.rooms.forget_node(NodeId{2});
    }
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; left bob,"));
}

TEST(RoomsOfNodes, ManyJoinsAreOneStatementAWindowAndNoneAMember) {
    WorldOptions options;
    options.threads = 2;
    World world(options);
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    std::vector<Client> crowd;
    for (int i = 0; i < 300; ++i) {
        crowd.push_back(world.connect(UserId("user" + std::to_string(i))));
    }
    world.run(kQuiet);
    auto& statements = world.gateway(UserId("ann")).statements;
    statements.clear();
    for (const Client& one : crowd) {
        world.join(one, "hall", {.hears = false});
        world.run(1ms);
    }
    world.run(kQuiet);
    EXPECT_LE(statements.size(), 5U);
    std::size_t named = 0;
    for (const RoomStatementRef& statement : statements) {
        named += statement->present.size();
    }
    EXPECT_EQ(named, 300U);
}

TEST(LargeRooms, CountsTakeThePlaceOfListsAndAreExactOnOneNodeAlone) {
    for (const std::size_t threads : {1U, 3U}) {
        WorldOptions options;
        options.threads = threads;
        options.limits.room_members = 10;
        World world(options);
        const Client ann = world.connect("ann");
        world.join(ann, "hall");
        std::vector<Client> crowd;
        for (int i = 0; i < 20; ++i) {
            crowd.push_back(world.connect(UserId("user" + std::to_string(i))));
            world.join(crowd.back(), "hall", {.hears = false});
        }
        world.run(kQuiet);
        EXPECT_EQ(world.told_rooms(ann).back(), "room hall 21");
        EXPECT_EQ(world.join(world.connect("late"), "hall").line(), "room hall 22");
        world.run(kQuiet);
        EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 22"));
        OtherNode two(world, 2);
        auto counts = two.next({}, true);
        counts->listed = false;
        two.say(std::move(counts), 30);
        EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 52 or so"));
        two.say(two.next({}, true), 0);
        EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 22"));
        for (int i = 0; i < 12; ++i) {
            world.bye(crowd.back());
            crowd.pop_back();
        }
        world.run(kQuiet);
        EXPECT_EQ(world.told_rooms(ann).back(), "update hall 10");
        world.bye(crowd.back());
        crowd.pop_back();
        world.run(kQuiet);
        EXPECT_EQ(world.told_rooms(ann).back(),
                  "room hall 9; members ann online, late online, user0 online, user1 online, "
                  "user2 online, user3 online, user4 online, user5 online, user6 online,");
        for (const auto& thread : world.threads) {
            thread->shard.rooms.drop_connection(ann->connection.slot);
        }
    }
}

TEST(LargeRooms, CountsGoOutOnceASecondAndHoldWhomEveryoneMaySee) {
    WorldOptions options;
    options.limits.room_members = 5;
    World world(options);
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    world.set_online_rule("shy", Audience::contacts);
    for (int i = 0; i < 10; ++i) {
        world.join(world.connect(UserId("user" + std::to_string(i))), "hall");
    }
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    const Client shy = world.connect("shy");
    EXPECT_EQ(world.join(shy, "hall").line(), "room hall 11");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    for (int i = 10; i < 60; ++i) {
        world.join(world.connect(UserId("user" + std::to_string(i))), "hall");
        world.run(100ms);
    }
    world.run(kQuiet);
    const std::vector<testing::ToldRoom> told = world.connection(ann).rooms;
    EXPECT_LE(told.size(), 7U);
    for (std::size_t i = 1; i < told.size(); ++i) {
        EXPECT_GE(told[i].at - told[i - 1].at, 1s);
    }
    EXPECT_EQ(told.back().line(), "update hall 61");
    (void)world.told_rooms(ann);
    // A rule that opens or closes is seen in the count.
    world.set_online_rule("shy", Audience::everyone);
    world.run(2s);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 62"));
    (void)world.declare(UserId("shy"), DeclaredStatus::invisible);
    world.run(2s);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 61"));
    world.signal(world.connect("nobody"), "hall");
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

// --- A session that moves ----------------------------------------------------------------------

using testing::Cluster;

TEST(RoomsOfNodes, ASessionResumedElsewhereIsStillInItsRoomsAndNobodyIsTold) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(2), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.join(ann, "hall", {.meta = R"({"at":1})"});
    cluster.join(bob, "hall");
    cluster.run(kQuiet);
    (void)cluster.told_rooms(bob);
    const auto back = cluster.connect(cluster.node(1), "ann", ann);
    ASSERT_TRUE(back->resumed);
    cluster.run(5s);
    EXPECT_THAT(cluster.told_rooms(bob), IsEmpty());
    EXPECT_THAT(cluster.told_rooms(back), IsEmpty());  // It hears nothing until it joins again.
    const RoomFacts facts = cluster.wait(cluster.node(0).survey.room(kHall, std::nullopt, 9));
    ASSERT_EQ(facts.page.size(), 2U);
    EXPECT_EQ(facts.page.front().meta, R"({"at":1})");
    EXPECT_EQ(cluster.node(0).shard.rooms.stay_count(), 0U);
    // And goes with its session.
    cluster.bye(back);
    cluster.run(kQuiet);
    EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 1; left ann,"));
}

TEST(RoomsOfNodes, ASessionThatMovesThereAndBackStays) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.join(ann, "hall");
    cluster.join(bob, "hall");
    cluster.run(kQuiet);
    (void)cluster.told_rooms(bob);
    const auto there = cluster.connect(cluster.node(1), "ann", ann);
    const auto back = cluster.connect(cluster.node(0), "ann", there);
    ASSERT_TRUE(back->resumed);
    cluster.run(5s);
    EXPECT_THAT(cluster.told_rooms(bob), IsEmpty());
    EXPECT_EQ(cluster.node(0).shard.rooms.stay_count(), 1U);
}

TEST(RoomsOfNodes, WhatTheClientSaysAtTheNewNodeStandsAboveWhatTheOldOneTells) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    for (const char* room : {"hall", "yard"}) {
        cluster.join(ann, room, {.meta = R"({"old":1})"});
    }
    cluster.run(kQuiet);
    cluster.pause(cluster.node(0));  // So its word comes late.
    const auto back = cluster.connect(cluster.node(1), "ann", ann);
    ASSERT_TRUE(back->resumed);
    cluster.leave(back, "hall");
    cluster.join(back, "yard", {.meta = R"({"new":1})"});
    cluster.go_on(cluster.node(0));
    cluster.run(5s);
    EXPECT_EQ(cluster.wait(cluster.node(1).survey.room(kHall, std::nullopt, 9)).members, 0U);
    const RoomFacts yard =
        cluster.wait(cluster.node(1).survey.room(RoomId("yard"), std::nullopt, 9));
    ASSERT_EQ(yard.page.size(), 1U);
    EXPECT_EQ(yard.page.front().meta, R"({"new":1})");
}

TEST(RoomsOfNodes, WhoWasInARoomByANodeThatHasLeftInOrderIsGone) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(bob, "hall");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.join(ann, "hall");
    cluster.run(kQuiet);
    (void)cluster.told_rooms(bob);
    cluster.bye(ann);
    ASSERT_TRUE(cluster.wait(cluster.node(0).member.leave(false)));
    cluster.kill(cluster.node(0));  // Before its last statement was due.
    cluster.run(5s);
    EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 1; left ann,"));
}

}  // namespace
}  // namespace presence
