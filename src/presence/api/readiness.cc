#include "presence/api/readiness.h"

#include "presence/api/answers.h"
#include "presence/core/deadline.h"
#include "presence/protocol/json_writer.h"

#include <utility>
#include <vector>

namespace presence::api {

namespace {

constexpr Millis kAskEvery{1'000};
constexpr Millis kPatience{500};
/// What waits to be written is tried again once a second.
constexpr Millis kLately{10'000};

/// Nobody's; all that counts is whether an answer comes.
std::vector<UserId> anybody() {
    return {UserId("readyz")};
}

}  // namespace

Task<bool> Readiness::ask_stores() {
    asked_at_ = parts_.clock.now();
    Task<Result<std::vector<UserRecordRef>>> loading = parts_.shard.sessions.load(anybody());
    Result<std::vector<UserRecordRef>> records =
        co_await within(parts_.scheduler, kPatience, std::move(loading), "the store");
    store_ = !records                                             ? StoreHealth::down
             : parts_.shard.nodes.health == StoreHealth::degraded ? StoreHealth::degraded
                                                                  : StoreHealth::ok;
    Task<Result<std::vector<ProfileRef>>> reading = parts_.shard.profiles.load(anybody());
    Result<std::vector<ProfileRef>> profiles =
        co_await within(parts_.scheduler, kPatience, std::move(reading), "the database");
    database_ = !profiles                   ? StoreHealth::down
                : database_refused_lately() ? StoreHealth::degraded
                                            : StoreHealth::ok;
    co_return true;
}

bool Readiness::database_refused_lately() {
    const MonoTime now = parts_.clock.now();
    const std::uint64_t before = std::exchange(refused_, parts_.shard.profiles.writes_refused());
    refused_at_ = refused_ != before ? now : refused_at_;
    return refused_at_ != MonoTime{} && now - refused_at_ < kLately;
}

Task<net::HttpResponse> Readiness::answer() {
    if (parts_.clock.now() - asked_at_ >= kAskEvery) {
        Task<bool> asking = ask_stores();
        co_await asking;
    }
    std::string_view status = "ready";
    int code = 200;
    if (parts_.facts.draining.load(std::memory_order_relaxed)) {
        status = "draining";
        code = 503;
    } else if (!parts_.facts.ready.load(std::memory_order_relaxed)) {
        status = "starting";
        code = 503;
    } else if (store_ == StoreHealth::down) {
        status = "storeDown";
        code = 503;
    } else if (store_ != StoreHealth::ok || database_ != StoreHealth::ok) {
        // Clients whose rules are known are served, and what cannot be written waits here.
        status = "degraded";
    }
    std::string body;
    protocol::ObjectWriter object(body);
    object.text("status", status);
    object.text("store", wire_name(store_));
    object.text("database", wire_name(database_));
    object.close();
    co_return json_answer(std::move(body), code);
}

}  // namespace presence::api
