// The contract of the outbox in memory and in SQLite.

#include "presence/stores/memory/memory_outbox.h"
#include "presence/stores/sqlite/sqlite_outbox.h"

#include "contract/erased_events.h"
#include "contract/stores/sqlite_support.h"
#include "contract/webhook_outbox_contract.h"
#include "support/virtual_time.h"

#include <optional>

namespace presence::testing {

namespace {

class MemoryAdapter {
public:
    WebhookOutbox& outbox(int node) { return node == 0 ? first_ : second_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(std::move(task));
    }
    void pass(Millis time) { clock_.pass(time); }
    void reopen() {}

private:
    VirtualClock clock_;
    MemoryOutboxState state_{clock_};
    MemoryOutbox first_{state_};
    MemoryOutbox second_{state_};
};

class SqliteAdapter {
public:
    SqliteAdapter() { make(); }
    WebhookOutbox& outbox(int node) { return node == 0 ? *first_ : *second_; }
    template <class T>
    T run(Task<T> task) {
        return life_.run(std::move(task));
    }
    void pass(Millis time) { clock_.pass(time); }
    void reopen() {
        life_.reopen();
        make();
    }

private:
    void make() {
        first_.emplace(life_.database(), clock_, life_.loop());
        second_.emplace(life_.database(), clock_, life_.loop());
    }

    VirtualClock clock_;
    TemporaryFolder folder_;
    SqliteLife life_{{.path = folder_.file("test.db")}};
    std::optional<SqliteOutbox> first_;
    std::optional<SqliteOutbox> second_;
};

TEST(SqliteErasure, TakesTheEventsOfTheUserInTheSameTransaction) {
    VirtualClock clock;
    const TemporaryFolder folder;
    SqliteLife life{{.path = folder.file("test.db")}};
    SqliteOutbox outbox(life.database(), clock, life.loop());
    SqliteProfileStore profiles(life.database(), life.loop());
    expect_an_erasure_to_take_the_events(life, outbox, profiles);
}

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, WebhookOutboxContract, MemoryAdapter);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, WebhookOutboxContract, SqliteAdapter);

}  // namespace

}  // namespace presence::testing
