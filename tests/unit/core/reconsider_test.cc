// Rules, blocks and contacts that change under watches (DESIGN rules 24 to 27; RULINGS 1, 5, 9).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::Told;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

struct ReconsiderTest : ::testing::Test {
    World world;
    Client bob = world.connect("bob");
    Client ann = world.connect("ann");

    void SetUp() override {
        world.run(5s);
        world.watch(bob, {"ann"});
    }
    Statuses of_ann() { return statuses(world.told(bob), "ann"); }
    void expect_hidden(const Told& told) { EXPECT_EQ(told.line(), "ann offline v0 ''"); }
};

TEST_F(ReconsiderTest, FO051ABlockTakesSightAndAnUnblockGivesItBackWithoutAsking) {
    world.change_blocks("ann", "bob", true);
    ASSERT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.told(bob)[0]);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(5s);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(15s);
    EXPECT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.look("bob", "ann"));

    world.change_blocks("ann", "bob", false);
    ASSERT_EQ(world.told(bob).size(), 2U);
    EXPECT_EQ(world.told(bob)[1].status, Status::busy);
    EXPECT_GT(world.told(bob)[1].version, Version{0});
}

TEST_F(ReconsiderTest, FO051ABlockTakesSightAlsoFromTheOneWhoBlocks) {
    world.change_blocks("bob", "ann", true);
    ASSERT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.told(bob)[0]);
    world.change_blocks("bob", "ann", false);
    EXPECT_EQ(of_ann(), (Statuses{Status::offline, Status::online}));
}

TEST_F(ReconsiderTest, FO053ARuleThatChangesIsInForceAtOnce) {
    world.set_online_rule("ann", Audience::nobody);
    EXPECT_EQ(of_ann(), Statuses{Status::offline});
    world.run(10ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::online));
    world.run(30s);
    EXPECT_EQ(of_ann(), Statuses{Status::offline});
    world.change_contacts("ann", "bob", true);
    world.run(1s);
    EXPECT_EQ(of_ann(), Statuses{Status::offline});
    world.set_online_rule("ann", Audience::contacts);
    EXPECT_EQ(of_ann(), (Statuses{Status::offline, Status::online}));
}

TEST_F(ReconsiderTest, FO055TheEndOfAContactEndsTheStream) {
    world.change_contacts("ann", "bob", true);
    world.set_online_rule("ann", Audience::contacts);
    world.run(1s);
    EXPECT_TRUE(world.told(bob).empty());  // It could see before and can see after.
    world.change_contacts("ann", "bob", false);
    ASSERT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.told(bob)[0]);
}

TEST_F(ReconsiderTest, FO056HidingCostsSeeing) {
    world.set_online_rule("bob", Audience::nobody);
    ASSERT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.told(bob)[0]);
    world.run(60s);
    world.set_online_rule("bob", Audience::everyone);
    EXPECT_EQ(of_ann(), (Statuses{Status::offline, Status::online}));
}

TEST(Reciprocity, SwitchedOffHidingCostsNothing) {
    testing::WorldOptions options;
    options.config.privacy.reciprocity = false;
    World world(options);
    const Client bob = world.connect("bob");
    (void)world.connect("ann");
    world.run(2s);
    world.watch(bob, {"ann"});
    world.set_online_rule("bob", Audience::nobody);
    world.run(2s);
    EXPECT_TRUE(world.told(bob).empty());
}

TEST_F(ReconsiderTest, FO056HidingLastSeenTakesAwayTheLastSeenOfOthers) {
    for (const auto& [owner, other] : {std::pair{"ann", "bob"}, std::pair{"bob", "ann"}}) {
        world.change_contacts(owner, other, true);
    }
    world.run(1s);
    world.bye(ann);
    world.run(2s);
    ASSERT_TRUE(world.told(bob).back().last_seen);
    world.told(bob).clear();
    world.set_last_seen_rule("bob", Audience::nobody);
    ASSERT_EQ(world.told(bob).size(), 1U);
    EXPECT_FALSE(world.told(bob)[0].last_seen);
    EXPECT_GT(world.told(bob)[0].version, Version{0});
    world.set_last_seen_rule("bob", Audience::contacts);
    ASSERT_EQ(world.told(bob).size(), 2U);
    EXPECT_TRUE(world.told(bob)[1].last_seen);
}

