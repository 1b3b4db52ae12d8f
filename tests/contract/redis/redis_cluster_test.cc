// Three real masters with a replica each: slots that move, masters that die.

#include "presence/stores/redis/slots.h"

#include "contract/presence_bus_contract.h"
#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace presence::testing {

namespace {

std::vector<UserId> some_users(int count) {
    std::vector<UserId> users;
    for (int i = 0; i < count; ++i) {
        users.emplace_back("user " + std::to_string(i));
    }
    return users;
}

class RedisClusterTest : public ::testing::Test {
protected:
    /// Commits each user once more; those that cannot be reached now are tried again.
    void change_all(RedisNode& node, const std::vector<UserId>& users) {
        for (const UserId& user : users) {
            std::uint64_t& commit = commits_[std::string(user.text)];
            ASSERT_TRUE(node.until(
                [&] {
                    // One whose answer was lost may have been done: read, then go on from there.
                    const std::int64_t stored = node.stored(user);
                    if (stored < 0) {
                        return false;
                    }
                    commit = static_cast<std::uint64_t>(stored) + 1;
                    const auto done = node.commit(user, commit);
                    return done && *done == CommitOutcome::committed;
                },
                Millis{20'000}))
                << user.text.view();
        }
    }
    bool all_told(RedisNode& node, const std::vector<UserId>& users) {
        return std::ranges::all_of(users, [&](const UserId& user) {
            return node.receiver.newest[std::string(user.text)] == commits_[std::string(user.text)];
        });
    }

    RedisCluster cluster_;
    std::map<std::string, std::uint64_t> commits_;
};

TEST_F(RedisClusterTest, RecordsAndChannelsOfAllSlotsWork) {
    RedisNode writer(cluster_.config(), 1);
    RedisNode reader(cluster_.config(), 2);
    ASSERT_TRUE(reader.until([&] { return writer.client->usable() && reader.client->usable(); }));
    const std::vector<UserId> users = some_users(300);
    ASSERT_TRUE(reader.subscribe(users));
    change_all(writer, users);
    EXPECT_TRUE(reader.until([&] { return all_told(reader, users); }));
    const auto records = reader.run(reader.store.load(users));
    ASSERT_TRUE(records);
    for (const UserRecordRef& record : *records) {
        ASSERT_NE(record, nullptr);
        EXPECT_EQ(record->commit, 1U);
    }
    for (const std::size_t master : cluster_.masters()) {
        EXPECT_TRUE(keys_without_ttl(cluster_.server(master)).empty());
        // Each master has its share of the partitions.
        EXPECT_NE(cluster_.server(master).command({"KEYS", "*"}), "");
    }
}

TEST_F(RedisClusterTest, FO_085_ASlotThatMovesUnderLoadTakesItsRecordsAndListenersAlong) {
    RedisNode writer(cluster_.config(), 1);
    RedisNode reader(cluster_.config(), 2);
    ASSERT_TRUE(reader.until([&] { return writer.client->usable() && reader.client->usable(); }));
    std::vector<UserId> users;
    const UserId first("user 0");
    const std::uint32_t partition = reader.keys.partition_of(first);
    for (int i = 0; users.size() < 20; ++i) {
        UserId user("user " + std::to_string(i));
        if (reader.keys.partition_of(user) == partition) {
            users.push_back(std::move(user));
        }
    }
    ASSERT_TRUE(reader.subscribe(users));
    change_all(writer, users);
    ASSERT_TRUE(reader.until([&] { return all_told(reader, users); }));
    const std::uint16_t slot = reader.keys.slot(partition);
    const std::size_t home = cluster_.master_of(slot);
    for (const std::size_t to :
         {cluster_.masters()[0] == home ? cluster_.masters()[1] : cluster_.masters()[0], home}) {
        reader.receiver.gaps.clear();
        std::thread mover([&] { cluster_.move_slot(slot, to); });
        change_all(writer, users);
        mover.join();
        change_all(writer, users);
        ASSERT_TRUE(reader.until(
            [&] {
                return std::ranges::any_of(reader.receiver.gaps, [&](const PartitionSet& lost) {
                    return lost.contains(partition);
                });
            },
            Millis{5'000}));
        change_all(writer, users);
        EXPECT_TRUE(reader.until([&] { return all_told(reader, users); }, Millis{5'000}));
        for (const UserId& user : users) {
            EXPECT_EQ(reader.stored(user),
                      static_cast<std::int64_t>(commits_[std::string(user.text)]));
        }
    }
}

TEST_F(RedisClusterTest, FO_085_WhatMeetsASlotHalfMovedWaitsAndIsDoneOnce) {
    RedisNode node(cluster_.config(), 1);
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    const UserId ann("ann");
    ASSERT_EQ(*node.commit(ann, 1), CommitOutcome::committed);
    const std::uint16_t slot = node.keys.slot(node.keys.partition_of(ann));
    const std::size_t from = cluster_.master_of(slot);
    const std::vector<std::size_t> masters = cluster_.masters();
    const std::size_t to = masters[0] == from ? masters[1] : masters[0];
    const auto id_of = [&](std::size_t server) {
        std::string id = cluster_.server(server).command({"CLUSTER", "MYID"});
        return id.substr(0, id.find('\n'));
    };
    const std::string number = std::to_string(slot);
    cluster_.server(to).command({"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(from)});
    cluster_.server(from).command({"CLUSTER", "SETSLOT", number, "MIGRATING", id_of(to)});
    const auto committing =
        start_task(node.store.commit({ann, 1, RedisNode::record(2), Millis{60'000}, nullptr}));
    node.pass(Millis{300});
    EXPECT_FALSE(committing->has_value());  // TRYAGAIN: record here, tombstone perhaps there.
    EXPECT_GE(node.client->counters().put_off, 3U);
    cluster_.server(from).command({"CLUSTER", "SETSLOT", number, "STABLE"});
    cluster_.server(to).command({"CLUSTER", "SETSLOT", number, "STABLE"});
    ASSERT_TRUE(node.until([&] { return committing->has_value(); }, Millis{1'000}));
    ASSERT_TRUE((*committing)->has_value());
    EXPECT_EQ(***committing, CommitOutcome::committed);
    EXPECT_EQ(node.stored(ann), 2);
}

TEST_F(RedisClusterTest, FO_088_FO_086_AMasterThatDiesIsReplacedAndItsListenersComeBack) {
    RedisNode writer(cluster_.config(), 1);
    RedisNode reader(cluster_.config(), 2);
    ASSERT_TRUE(reader.until([&] { return writer.client->usable() && reader.client->usable(); }));
    const std::vector<UserId> users = some_users(100);
    ASSERT_TRUE(reader.subscribe(users));
    change_all(writer, users);
    ASSERT_TRUE(reader.until([&] { return all_told(reader, users); }));
    const std::uint16_t slot = reader.keys.slot(reader.keys.partition_of(users[0]));
    const std::size_t victim = cluster_.master_of(slot);
    cluster_.server(victim).stop();
    ASSERT_TRUE(reader.until([&] { return !reader.client->usable(); }));
    // Those of the other masters are served meanwhile.
    int served = 0;
    for (const UserId& user : users) {
        served += reader.stored(user) >= 0 ? 1 : 0;
    }
    EXPECT_GT(served, 30);
    ASSERT_TRUE(reader.until([&] { return reader.client->usable() && writer.client->usable(); },
                             Millis{30'000}));
    ASSERT_TRUE(reader.until(
        [&] {
            return std::ranges::any_of(reader.receiver.gaps, [&](const PartitionSet& lost) {
                return lost.holds(users[0]);
            });
        },
        Millis{10'000}));
    EXPECT_GT(reader.bus->counters().shaken, 0U);
    change_all(writer, users);
    EXPECT_TRUE(reader.until([&] { return all_told(reader, users); }, Millis{10'000}));
    EXPECT_TRUE(reader.subscribe(users));
}

}  // namespace

}  // namespace presence::testing
