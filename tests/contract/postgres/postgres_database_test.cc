// What holds on PostgreSQL beyond the port's contract: start, outages, several nodes, odd servers.

#include "presence/stores/postgres/schema.h"

#include "contract/postgres/postgres_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace presence::testing {

namespace {

using postgres::Connection;
using postgres::Database;
using postgres::DatabaseConfig;
using postgres::Durability;

constexpr WallTime kNow = WallTime::from_ms(1'735'689'600'123);

UserId numbered(std::int64_t number) {
    return UserId("user " + std::to_string(number));
}

LastSeenRow row(std::int64_t number) {
    return {numbered(number), kNow + Millis{number}, Version{1}, Version{1}, kNow};
}

std::vector<LastSeenRow> rows(std::int64_t from, std::int64_t to) {
    std::vector<LastSeenRow> made;
    for (std::int64_t i = from; i < to; ++i) {
        made.push_back(row(i));
    }
    return made;
}

/// Quick to find out and to come back, so that tests need not wait.
DatabaseConfig quick(const std::string& url) {
    return {.connection = {.url = url, .connect_timeout = Millis{2'000}},
            .retry_first = Millis{10},
            .retry_most = Millis{50}};
}

/// Tries until the call succeeds: a server that was away is found again in the background.
template <class Make>
auto eventually(PostgresLife& life, Make make) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (true) {
        auto result = life.run(make());
        if (result || std::chrono::steady_clock::now() > end) {
            return result;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

TEST(PostgresUrl, SaysWhatIsWrongAndNeverThePassword) {
    EXPECT_TRUE(postgres::check_url("postgresql://u:secret@h:5432/d?sslmode=require"));
    EXPECT_TRUE(postgres::check_url("postgres://h1,h2/d"));
    for (const char* bad : {"mysql://u:secret@h/d", "postgresql://u:secret@h:5432x y/d?=",
                            "postgresql://u:secret@[::1/d", "postgresql://u:secret@h/d?nonsense=1",
                            "postgresql://u:secret%zz@h/d"}) {
        const Result<bool> checked = postgres::check_url(bad);
        ASSERT_FALSE(checked) << bad;
        EXPECT_EQ(checked.error().code, ErrorCode::bad_request);
        EXPECT_EQ(checked.error().message.find("secret"), std::string::npos)
            << checked.error().message;
    }
    EXPECT_EQ(postgres::place_of("postgresql://u:secret@db.example:6432/people"),
              "people on db.example port 6432");
}

TEST(PostgresStart, NobodyThereMakesCallsFailAtOnceAndStoppingQuick) {
    const auto begun = std::chrono::steady_clock::now();
    {
        PostgresLife life(quick("postgresql:///none?host=/nowhere"));
        PostgresProfileStore store(life.database(), life.loop());
        for (int i = 0; i < 3; ++i) {
            const auto refused = life.run(store.load({numbered(1)}));
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
        }
        EXPECT_FALSE(life.database().connected());
        EXPECT_GE(life.database().counters().connect_failures, 1U);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST(PostgresStart, ManyNodesAtOnceMigrateOnce) {
    const std::string url = PostgresServer::shared().create_database();
    std::vector<std::future<Result<std::int64_t>>> nodes;
    for (int node = 0; node < 8; ++node) {
        nodes.push_back(std::async(std::launch::async, [&url]() -> Result<std::int64_t> {
            auto connection = Connection::open({.url = url});
            if (!connection) {
                return connection.error();
            }
            return postgres::migrate(**connection);
        }));
    }
    int made = 0;
    for (auto& node : nodes) {
        const Result<std::int64_t> found = node.get();
        ASSERT_TRUE(found) << found.error().message;
        made += *found == 0 ? 1 : 0;
    }
    EXPECT_EQ(made, 1);
    OtherClient other(url);
    EXPECT_EQ(other.number("SELECT schema FROM presenced.schema_version"),
              postgres::known_schema());
}

TEST(PostgresStart, ANewerSchemaIsUsedWhereItAllowsUsAndLeftAloneWhereNot) {
    const std::string url = PostgresServer::shared().create_database();
    { const PostgresLife life(quick(url)); }
    OtherClient other(url);
    ASSERT_TRUE(postgres::migrate(other.connection()));
    other.execute("UPDATE presenced.schema_version SET schema = 99");
    EXPECT_EQ(*postgres::migrate(other.connection()), 99);
    other.execute("UPDATE presenced.schema_version SET usable_from = 99");
    const Result<std::int64_t> refused = postgres::migrate(other.connection());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("99"), std::string::npos);
}

TEST(PostgresStart, ADatabaseThatIsNotUtf8IsRefusedByName) {
    const std::string url =
        PostgresServer::shared().create_database("ENCODING 'LATIN1' LOCALE 'C'");
    const auto refused = Connection::open({.url = url});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("LATIN1"), std::string::npos) << refused.error().message;
}

TEST(PostgresValues, FO_021_TheZoneOfTheServerChangesNothing) {
    // The server of these tests is set to Asia/Bangkok and German dates.
    const std::string url = PostgresServer::shared().create_database();
    OtherClient other(url);
    for (const char* zone : {"Asia/Bangkok", "America/St_Johns", "UTC"}) {
        other.execute(("ALTER DATABASE " + url.substr(14, url.find('?') - 14) +
                       " SET timezone = '" + zone + "'")
                          .c_str());
        PostgresLife life(quick(url));
        PostgresProfileStore store(life.database(), life.loop());
        const UserId user(zone);
        ASSERT_TRUE(life.run(store.save_last_seen({{user, kNow, Version{1}, Version{1}, kNow}})));
        EXPECT_EQ(life.run(store.load({user})).value().at(0)->last_seen, kNow);
    }
    EXPECT_EQ(other.number("SELECT count(DISTINCT last_seen_ms) FROM presenced.profiles"), 1);
    EXPECT_EQ(other.number("SELECT max(last_seen_ms) FROM presenced.profiles"), kNow.ms());
}

TEST(PostgresValues, FO_068_AZeroIsRefusedAndNothingIsCutAtIt) {
    const std::string url = PostgresServer::shared().create_database();
    PostgresLife life(quick(url));
    PostgresProfileStore store(life.database(), life.loop());
    const UserId zero(std::string("a\0b", 3));
    const auto refused = life.run(store.save_last_seen({{zero, kNow, {}, {}, kNow}}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::internal);
    EXPECT_EQ(life.run(store.load({UserId("a")})).value().at(0), nullptr);
    EXPECT_TRUE(life.run(store.save_last_seen({row(1)})));
}

TEST(PostgresBatches, NeighbouringReadsBecomeOneStatement) {
    const std::string url = PostgresServer::shared().create_database();
    DatabaseConfig config = quick(url);
    config.connections = 1;
    PostgresLife life(config);
    PostgresProfileStore store(life.database(), life.loop());
    ASSERT_TRUE(life.run(store.save_last_seen(rows(0, 300))));
    std::promise<void> release;
    const auto held = start_task(
        life.database().call<bool>(life.loop(), Durability::as_configured, [&](Connection&) {
            release.get_future().wait();
            return true;
        }));
    const std::uint64_t before = life.database().counters().statements_of_reads;
    std::vector<Started<Result<std::vector<ProfileRef>>>> reads;
    for (std::int64_t i = 0; i < 300; ++i) {
        reads.push_back(start_task(store.load({numbered(i), numbered(i), UserId("?")})));
    }
    release.set_value();
    static_cast<void>(life.run(store.load({})));
    for (std::int64_t i = 0; i < 300; ++i) {
        const auto& profiles = (*reads[static_cast<std::size_t>(i)])->value();
        ASSERT_EQ(profiles.size(), 3U);
        EXPECT_EQ(profiles[0]->last_seen, kNow + Millis{i});
        EXPECT_EQ(profiles[1], profiles[0]);
        EXPECT_EQ(profiles[2], nullptr);
    }
    EXPECT_LE(life.database().counters().statements_of_reads - before, 2U);
}

TEST(PostgresBatches, CallsOverTheQueueAreRefusedAndCounted) {
    const std::string url = PostgresServer::shared().create_database();
    DatabaseConfig config = quick(url);
    config.connections = 1;
    config.queue = 3;
    PostgresLife life(config);
    PostgresProfileStore store(life.database(), life.loop());
    ASSERT_TRUE(life.run(store.load({})));
    std::promise<void> begun;
    std::promise<void> release;
    const auto held = start_task(
        life.database().call<bool>(life.loop(), Durability::as_configured, [&](Connection&) {
            begun.set_value();
            release.get_future().wait();
            return true;
        }));
    begun.get_future().wait();
    std::vector<Started<Result<std::vector<ProfileRef>>>> reads;
    for (std::int64_t i = 0; i < 5; ++i) {
        reads.push_back(start_task(store.load({numbered(i)})));
    }
    life.loop().run_ready();
    EXPECT_EQ((*reads[4])->error().code, ErrorCode::unavailable);
    EXPECT_EQ(life.database().counters().refused, 2U);
    release.set_value();
    life.close();
    EXPECT_TRUE((*reads[2])->has_value());
}

TEST(PostgresStart, WhatIsHandedInBeforeTheFirstConnectionIsDoneThoughTheEndComesAtOnce) {
    const std::string url = PostgresServer::shared().create_database();
    { const PostgresLife life(quick(url)); }
    for (std::int64_t round = 0; round < 20; ++round) {
        PostgresLife life(quick(url));
        PostgresProfileStore store(life.database(), life.loop());
        const auto saved = start_task(store.save_last_seen({row(round)}));
        life.close();
        ASSERT_TRUE((*saved)->has_value()) << round << ": " << (*saved)->error().message;
    }
    OtherClient other(url);
    EXPECT_EQ(other.number("SELECT count(*) FROM presenced.profiles"), 20);
}

TEST(PostgresNodes, TwoNodesThatChangeOneUserLoseNothing) {
    const std::string url = PostgresServer::shared().create_database();
    PostgresLife first(quick(url));
    PostgresLife second(quick(url));
    PostgresProfileStore one(first.database(), first.loop());
    PostgresProfileStore two(second.database(), second.loop());
    const UserId ada("ada");
    std::vector<Started<Result<ProfileChange>>> changes;
    constexpr std::int64_t kEach = 50;
    for (std::int64_t i = 0; i < kEach; ++i) {
        changes.push_back(
            start_task(one.change_contacts(ada, {{}, UserSet({numbered(i)}), {}}, 1000)));
        changes.push_back(
            start_task(two.change_contacts(ada, {{}, UserSet({numbered(kEach + i)}), {}}, 1000)));
    }
    first.close();
    second.close();
    for (const auto& change : changes) {
        ASSERT_TRUE((*change)->has_value()) << (*change)->error().message;
    }
    PostgresLife third(quick(url));
    PostgresProfileStore store(third.database(), third.loop());
    const ProfileRef profile = third.run(store.load({ada})).value().at(0);
    EXPECT_EQ(profile->contacts.size(), 2U * kEach);
    EXPECT_EQ(profile->revision, 2U * kEach);
}

TEST(PostgresNodes, ErasuresAndBatchesThatCrossEachOtherAllSucceed) {
    const std::string url = PostgresServer::shared().create_database();
    PostgresLife life(quick(url));
    PostgresProfileStore store(life.database(), life.loop());
    constexpr std::int64_t kUsers = 40;
    std::vector<UserId> all;
    for (std::int64_t i = 0; i < kUsers; ++i) {
        all.push_back(numbered(i));
    }
    for (const UserId& user : all) {
        ASSERT_TRUE(life.run(store.change_contacts(user, {UserSet(all), {}, {}}, 1000)));
    }
    std::vector<Started<Result<std::vector<UserId>>>> erasures;
    std::vector<Started<Result<bool>>> batches;
    for (std::int64_t i = 0; i < kUsers; ++i) {
        erasures.push_back(start_task(store.erase(numbered(i), kNow)));
        std::vector<LastSeenRow> batch = rows(0, kUsers);
        std::reverse(batch.begin(), batch.end());
        batches.push_back(start_task(store.save_last_seen(std::move(batch))));
    }
    life.close();
    for (std::size_t i = 0; i < erasures.size(); ++i) {
        EXPECT_TRUE((*erasures[i])->has_value());
        EXPECT_TRUE((*batches[i])->has_value());
    }
    OtherClient other(url);
    EXPECT_EQ(other.number("SELECT count(*) FROM presenced.named_users"), 0);
    EXPECT_EQ(other.number("SELECT count(last_seen_ms) FROM presenced.profiles"), 0);
}

class PostgresOutage : public ::testing::Test {
protected:
    PostgresServer server_;
    const std::string url_ = server_.create_database();
    PostgresLife life_{quick(url_)};
    PostgresProfileStore store_{life_.database(), life_.loop()};
};

TEST_F(PostgresOutage, FO_091_ARestartOfTheServerIsNoticedByNobodyWhoCallsAfterIt) {
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(life_.run(store_.save_last_seen(rows(round * 100, round * 100 + 100))));
        server_.stop();
        server_.start();
    }
    const auto loaded = life_.run(store_.load({numbered(0), numbered(299)}));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->at(1)->last_seen, kNow + Millis{299});
}

TEST_F(PostgresOutage, FO_091_WhileItIsAwayCallsFailFastAndAfterwardsAllIsWell) {
    ASSERT_TRUE(life_.run(store_.save_last_seen({row(1)})));
    server_.kill();
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) {
        const auto refused = life_.run(store_.save_last_seen({row(2)}));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
    server_.start();
    const auto back = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually(life_, [&] { return store_.save_last_seen({row(3)}); }));
    EXPECT_LT(std::chrono::steady_clock::now() - back, std::chrono::seconds(5));
    const auto loaded = life_.run(store_.load({numbered(1), numbered(2), numbered(3)}));
    EXPECT_EQ(loaded->at(0)->last_seen, kNow + Millis{1});
    EXPECT_EQ(loaded->at(1), nullptr);
    EXPECT_EQ(loaded->at(2)->last_seen, kNow + Millis{3});
}

TEST_F(PostgresOutage, AServerThatGoesAndComesIsNoticedThoughNobodyCalls) {
    postgres::DatabaseConfig config = quick(url_);
    config.look_every = Millis{50};
    PostgresLife idle(std::move(config));
    const auto soon = [&](bool connected) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (idle.database().connected() != connected && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return idle.database().connected() == connected;
    };
    ASSERT_TRUE(soon(true));
    const std::uint64_t calls = idle.database().counters().calls;
    server_.stop();
    EXPECT_TRUE(soon(false));
    server_.start();
    EXPECT_TRUE(soon(true));
    EXPECT_EQ(idle.database().counters().calls, calls) << "it is nobody's call";
}

TEST_F(PostgresOutage, AServerThatComesUpAfterUsIsFound) {
    server_.stop();
    PostgresLife early(quick(url_));
    PostgresProfileStore store(early.database(), early.loop());
    EXPECT_FALSE(early.run(store.load({numbered(1)})));
    server_.start();
    EXPECT_TRUE(eventually(early, [&] { return store.load({numbered(1)}); }));
}

}  // namespace

}  // namespace presence::testing
