#include "presence/app/shared_store.h"

#include "presence/base/log.h"
#include "presence/stores/redis/redis_beat_mirror.h"
#include "presence/stores/redis/redis_registry.h"
#include "presence/stores/redis/redis_sessions.h"

#include <utility>

namespace presence::app {

namespace {
/// A start waits that long for the store before it goes on without.
constexpr Millis kFirstContact{3'000};
}  // namespace

SharedStore::SharedStore(std::unique_ptr<redis::Client> client)
    : keys_(client->config().prefix, client->config().partitions),
      lives_(client->config().partitions),
      client_(std::move(client)),
      deployment_(std::make_unique<redis::Deployment>(*client_, keys_)) {}

Result<std::unique_ptr<SharedStore>> SharedStore::open(redis::RedisConfig config,
                                                       const Clock& clock, Loop* shared_loop) {
    Result<std::unique_ptr<redis::Client>> client =
        redis::Client::start(std::move(config), clock, shared_loop);
    if (!client) {
        return client.error();
    }
    std::unique_ptr<SharedStore> store(new SharedStore(std::move(*client)));
    Result<bool> contact = store->client_->wait_for_first_contact(kFirstContact);
    if (contact && *contact) {
        contact = store->deployment_->wait(kFirstContact);
    }
    if (!contact) {
        return contact.error();
    }
    if (!*contact) {
        log::warning("redis_not_reached", "starting without it; it is tried on and on");
    }
    return store;
}

SharedStore::~SharedStore() {
    stop();
}

void SharedStore::connect(std::vector<Scheduler*> threads, std::uint64_t seed) {
    bus_ = std::make_unique<RedisBus>(*client_, keys_, lives_, std::move(threads), seed);
}

std::unique_ptr<SessionStore> SharedStore::sessions(Scheduler& home) {
    return std::make_unique<RedisSessionStore>(*client_, keys_, lives_, home);
}

std::unique_ptr<NodeRegistry> SharedStore::registry(Scheduler& home, Random& random) {
    return std::make_unique<RedisRegistry>(*client_, keys_, home, *bus_, random);
}

std::unique_ptr<BeatMirror> SharedStore::beat_mirror(Scheduler& home, const Clock& clock,
                                                     Millis ttl) {
    return std::make_unique<RedisBeatMirror>(*client_, clock, home, ttl);
}

void SharedStore::stop() {
    client_->stop();
}

}  // namespace presence::app
