#include "presence/api/readiness.h"

#include "presence/api/answers.h"
#include "presence/core/deadline.h"
#include "presence/protocol/json_writer.h"

#include <vector>

namespace presence::api {

namespace {

constexpr Millis kAskEvery{1'000};
constexpr Millis kPatience{500};

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
    store_ok_ = records.has_value();
    Task<Result<std::vector<ProfileRef>>> reading = parts_.shard.profiles.load(anybody());
    Result<std::vector<ProfileRef>> profiles =
        co_await within(parts_.scheduler, kPatience, std::move(reading), "the database");
    database_ok_ = profiles.has_value();
    co_return true;
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
    } else if (!store_ok_) {
        status = "storeDown";
        code = 503;
    } else if (!database_ok_) {
        status = "degraded";  // Clients whose rules are known are served.
    }
    std::string body;
    protocol::ObjectWriter object(body);
    object.text("status", status);
    object.text("store", store_ok_ ? "ok" : "down");
    object.text("database", database_ok_ ? "ok" : "down");
    object.close();
    co_return json_answer(std::move(body), code);
}

}  // namespace presence::api