TEST_F(ReconsiderTest, AChangeThatTouchesNobodyWhoWatchesTellsNothing) {
    world.change_blocks("ann", "zoe", true);
    world.change_contacts("ann", "bob", true);
    world.change_blocks("bob", "zoe", true);
    world.run(5s);
    EXPECT_TRUE(world.told(bob).empty());
}

TEST_F(ReconsiderTest, OneWhoCannotReadIsToldWhatCameOfItAndNotBefore) {
    world.set_takes(bob, false);
    world.change_blocks("ann", "bob", true);
    world.run(2s);
    EXPECT_TRUE(world.told(bob).empty());
    world.set_takes(bob, true);
    ASSERT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.told(bob)[0]);
}

TEST_F(ReconsiderTest, OneWhoCannotReadIsToldOfALastSeenRuleToo) {
    world.change_contacts("ann", "bob", true);
    world.change_contacts("bob", "ann", true);
    world.run(1s);
    world.bye(ann);
    world.run(2s);
    world.told(bob).clear();
    world.set_takes(bob, false);
    world.set_last_seen_rule("ann", Audience::nobody);
    world.run(2s);
    world.set_takes(bob, true);
    ASSERT_EQ(world.told(bob).size(), 1U);
    EXPECT_FALSE(world.told(bob)[0].last_seen);
}

TEST_F(ReconsiderTest, NobodyIsToldByAnOldVerdictAfterTheRuleChanged) {
    // Bob cannot read; a change waits for him; then he loses sight. What waited must not go out.
    world.set_takes(bob, false);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(2s);
    world.change_blocks("ann", "bob", true);
    world.run(2s);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::dnd));
    world.connection(bob).takes = true;  // It can read, and has not caught up yet.
    world.run(1s);
    for (const Told& told : world.told(bob)) {
        expect_hidden(told);
    }
}

TEST_F(ReconsiderTest, TheDatabaseAwayAtThatMomentShowsUnknownAndHealsWithinTwoSeconds) {
    for (const Millis away : {Millis{500}, Millis{5'000}, Millis{60'000}}) {
        world.told(bob).clear();
        world.disk->profiles.set_unavailable(true);
        world.gateway(kAnn).on_profile_changed(kAnn, 1);  // As from another node.
        world.run(away);
        EXPECT_EQ(of_ann(), Statuses{Status::unknown});
        EXPECT_EQ(world.told(bob)[0].version, Version{0});
        ASSERT_TRUE(world.told(bob)[0].text.empty());
        world.disk->profiles.set_unavailable(false);
        world.run(2s);
        EXPECT_EQ(of_ann(), (Statuses{Status::unknown, Status::online})) << away.count();
    }
}

TEST_F(ReconsiderTest, ABlockWhoseAnswerWasLostIsToldByItsRetryThoughThatChangesNothing) {
    UserSetChange block;
    block.add = UserSet({UserId("bob")});
    world.disk->profiles.faults().set_loses_answers(true);
    ASSERT_FALSE(world.wait(world.shard_of(kAnn).editor.change_blocks(kAnn, block)));
    world.disk->profiles.faults().set_loses_answers(false);
    world.run(1s);
    world.told(bob).clear();
    Result<ProfileChange> again =
        world.wait(world.shard_of(kAnn).editor.change_blocks(kAnn, block));
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->changed);
    world.turn();
    ASSERT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.told(bob)[0]);
}

TEST_F(ReconsiderTest, WhileNobodyCanLookNothingGoesOutByAVerdictThatMayBeVoid) {
    world.sessions.set_unavailable(true);
    world.change_blocks("ann", "bob", true);
    world.run(3500ms);
    // The store takes writes again, and an announcement comes before the look is made anew.
    world.sessions.set_unavailable(false);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(5s);
    ASSERT_EQ(world.told(bob).size(), 1U);
    expect_hidden(world.told(bob)[0]);
}

