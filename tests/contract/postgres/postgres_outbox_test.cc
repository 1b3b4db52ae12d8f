// The contract of the outbox on a real PostgreSQL, with two nodes; and many at once.

#include "presence/stores/postgres/postgres_outbox.h"

#include "presence/stores/postgres/postgres_profile_store.h"

#include "contract/erased_events.h"
#include "contract/postgres/postgres_support.h"
#include "contract/webhook_outbox_contract.h"

#include <map>
#include <optional>
#include <set>

namespace presence::testing {

namespace {

class PostgresAdapter {
public:
    PostgresAdapter() { make(); }
    WebhookOutbox& outbox(int node) { return node == 0 ? *first_ : *second_; }
    template <class T>
    T run(Task<T> task) {
        return life_.run(std::move(task));
    }
    /// Time is the database's, so what is stored is made older instead.
    void pass(Millis time) {
        const std::string by = std::to_string(time.count());
        OtherClient(url_).execute(("UPDATE presenced.webhook_batches SET due_ms = due_ms - " + by +
                                   ", first_ms = first_ms - " + by)
                                      .c_str());
    }
    void reopen() {
        life_.reopen();
        make();
    }

private:
    void make() {
        first_.emplace(life_.database(), life_.loop());
        second_.emplace(life_.database(), life_.loop());
    }

    const std::string url_ = PostgresServer::shared().create_database();
    PostgresLife life_{{.connection = {.url = url_}}};
    std::optional<PostgresOutbox> first_;
    std::optional<PostgresOutbox> second_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, WebhookOutboxContract, PostgresAdapter);

TEST(PostgresErasure, TakesTheEventsOfTheUserInTheSameTransaction) {
    PostgresLife life({.connection = {.url = PostgresServer::shared().create_database()}});
    PostgresOutbox outbox(life.database(), life.loop());
    PostgresProfileStore profiles(life.database(), life.loop());
    expect_an_erasure_to_take_the_events(life, outbox, profiles);
}

TEST(PostgresOutboxNodes, ManyThatClaimAtOnceGetEachEventOnceAndEachUserInOrder) {
    constexpr int kNodes = 6;
    constexpr int kUsers = 20;
    constexpr int kEvents = 600;
    const std::string url = PostgresServer::shared().create_database();
    PostgresLife life({.connection = {.url = url}, .connections = 6});
    std::vector<std::unique_ptr<PostgresOutbox>> nodes;
    for (int i = 0; i < kNodes; ++i) {
        nodes.push_back(std::make_unique<PostgresOutbox>(life.database(), life.loop()));
    }
    std::vector<OutboxEvent> events;
    for (int i = 0; i < kEvents; ++i) {
        events.push_back({"t", std::to_string(i % kUsers), std::to_string(i)});
    }
    ASSERT_TRUE(life.run(nodes[0]->append(events)));
    std::map<int, int> last_of;  // By user.
    std::set<int> seen;
    int id = 0;
    for (int round = 0; round < 1000 && seen.size() < kEvents; ++round) {
        std::vector<Started<Result<std::vector<OutboxBatch>>>> claims;
        for (const auto& node : nodes) {
            OutboxClaim claim{.target = "t", .new_ids = {}, .most_events = 5};
            claim.new_ids = {std::to_string(++id), std::to_string(++id)};
            claims.push_back(start_task(node->claim(std::move(claim))));
        }
        std::set<int> users;
        for (const auto& claim : claims) {
            life.loop().run_until([&] { return claim->has_value(); });
            ASSERT_TRUE((*claim)->has_value()) << (*claim)->error().message;
            for (const OutboxBatch& batch : (*claim)->value()) {
                std::set<int> of_batch;
                for (const std::string& body : batch.bodies) {
                    const int number = std::stoi(body);
                    EXPECT_TRUE(seen.insert(number).second) << number << " was given twice";
                    const auto last = last_of.find(number % kUsers);
                    EXPECT_TRUE(last == last_of.end() || last->second < number);
                    last_of[number % kUsers] = number;
                    of_batch.insert(number % kUsers);
                }
                for (const int user : of_batch) {
                    EXPECT_TRUE(users.insert(user).second) << user << " is in two batches";
                }
            }
        }
        for (const auto& claim : claims) {
            for (const OutboxBatch& batch : (*claim)->value()) {
                ASSERT_TRUE(life.run(nodes[0]->delivered(batch.id)));
            }
        }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(kEvents));
}

}  // namespace

}  // namespace presence::testing
