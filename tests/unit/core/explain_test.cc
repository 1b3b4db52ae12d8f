// Why did Bob see Alice like this a while ago? By what all nodes remember.

#include "presence/core/explain.h"

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

namespace presence::testing {
namespace {

using Node = Cluster::Node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ExplainTest : ::testing::Test {
    Cluster cluster{2};

    WallTime now() { return cluster.clock.wall_now(); }
    Survey::Remembered past(Node& asked, const char* user) {
        return cluster.wait(asked.survey.past(UserId(user)));
    }
    std::vector<std::string> causes(Node& asked, const char* user) {
        std::vector<std::string> causes;
        for (const PastTransition& one : past(asked, user).past.transitions) {
            causes.push_back(one.cause);
        }
        return causes;
    }
    ExplainedMoment moment(WallTime at, const char* viewer = "bob") {
        Node& asked = cluster.node(1);
        Result<Explanation> why =
            cluster.wait(explain_view(asked.shard, UserId(viewer), UserId("alice")));
        PRESENCE_ASSERT(why.has_value());
        return explain_moment(at, past(asked, "alice").past, past(asked, viewer).past, *why);
    }
};

TEST_F(ExplainTest, EachNodeTellsWhatItSettledAndWhichItIs) {
    const auto phone = cluster.connect(cluster.node(0), "alice");
    cluster.run(10s);
    const auto laptop = cluster.connect(cluster.node(1), "alice");
    cluster.run(10s);
    cluster.declare(cluster.node(1), "alice", DeclaredStatus::busy);
    cluster.run(10s);
    cluster.bye(phone);
    for (std::size_t asked = 0; asked < 2; ++asked) {
        const Survey::Remembered all = past(cluster.node(asked), "alice");
        EXPECT_TRUE(all.complete);
        ASSERT_EQ(all.past.transitions.size(), 2U);
        const PastTransition& first = all.past.transitions[0];
        EXPECT_EQ(first.cause, "connect");
        EXPECT_EQ(first.node, cluster.node(0).member.self());
        EXPECT_EQ(first.session, phone->id);
        EXPECT_EQ(first.after.shown, Status::online);
        const PastTransition& second = all.past.transitions[1];
        EXPECT_EQ(second.cause, "status");
        EXPECT_EQ(second.node, cluster.node(1).member.self());
        EXPECT_EQ(second.session, SessionId());
        EXPECT_EQ(second.before.shown, Status::online);
        EXPECT_EQ(second.after.shown, Status::busy);
    }
    EXPECT_THAT(past(cluster.node(0), "nobody").past.transitions, IsEmpty());
}

TEST_F(ExplainTest, ASilentDeathIsToldWithItsCauseAndSession) {
    const auto phone = cluster.connect(cluster.node(0), "alice");
    cluster.run(3min);
    const WallTime alive = now();
    phone->beating = false;
    cluster.run(3min);
    EXPECT_THAT(causes(cluster.node(1), "alice"), ElementsAre("connect", "silence"));
    const ExplainedMoment then = moment(alive);
    EXPECT_TRUE(then.known);
    EXPECT_EQ(then.seen, Status::online);
    EXPECT_EQ(then.because->cause, "connect");
    const ExplainedMoment later = moment(now());
    EXPECT_EQ(later.seen, Status::offline);
    EXPECT_EQ(later.because->cause, "silence");
    EXPECT_EQ(later.because->session, phone->id);
}

TEST_F(ExplainTest, BeforeTheFirstThatIsRememberedStoodWhatThatOneFound) {
    cluster.run(1min);
    const WallTime before = now();
    cluster.run(1min);
    (void)cluster.connect(cluster.node(0), "alice");
    EXPECT_EQ(moment(before).seen, Status::offline);
    EXPECT_FALSE(moment(before).because);
    EXPECT_FALSE(moment(before - 2h).known);
    EXPECT_FALSE(moment(before - 2h).seen);
}

TEST_F(ExplainTest, OneWhoWasInvisibleWasSeenOfflineByOthersAndAsInvisibleByTheirOwn) {
    (void)cluster.connect(cluster.node(0), "alice");
    cluster.declare(cluster.node(0), "alice", DeclaredStatus::invisible);
    const WallTime then = now();
    cluster.run(10s);
    cluster.declare(cluster.node(0), "alice", DeclaredStatus::automatic);
    EXPECT_EQ(moment(then).seen, Status::offline);
    EXPECT_EQ(moment(then, "alice").seen, Status::invisible);
    EXPECT_EQ(moment(then).faces.own, Status::invisible);
}

TEST_F(ExplainTest, RulesThatWereChangedSinceAreSaidAndNotJudgedBy) {
    (void)cluster.connect(cluster.node(0), "alice");
    cluster.run(10s);
    const WallTime open = now();
    cluster.run(10s);
    cluster.hide("alice");
    const WallTime hidden = now();
    cluster.run(10s);
    EXPECT_THAT(causes(cluster.node(1), "alice"), ElementsAre("connect", "privacy"));
    EXPECT_TRUE(moment(open).rules_changed);
    EXPECT_FALSE(moment(open).seen);
    EXPECT_EQ(moment(open).faces.shown, Status::online);
    EXPECT_FALSE(moment(hidden).rules_changed);
    EXPECT_EQ(moment(hidden).seen, Status::offline);
    // A block by the viewer changes what the viewer sees, too.
    cluster.block(cluster.node(1), "bob", "alice");
    EXPECT_TRUE(moment(hidden).rules_changed);
}

TEST_F(ExplainTest, ANodeThatDiedTakesItsMemoryAlongAndThatIsKnown) {
    (void)cluster.connect(cluster.node(0), "alice");
    cluster.run(2s);
    const WallTime alive = now();
    cluster.run(10s);
    cluster.kill(cluster.node(0));
    cluster.run(30s);
    EXPECT_FALSE(moment(alive).known);
    EXPECT_TRUE(moment(now()).known);
    EXPECT_EQ(moment(now()).because->cause, "node_death");
    EXPECT_EQ(moment(now()).because->node, cluster.node(1).member.self());
}

TEST_F(ExplainTest, ANodeThatDoesNotAnswerIsMissed) {
    cluster.run(5s);
    cluster.pause(cluster.node(0));
    EXPECT_FALSE(past(cluster.node(1), "alice").complete);
}

}  // namespace
}  // namespace presence::testing
