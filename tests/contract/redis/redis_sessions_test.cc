#include "presence/stores/redis/redis_sessions.h"

#include "contract/redis/redis_adapters.h"
#include "contract/session_store_contract.h"

#include <string>
#include <vector>

namespace presence::testing {

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, SessionStoreContract, RedisSessionsAdapter<SingleRedis>);

TEST(RedisSessions, ARecordThatCannotBeReadFailsOnlyItsOwnPlace) {
    RedisSessionsAdapter<SingleRedis> adapter;
    SessionStore& store = adapter.store(0);
    const redis::Keys keys("pd", 64);
    for (const char* user : {"ann", "bob", "cid"}) {
        auto record = make_ref<UserRecord>();
        record->commit = 7;
        ASSERT_TRUE(adapter.run(store.commit({UserId(user), 0, record, Millis{60'000}, {}})));
    }
    SingleRedis::server().command({"EVAL",
                                   "return redis.call('SETRANGE', KEYS[1], 0, string.char(31))",
                                   "1", keys.record(UserId("bob"))});  // Of a newer release.
    SingleRedis::server().command(
        {"EVAL",
         "local whole = redis.call('GET', KEYS[1]) "
         "redis.call('SET', KEYS[1], whole:sub(1, 12), 'KEEPTTL') return 1",
         "1", keys.record(UserId("cid"))});  // Damaged.
    const Result<std::vector<UserRecordRef>> loaded =
        adapter.run(store.load({UserId("ann"), UserId("bob"), UserId("cid"), UserId("dan")}));
    ASSERT_TRUE(loaded);
    ASSERT_TRUE((*loaded)[0]);
    EXPECT_EQ((*loaded)[0]->commit, 7U);
    EXPECT_EQ((*loaded)[1], unreadable_record());
    EXPECT_EQ((*loaded)[2], unreadable_record());
    EXPECT_EQ((*loaded)[3], nullptr);
}

}  // namespace

}  // namespace presence::testing
