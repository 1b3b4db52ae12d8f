#include "presence/stores/redis/redis_sessions.h"

#include "presence/stores/redis/redis_bus.h"

#include "contract/redis/redis_server.h"
#include "contract/session_store_contract.h"
#include "support/loop_scheduler.h"
#include "support/run_task.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace presence::testing {

namespace {

/// One server for all tests of the program, emptied before each.
RedisServer& shared_server() {
    static RedisServer server;
    return server;
}

class RedisSessionsAdapter {
public:
    static constexpr Millis kSlack{2'000};  // The server's time goes on by itself.

    RedisSessionsAdapter() {
        shared_server().command({"FLUSHALL"});
        client_ = redis::Client::start(shared_server().config(), clock_).value();
        EXPECT_TRUE(client_->wait_for_first_contact(Millis{5'000}).value());
        for (std::unique_ptr<RedisSessionStore>& store : stores_) {
            store = std::make_unique<RedisSessionStore>(*client_, keys_, loop_);
        }
        bus_ = std::make_unique<RedisBus>(*client_, keys_, std::vector<Scheduler*>{&loop_}, 1);
        bus_->endpoint(0).set_receiver(&receiver_);
        EXPECT_TRUE(run(bus_->endpoint(0).subscribe({user_})));
    }
    ~RedisSessionsAdapter() {
        set_unavailable(false);
        client_->stop();
        bus_.reset();
        EXPECT_TRUE(keys_without_ttl(shared_server()).empty());
    }
    RedisSessionsAdapter(const RedisSessionsAdapter&) = delete;
    RedisSessionsAdapter& operator=(const RedisSessionsAdapter&) = delete;

    SessionStore& store(int thread) { return *stores_.at(static_cast<std::size_t>(thread)); }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(loop_, std::move(task));
    }
    void pass(Millis time) { EXPECT_TRUE(age_all_keys(shared_server(), time.count())); }
    /// Those of the contract's user, in order: a mark is sent behind them, and waited for.
    std::vector<PresenceEventRef> events() {
        auto mark = std::make_shared<PresenceEvent>();
        mark->user = user_;
        bus_->endpoint(0).publish(mark);
        EXPECT_TRUE(loop_.run_until([this] { return receiver_.marked; }));
        return receiver_.events;
    }
    void set_unavailable(bool unavailable) {
        shared_server().command(
            {"ACL", "SETUSER", "default", unavailable ? "-@all" : "+@all", "+acl", "+client"});
    }

private:
    struct Receiver final : PresenceBus::Receiver {
        void on_presence(const PresenceEventRef& event) override {
            if (event->presence.own_version.value == 0) {
                marked = true;
            } else {
                events.push_back(event);
            }
        }
        void on_profile_changed(const UserId&, std::uint64_t) override {}
        void on_signal(const SignalRef&) override {}
        void on_session_taken(const SessionTaken&) override {}
        void on_room(const RoomStatementRef&) override {}
        void on_room_asked(const RoomId&) override {}
        void on_end_set(const EndSet&) override {}
        void on_session_stays(const SessionStays&) override {}
        void on_survey(const SurveyQuestionRef&) override {}
        void on_survey_answer(const SurveyAnswerRef&) override {}
        std::vector<PresenceEventRef> events;
        bool marked = false;
    };

    const UserId user_{"ada"};
    SystemClock clock_;
    LoopScheduler loop_;
    Receiver receiver_;
    redis::Keys keys_{"pd", 64};
    std::unique_ptr<redis::Client> client_;
    std::array<std::unique_ptr<RedisSessionStore>, 2> stores_;
    std::unique_ptr<RedisBus> bus_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, SessionStoreContract, RedisSessionsAdapter);

TEST(RedisSessions, ARecordThatCannotBeReadFailsOnlyItsOwnPlace) {
    RedisSessionsAdapter adapter;
    SessionStore& store = adapter.store(0);
    const redis::Keys keys("pd", 64);
    for (const char* user : {"ann", "bob", "cid"}) {
        auto record = make_ref<UserRecord>();
        record->commit = 7;
        ASSERT_TRUE(adapter.run(store.commit({UserId(user), 0, record, Millis{60'000}, {}})));
    }
    shared_server().command({"EVAL", "return redis.call('SETRANGE', KEYS[1], 0, string.char(31))",
                             "1", keys.record(UserId("bob"))});  // Of a newer release.
    shared_server().command({"EVAL",
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
