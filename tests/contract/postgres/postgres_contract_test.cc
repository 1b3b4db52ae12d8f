// The port's contract on a real PostgreSQL: within one life of the process, and with a restart
// wherever the contract says that one may happen.

#include "contract/postgres/postgres_support.h"
#include "contract/profile_store_contract.h"

#include <optional>

namespace presence::testing {

namespace {

class PostgresAdapter {
public:
    PostgresAdapter() { make_stores(); }

    template <class T>
    T run(Task<T> task) {
        return life_.run(std::move(task));
    }
    ProfileStore& store(int thread) { return thread == 0 ? *first_ : *second_; }
    void restart() {
        life_.reopen();
        make_stores();
    }
    /// Somebody else holds the table for longer than we wait.
    void set_unavailable(bool unavailable) {
        if (unavailable) {
            locker_.emplace(url_);
            locker_->execute("BEGIN; LOCK TABLE presenced.profiles, presenced.named_users");
        } else {
            locker_.reset();
        }
    }

private:
    void make_stores() {
        first_.emplace(life_.database(), life_.loop());
        second_.emplace(life_.database(), life_.loop());
    }

    const std::string url_ = PostgresServer::shared().create_database();
    PostgresLife life_{{.connection = {.url = url_, .statement_timeout = Millis{300}}}};
    std::optional<OtherClient> locker_;
    std::optional<PostgresProfileStore> first_;
    std::optional<PostgresProfileStore> second_;
};

class PostgresInOneLife : public PostgresAdapter {
public:
    void reopen() {}
};

class PostgresWithRestarts : public PostgresAdapter {
public:
    void reopen() { restart(); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, ProfileStoreContract, PostgresInOneLife);
INSTANTIATE_TYPED_TEST_SUITE_P(PostgresWithRestarts, ProfileStoreContract, PostgresWithRestarts);

}  // namespace

}  // namespace presence::testing
