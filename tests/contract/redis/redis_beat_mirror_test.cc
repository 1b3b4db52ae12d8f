// The plain keys of store.write_every_heartbeat, as other systems find them on a real server.

#include "presence/stores/redis/redis_beat_mirror.h"

#include "contract/nasty_ids.h"
#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace presence::testing {

namespace {

constexpr Millis kTtl{1'500};
constexpr NodeId kSelf{0x2a};

class RedisBeatMirrorTest : public ::testing::Test {
protected:
    RedisBeatMirrorTest() {
        EXPECT_TRUE(node_.until([&] { return node_.client->usable(); }));
    }
    ~RedisBeatMirrorTest() override { EXPECT_TRUE(keys_without_ttl(server_).empty()); }

    WallTime now() { return node_.clock.wall_now(); }
    bool write(std::vector<ShownBeat> alive, std::vector<UserId> gone = {}) {
        const auto written = node_.run(mirror_.write(kSelf, std::move(alive), std::move(gone)));
        return written.has_value();
    }
    std::int64_t number(const std::vector<std::string>& command) {
        return std::atoll(server_.command(command).c_str());
    }
    bool in_set(const std::string& user) {
        return server_.command({"ZRANGE", "presence:beats", "0", "-1"}).find(user) !=
               std::string::npos;
    }

    RedisServer server_;
    RedisNode node_{server_.config()};
    RedisBeatMirror mirror_{*node_.client, node_.clock, node_.loop.scheduler(), kTtl};
};

TEST_F(RedisBeatMirrorTest, AKeyNamesTheNodeAndLivesForTheTtlFromTheBeatOn) {
    const WallTime beat = now() - Millis{500};
    ASSERT_TRUE(write({{UserId("ada"), beat}}));
    EXPECT_EQ(server_.command({"GET", "presence:ada"}), "000000000000002a");
    const std::int64_t left = number({"PTTL", "presence:ada"});
    EXPECT_LE(left, 1'000);
    EXPECT_GT(left, 500);
    EXPECT_NEAR(std::atof(server_.command({"ZSCORE", "presence:beats", "ada"}).c_str()) * 1000,
                static_cast<double>(beat.ms()), 1.0);
    node_.pass(Millis{1'100});
    EXPECT_EQ(number({"EXISTS", "presence:ada"}), 0);
}

TEST_F(RedisBeatMirrorTest, TheSetIsTrimmedByWhoeverWritesNextAndGoesByItself) {
    ASSERT_TRUE(write({{UserId("ada"), now()}}));
    node_.pass(kTtl + Millis{100});
    ASSERT_TRUE(write({{UserId("bob"), now()}}));
    EXPECT_FALSE(in_set("ada"));
    EXPECT_TRUE(in_set("bob"));
    node_.pass(2 * kTtl + Millis{100});
    EXPECT_EQ(number({"EXISTS", "presence:beats"}), 0);
}

TEST_F(RedisBeatMirrorTest, ABeatThatComesLateTakesNothingBack) {
    const WallTime newer = now();
    ASSERT_TRUE(write({{UserId("ada"), newer}}));
    ASSERT_TRUE(write({{UserId("ada"), newer - Millis{800}}}));
    EXPECT_NEAR(std::atof(server_.command({"ZSCORE", "presence:beats", "ada"}).c_str()) * 1000,
                static_cast<double>(newer.ms()), 1.0);
}

TEST_F(RedisBeatMirrorTest, WhoIsGoneIsInNeither) {
    ASSERT_TRUE(write({{UserId("ada"), now()}, {UserId("bob"), now()}}));
    ASSERT_TRUE(write({}, {UserId("ada")}));
    EXPECT_EQ(number({"EXISTS", "presence:ada"}), 0);
    EXPECT_FALSE(in_set("ada"));
    EXPECT_EQ(number({"EXISTS", "presence:bob"}), 1);
    EXPECT_TRUE(in_set("bob"));
}

TEST_F(RedisBeatMirrorTest, OneWhoseKeyWouldBeTheSetIsInTheSetOnly) {
    ASSERT_TRUE(write({{UserId("beats"), now()}, {UserId("ada"), now()}}));
    EXPECT_TRUE(in_set("beats"));
    EXPECT_TRUE(in_set("ada"));
    ASSERT_TRUE(write({}, {UserId("beats")}));
    EXPECT_FALSE(in_set("beats"));
    EXPECT_TRUE(in_set("ada"));
}

TEST_F(RedisBeatMirrorTest, NastyIdsStayApart) {
    std::vector<ShownBeat> beats;
    for (const char* const text : kNastyTexts) {
        beats.push_back({UserId(text), now()});
    }
    ASSERT_TRUE(write(std::move(beats)));
    EXPECT_EQ(number({"ZCARD", "presence:beats"}),
              static_cast<std::int64_t>(std::size(kNastyTexts)));
    for (const char* const text : kNastyTexts) {
        EXPECT_EQ(number({"EXISTS", std::string("presence:") + text}), 1) << text;
    }
    ASSERT_TRUE(write({}, {UserId("a:b")}));
    EXPECT_EQ(number({"EXISTS", "presence:a:b"}), 0);
    EXPECT_EQ(number({"EXISTS", "presence:a:b:c"}), 1);
}

}  // namespace

}  // namespace presence::testing