TEST_F(ReconsiderTest, OneWatchedWhileTheDatabaseIsAwayIsUnknownUntilItIsBack) {
    world.disk->profiles.set_unavailable(true);
    const std::vector<Told> snapshot = world.watch(bob, {"carl"});
    EXPECT_EQ(snapshot[0].status, Status::unknown);
    EXPECT_EQ(snapshot[0].version, Version{0});
    world.run(10s);
    EXPECT_TRUE(statuses(world.told(bob), "carl").empty());
    world.disk->profiles.set_unavailable(false);
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "carl"), Statuses{Status::offline});
}

TEST_F(ReconsiderTest, WhileTheDatabaseIsAwayARuleThatWasReadStaysInForce) {
    world.change_blocks("ann", "bob", true);
    world.disk->profiles.set_unavailable(true);
    world.run(10min);
    expect_hidden(world.look("bob", "ann"));
    EXPECT_EQ(world.look("ann", "ann").status, Status::online);
}

TEST(ManyWatchers, AreJudgedAnewInPacedBatchesAndEachIsTold) {
    testing::WorldOptions options;
    options.threads = 2;
    World world(options);
    std::vector<Client> viewers;
    for (int i = 0; i < 700; ++i) {
        viewers.push_back(world.connect(UserId("user" + std::to_string(i))));
        world.watch(viewers.back(), {"ann"});
    }
    (void)world.connect("ann");
    world.run(2s);
    world.set_online_rule("ann", Audience::only, {UserId("user7")});
    for (const Client& viewer : viewers) {
        const bool sees = viewer->user == UserId("user7");
        EXPECT_EQ(statuses(world.told(viewer), "ann").size(), sees ? 1U : 2U);
    }
    EXPECT_EQ(world.threads[0]->shard.counters.verdicts_changed +
                  world.threads[1]->shard.counters.verdicts_changed,
              699U);
}

TEST(Hidden, FO052UnknownNeverSeenHiddenAndBlockedAreOneAnswer) {
    World world;
    (void)world.connect("hidden");
    (void)world.connect("blocker");
    (void)world.connect("shy");
    world.set_online_rule("hidden", Audience::nobody);
    world.change_blocks("blocker", "bob", true);
    world.set_online_rule("shy", Audience::contacts);
    for (const char* user : {"nobody", "hidden", "blocker", "shy"}) {
        EXPECT_EQ(world.look("bob", user).line(), std::string(user) + " offline v0 ''");
    }
}

TEST(Hidden, FO050HidingLastSeenShowsNoSubstitute) {
    World world;
    world.change_contacts("ann", "bob", true);
    world.change_contacts("bob", "ann", true);
    world.bye(world.connect("ann"));
    world.run(2s);
    EXPECT_TRUE(world.look("bob", "ann").last_seen);
    world.set_last_seen_rule("ann", Audience::nobody);
    EXPECT_FALSE(world.look("bob", "ann").last_seen);
}

TEST(Reconsidering, AHiddenLastSeenOfOneWhoIsOnlineIsNotTold) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.set_last_seen_rule("ann", Audience::everyone);
    world.set_last_seen_rule("bob", Audience::everyone);  // Reciprocity.
    world.run(3s);
    world.watch(bob, {"ann"});
    world.set_last_seen_rule("ann", Audience::nobody);
    world.run(3s);
    EXPECT_TRUE(world.told(bob).empty());
    world.bye(ann);
    ASSERT_EQ(world.told(bob).size(), 1U);
    EXPECT_FALSE(world.told(bob)[0].last_seen);
}

TEST(Reconsidering, AHiddenLastSeenTakesTheTimeOfAStatusWithIt) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.set_last_seen_rule("ann", Audience::everyone);
    world.set_last_seen_rule("bob", Audience::everyone);  // Reciprocity.
    ASSERT_TRUE(world.declare_on(ann, DeclaredStatus::busy));
    world.run(3s);
    world.watch(bob, {"ann"});
    world.set_last_seen_rule("ann", Audience::nobody);
    world.run(3s);
    EXPECT_EQ(world.told(bob).size(), 1U);
}

}  // namespace
}  // namespace presence
