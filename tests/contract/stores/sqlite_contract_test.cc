// The ports' contracts on SQLite: within one life of the process, and with a restart wherever a
// contract says that one may happen.

#include "contract/profile_store_contract.h"
#include "contract/session_journal_contract.h"
#include "contract/stores/sqlite_support.h"

#include <optional>

namespace presence::testing {

namespace {

class SqliteAdapter {
public:
    SqliteAdapter() { make_stores(); }

    template <class T>
    T run(Task<T> task) {
        return life_.run(std::move(task));
    }
    ProfileStore& store(int thread) { return thread == 0 ? *first_ : *second_; }
    SessionJournal& journal() { return *journal_; }
    void restart() {
        life_.reopen();
        make_stores();
    }
    /// Somebody else holds the write lock for longer than we wait.
    void set_unavailable(bool unavailable) {
        if (unavailable) {
            locker_.emplace(folder_.file("test.db"));
            locker_->execute("BEGIN IMMEDIATE");
        } else {
            locker_.reset();
        }
    }

private:
    void make_stores() {
        first_.emplace(life_.database(), life_.loop());
        second_.emplace(life_.database(), life_.loop());
        journal_.emplace(life_.database(), life_.loop());
    }

    TemporaryFolder folder_;
    SqliteLife life_{{.path = folder_.file("test.db"), .busy_timeout = Millis{20}}};
    std::optional<OtherProgram> locker_;
    std::optional<SqliteProfileStore> first_;
    std::optional<SqliteProfileStore> second_;
    std::optional<SqliteJournal> journal_;
};

class SqliteInOneLife : public SqliteAdapter {
public:
    void reopen() {}
};

class SqliteWithRestarts : public SqliteAdapter {
public:
    void reopen() { restart(); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, ProfileStoreContract, SqliteInOneLife);
INSTANTIATE_TYPED_TEST_SUITE_P(SqliteWithRestarts, ProfileStoreContract, SqliteWithRestarts);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, SessionJournalContract, SqliteAdapter);

}  // namespace

}  // namespace presence::testing
