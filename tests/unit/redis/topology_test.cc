#include "presence/stores/redis/topology.h"

#include "presence/stores/redis/keys.h"
#include "presence/stores/redis/server_link.h"
#include "presence/stores/redis/slots.h"

#include "contract/nasty_ids.h"
#include "unit/redis/read_reply.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <set>
#include <string>

namespace presence::redis {

namespace {

using presence::testing::nasty_ids;
using presence::testing::read_reply;

const Endpoint kAsked{"10.0.0.9", 7000};

TEST(RedisSlots, AreThoseOfTheSpecification) {
    EXPECT_EQ(crc16("123456789"), 0x31C3);
    EXPECT_EQ(slot_of("foo"), 12182);
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    EXPECT_EQ(slot_of("foo{}{bar}"), crc16("foo{}{bar}") % kSlots);
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
    EXPECT_EQ(slot_of("{open"), crc16("{open") % kSlots);
}

TEST(RedisKeys, TagsSpreadEvenlyOverTheSlots) {
    for (const std::size_t count : {1U, 3U, 64U, 100U, 1024U}) {
        const Keys keys("pd", count);
        const int range = kSlots / static_cast<int>(count);
        std::set<std::string> tags;
        for (std::uint32_t partition = 0; partition < count; ++partition) {
            const int middle = static_cast<int>((2 * partition + 1) * kSlots / (2 * count));
            EXPECT_LE(std::abs(keys.slot(partition) - middle), 10) << count << " " << range;
            tags.insert(keys.tag(partition));
        }
        EXPECT_EQ(tags.size(), count);
    }
}

TEST(RedisKeys, AllOfAPartitionIsInOneSlotWhateverTheId) {
    const Keys keys("pd", 64);
    for (const UserId& user : nasty_ids()) {
        const std::uint32_t partition = keys.partition_of(user);
        EXPECT_EQ(slot_of(keys.record(user)), keys.slot(partition)) << user.text.view();
        EXPECT_EQ(slot_of(keys.channel(user)), keys.slot(partition)) << user.text.view();
        EXPECT_EQ(keys.user_of_channel(keys.channel(user)), user);
        EXPECT_EQ(slot_of(keys.partition_channel(partition)), keys.slot(partition));
        EXPECT_EQ(slot_of(keys.incarnation(partition)), keys.slot(partition));
        EXPECT_EQ(slot_of(keys.index(partition, NodeId{1})), keys.slot(partition));
        EXPECT_EQ(slot_of(keys.tombstone(partition, NodeId{1})), keys.slot(partition));
        EXPECT_EQ(keys.partition_of_channel(keys.partition_channel(partition)), partition);
        EXPECT_EQ(keys.partition_of_channel(keys.channel(user)), std::nullopt);
        EXPECT_TRUE(keys.partition(partition).holds(user));
    }
    EXPECT_EQ(keys.user_of_channel(keys.partition_channel(3)), std::nullopt);
}

TEST(RedisKeys, UsersSpreadOverPartitionsAndTheHashIsWrittenInStone) {
    const Keys keys("pd", 64);
    std::array<int, 64> users{};
    for (int i = 0; i < 64'000; ++i) {
        ++users.at(keys.partition_of(UserId("user-" + std::to_string(i))));
    }
    for (const int count : users) {
        EXPECT_GT(count, 850);
        EXPECT_LT(count, 1150);
    }
    // Another hash would lose every record of a running deployment.
    EXPECT_EQ(keys.partition_of(UserId("ada")), 39U);
    EXPECT_EQ(keys.partition_of(UserId("")), 51U);
}

TEST(RedisTopology, ReadsClusterSlots) {
    const Reply reply = read_reply(
        "*2\r\n"
        "*4\r\n:0\r\n:8191\r\n*4\r\n$9\r\n127.0.0.1\r\n:7001\r\n$2\r\nid\r\n*0\r\n"
        "*3\r\n$9\r\n127.0.0.1\r\n:7004\r\n$2\r\nid\r\n"
        "*3\r\n:8192\r\n:16383\r\n*3\r\n$0\r\n\r\n:7002\r\n$2\r\nid\r\n");
    const auto ranges = parse_cluster_slots(reply.view(), kAsked);
    ASSERT_TRUE(ranges);
    EXPECT_EQ(*ranges, (std::vector<SlotRange>{{0, 8191, {"127.0.0.1", 7001}},
                                               {8192, 16383, {"10.0.0.9", 7002}}}));
}

TEST(RedisTopology, LeavesOutWhatMakesNoSense) {
    const Reply reply = read_reply(
        "*5\r\n"
        "*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n"
        "*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n"
        "*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:70000\r\n"
        "*2\r\n:0\r\n:1\r\n"
        "*3\r\n:6\r\n:6\r\n*2\r\n$-1\r\n:6\r\n");
    const auto ranges = parse_cluster_slots(reply.view(), kAsked);
    ASSERT_TRUE(ranges);
    EXPECT_EQ(*ranges, (std::vector<SlotRange>{{6, 6, {"10.0.0.9", 6}}}));
    EXPECT_FALSE(parse_cluster_slots(read_reply("-ERR no\r\n").view(), kAsked));
}

TEST(RedisTopology, ReadsRedirections) {
    const auto moved = parse_redirection("MOVED 3999 127.0.0.1:6381", kAsked);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->slot, 3999);
    EXPECT_EQ(moved->to, (Endpoint{"127.0.0.1", 6381}));
    EXPECT_EQ(parse_redirection("ASK 1 :6381", kAsked)->to, (Endpoint{"10.0.0.9", 6381}));
    EXPECT_EQ(parse_redirection("ASK 1 ::1:6381", kAsked)->to, (Endpoint{"::1", 6381}));
    for (const char* const broken : {"MOVED", "MOVED 1", "MOVED x a:1", "MOVED 16384 a:1",
                                     "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:x"}) {
        EXPECT_FALSE(parse_redirection(broken, kAsked)) << broken;
    }
}

TEST(RedisReplies, AreToldApartByTheirFirstWord) {
    const auto kind = [](const char* text) {
        return classify(read_reply(std::string("-") + text + "\r\n").view());
    };
    EXPECT_EQ(kind("NOSCRIPT No matching script."), ReplyError::no_script);
    EXPECT_EQ(kind("MOVED 1 a:1"), ReplyError::moved);
    EXPECT_EQ(kind("ASK 1 a:1"), ReplyError::ask);
    EXPECT_EQ(kind("TRYAGAIN Multiple keys"), ReplyError::try_again);
    EXPECT_EQ(kind("CLUSTERDOWN Hash slot not served"), ReplyError::cluster_down);
    EXPECT_EQ(kind("LOADING Redis is loading"), ReplyError::loading);
    EXPECT_EQ(kind("READONLY You can't write"), ReplyError::read_only);
    EXPECT_EQ(kind("OOM command not allowed"), ReplyError::out_of_memory);
    EXPECT_EQ(kind("WRONGPASS invalid"), ReplyError::no_auth);
    EXPECT_EQ(kind("NOPERM this user"), ReplyError::no_auth);
    EXPECT_EQ(kind("ERR MOVED is not first"), ReplyError::other);
    EXPECT_EQ(classify(read_reply("+OK\r\n").view()), ReplyError::none);
}

TEST(RedisServers, AreKnownByWhatInfoTells) {
    ServerFacts facts;
    read_info(
        "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n# Replication\r\nrole:slave\r\n"
        "async_loading:1\r\nloading:0\r\n",
        facts);
    EXPECT_EQ(facts.version, "7.0.15");
    EXPECT_EQ(facts.run_id, "abc");
    EXPECT_FALSE(facts.master);
    EXPECT_FALSE(facts.loading);
    EXPECT_TRUE(is_new_enough("7.0.15"));
    EXPECT_TRUE(is_new_enough("10.0"));
    EXPECT_FALSE(is_new_enough("6.2.14"));
    EXPECT_FALSE(is_new_enough(""));
}

TEST(RedisReplies, AnArrayLargerThanAnyIsRefusedBeforeMemoryIsSetAsideForIt) {
    const auto read = [](std::string_view bytes) {
        const ReplyReader reader = new_reader();
        redisReaderFeed(reader.get(), bytes.data(), bytes.size());
        void* raw = nullptr;
        const int outcome = redisReaderGetReply(reader.get(), &raw);
        EXPECT_EQ(raw, nullptr);
        return outcome;
    };
    EXPECT_EQ(read("*1048576\r\n:1\r\n"), REDIS_OK) << "the rest is to come";
    EXPECT_EQ(read("*1048577\r\n"), REDIS_ERR);
    EXPECT_EQ(read("*2\r\n:1\r\n*104848576\r\n"), REDIS_ERR);
}

}  // namespace

}  // namespace presence::redis
