// Who comes into rooms and leaves them, as receivers of webhooks are told: by the public view, and
// on a cluster by one node.

#include "unit/core/cluster.h"
#include "unit/core/world.h"

#include <gmock/gmock.h>

namespace presence::testing {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// What was said of rooms since the last time.
std::vector<std::string> said(World& world) {
    std::vector<std::string> lines;
    std::map<std::string, Version> last;
    for (const auto& thread : world.threads) {
        for (const WebhookEvent& event : std::exchange(thread->hooks.said, {})) {
            if (event.room.text.empty()) {
                continue;
            }
            EXPECT_GT(event.version, last[std::string(event.room.text)]);
            last[std::string(event.room.text)] = event.version;
            lines.push_back(std::string(wire_name(event.type)) + " " + event.room.text +
                            (event.user.text.empty() ? "" : " " + event.user.text));
        }
    }
    return lines;
}

TEST(RoomWebhooks, TheFirstOccupiesTheLastVacatesAndEachIsToldOnceHoweverManyDevices) {
    WorldOptions options;
    options.threads = 3;
    World world(options);
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    EXPECT_THAT(said(world), ElementsAre("room.occupied hall", "room.joined hall ann"));
    const Client second = world.connect("ann");
    world.join(second, "hall", {.meta = R"({"x":1})"});
    const Client bob = world.connect("bob");
    world.join(bob, "hall");
    world.join(bob, "hall");
    EXPECT_THAT(said(world), ElementsAre("room.joined hall bob"));
    world.leave(ann, "hall");
    EXPECT_THAT(said(world), IsEmpty());
    world.bye(second);
    world.run(1s);
    EXPECT_THAT(said(world), ElementsAre("room.left hall ann"));
    world.leave(bob, "hall");
    EXPECT_THAT(said(world), ElementsAre("room.left hall bob", "room.vacated hall"));
    world.join(bob, "hall");
    EXPECT_THAT(said(world), ElementsAre("room.occupied hall", "room.joined hall bob"));
}

TEST(RoomWebhooks, FO_047_WhoIsInvisibleOrOnlyLooksOnIsInNoRoom) {
    World world;
    const Client ann = world.connect("ann");
    const Client eve = world.connect(UserId("eve"), {.observe = true});
    world.join(eve, "hall");
    world.join(ann, "hall", {.observe = true});
    EXPECT_THAT(said(world), IsEmpty());
    world.join(ann, "hall");
    EXPECT_THAT(said(world), ElementsAre("room.occupied hall", "room.joined hall ann"));
    ASSERT_TRUE(world.declare(UserId("ann"), DeclaredStatus::invisible));
    world.run(2s);
    EXPECT_THAT(said(world), ElementsAre("room.left hall ann", "room.vacated hall"));
    world.leave(ann, "hall");
    world.join(ann, "hall");
    world.run(2s);
    EXPECT_THAT(said(world), IsEmpty());
    ASSERT_TRUE(world.declare(UserId("ann"), DeclaredStatus::automatic));
    world.run(2s);
    EXPECT_THAT(said(world), ElementsAre("room.occupied hall", "room.joined hall ann"));
}

TEST(RoomWebhooks, OnAClusterEachEventIsToldByOneNode) {
    Cluster cluster(3);
    const auto phone = cluster.connect(cluster.node(0), "ann");
    const auto laptop = cluster.connect(cluster.node(1), "ann");
    cluster.join(phone, "hall");
    cluster.run(1s);
    cluster.join(laptop, "hall");
    cluster.run(1s);
    cluster.join(cluster.connect(cluster.node(2), "bob"), "hall");
    cluster.run(1s);
    EXPECT_THAT(
        cluster.told_of_rooms(),
        UnorderedElementsAre("room.occupied hall", "room.joined hall ann", "room.joined hall bob"));
    // Seen by both nodes that have a device of hers in the room.
    cluster.declare(cluster.node(2), "ann", DeclaredStatus::invisible);
    cluster.run(2s);
    EXPECT_THAT(cluster.told_of_rooms(), ElementsAre("room.left hall ann"));
    cluster.declare(cluster.node(2), "ann", DeclaredStatus::automatic);
    cluster.run(2s);
    EXPECT_THAT(cluster.told_of_rooms(), ElementsAre("room.joined hall ann"));
    cluster.leave(phone, "hall");
    cluster.run(1s);
    EXPECT_THAT(cluster.told_of_rooms(), IsEmpty());
    cluster.leave(laptop, "hall");
    cluster.run(1s);
    EXPECT_THAT(cluster.told_of_rooms(), ElementsAre("room.left hall ann"));
}

TEST(RoomWebhooks, ASessionThatGoesOnAtAnotherNodeIsNoNews) {
    for (const std::size_t first : {0U, 1U}) {
        for (const bool joins_again : {false, true}) {
            Cluster cluster(2);
            Cluster::Node& there = cluster.node(1 - first);
            auto ann = cluster.connect(cluster.node(first), "ann");
            cluster.join(ann, "hall");
            cluster.run(2s);
            EXPECT_THAT(cluster.told_of_rooms(),
                        UnorderedElementsAre("room.occupied hall", "room.joined hall ann"));
            ann = cluster.connect(there, "ann", ann);
            ASSERT_TRUE(ann->resumed);
            if (joins_again) {
                cluster.join(ann, "hall");
            }
            cluster.run(3s);
            EXPECT_THAT(cluster.told_of_rooms(), IsEmpty());
            cluster.bye(ann);
            cluster.run(2s);
            EXPECT_THAT(cluster.told_of_rooms(),
                        UnorderedElementsAre("room.left hall ann", "room.vacated hall"));
        }
    }
}

TEST(RoomWebhooks, WhoComesToSeveralNodesAtOnceIsToldOnceAndTheRoomIsOccupiedOnce) {
    Cluster cluster(3);
    const auto phone = cluster.connect(cluster.node(0), "ann");
    const auto laptop = cluster.connect(cluster.node(1), "ann");
    const auto bob = cluster.connect(cluster.node(2), "bob");
    for (const auto& device : {laptop, phone, bob}) {
        cluster.join(device, "hall");
    }
    cluster.run(2s);
    EXPECT_THAT(
        cluster.told_of_rooms(),
        UnorderedElementsAre("room.occupied hall", "room.joined hall ann", "room.joined hall bob"));
}

TEST(RoomWebhooks, WhoLeavesOnTwoNodesAtOnceHasLeftOnce) {
    Cluster cluster(2);
    const auto phone = cluster.connect(cluster.node(0), "ann");
    const auto laptop = cluster.connect(cluster.node(1), "ann");
    cluster.join(phone, "hall");
    cluster.run(1s);
    cluster.join(laptop, "hall");
    cluster.run(1s);
    (void)cluster.told_of_rooms();
    cluster.leave(phone, "hall");
    cluster.leave(laptop, "hall");
    cluster.run(1s);
    EXPECT_THAT(cluster.told_of_rooms(),
                UnorderedElementsAre("room.left hall ann", "room.vacated hall"));
}

TEST(RoomWebhooks, OfTheMembersOfADeadNodeOneOfTheOthersTells) {
    Cluster cluster(3);
    cluster.join(cluster.connect(cluster.node(0), "ann"), "hall");
    cluster.run(1s);
    cluster.join(cluster.connect(cluster.node(1), "bob"), "hall");
    cluster.join(cluster.connect(cluster.node(2), "carl"), "hall");
    cluster.join(cluster.connect(cluster.node(1), "carl"), "hall");
    cluster.run(2s);
    (void)cluster.told_of_rooms();
    cluster.kill(cluster.node(1));
    cluster.run(20s);
    EXPECT_THAT(cluster.told_of_rooms(), ElementsAre("room.left hall bob"));
}

}  // namespace

}  // namespace presence::testing
