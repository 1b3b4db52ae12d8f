#include "presence/api/routes.h"

#include "presence/api/request_target.h"

#include <algorithm>
#include <span>
#include <vector>

namespace presence::api {

namespace {

constexpr std::string_view kUser = "{userId}";
constexpr std::string_view kSession = "{sessionId}";
constexpr std::string_view kRoom = "{room}";
constexpr std::size_t kMostPieces = 5;

struct Row {
    std::string_view method;
    std::string_view path[kMostPieces];  ///< Ends at the first empty one.
    Call call;
    Callers callers;
    bool TokenRights::*right;

    [[nodiscard]] std::span<const std::string_view> pieces() const {
        return {path, std::ranges::find(path, std::string_view{})};
    }
};

// To look at others is allowed or not where the users are known: oneself one may always see.
constexpr auto kStatus = &TokenRights::status;
constexpr auto kPrivacy = &TokenRights::privacy;
constexpr bool TokenRights::*kNone = nullptr;

constexpr Row kRows[]{
    {"POST", {"v1", "presence", "query"}, Call::query_presence, Callers::any_user, kNone},
    {"DELETE", {"v1", "users", kUser}, Call::erase_user, Callers::back_ends, kNone},
    {"GET", {"v1", "users", kUser, "presence"}, Call::get_presence, Callers::any_user, kNone},
    {"GET", {"v1", "users", kUser, "status"}, Call::get_status, Callers::user_itself, kNone},
    {"PUT", {"v1", "users", kUser, "status"}, Call::put_status, Callers::user_itself, kStatus},
    {"DELETE",
     {"v1", "users", kUser, "status"},
     Call::delete_status,
     Callers::user_itself,
     kStatus},
    {"GET", {"v1", "users", kUser, "privacy"}, Call::get_privacy, Callers::user_itself, kNone},
    {"PUT", {"v1", "users", kUser, "privacy"}, Call::put_privacy, Callers::user_itself, kPrivacy},
    {"GET", {"v1", "users", kUser, "contacts"}, Call::get_contacts, Callers::back_ends, kNone},
    {"PUT", {"v1", "users", kUser, "contacts"}, Call::put_contacts, Callers::back_ends, kNone},
    {"POST", {"v1", "users", kUser, "contacts"}, Call::change_contacts, Callers::back_ends, kNone},
    {"GET", {"v1", "users", kUser, "blocks"}, Call::get_blocks, Callers::user_itself, kNone},
    {"PUT", {"v1", "users", kUser, "blocks"}, Call::put_blocks, Callers::user_itself, kPrivacy},
    {"POST", {"v1", "users", kUser, "blocks"}, Call::change_blocks, Callers::user_itself, kPrivacy},
    {"GET", {"v1", "users", kUser, "sessions"}, Call::list_sessions, Callers::back_ends, kNone},
    {"DELETE",
     {"v1", "users", kUser, "sessions", kSession},
     Call::end_session,
     Callers::back_ends,
     kNone},
    {"POST", {"v1", "users", kUser, "revoke"}, Call::revoke_tokens, Callers::back_ends, kNone},
    {"GET", {"v1", "users", kUser, "explain"}, Call::explain_view, Callers::back_ends, kNone},
    {"GET", {"v1", "stream"}, Call::open_stream, Callers::users_alone, kNone},
    {"GET", {"v1", "poll"}, Call::poll, Callers::users_alone, kNone},
    {"POST", {"v1", "poll"}, Call::post_poll, Callers::users_alone, kNone},
    {"POST", {"v1", "heartbeat"}, Call::beat, Callers::users_alone, kNone},
    {"DELETE", {"v1", "heartbeat"}, Call::sign_out, Callers::users_alone, kNone},
    {"GET", {"v1", "stats"}, Call::get_stats, Callers::back_ends, kNone},
    {"GET", {"v1", "webhooks"}, Call::get_webhooks, Callers::back_ends, kNone},
    {"GET", {"v1", "webhooks", "dead-letters"}, Call::list_dead_letters, Callers::back_ends, kNone},
    {"POST", {"v1", "webhooks", "test"}, Call::test_webhooks, Callers::back_ends, kNone},
    {"GET", {"v1", "rooms"}, Call::list_rooms, Callers::back_ends, kNone},
    {"GET", {"v1", "rooms", kRoom}, Call::get_room, Callers::any_user, kNone},
};

std::optional<Route> match(const Row& row, std::span<const std::string_view> pieces) {
    const std::span<const std::string_view> wanted = row.pieces();
    if (wanted.size() != pieces.size()) {
        return std::nullopt;
    }
    Route route{row.call, row.callers, row.right, false, {}, {}, {}};
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (wanted[i] == kUser) {
            route.names_user = true;
            route.user = pieces[i];
        } else if (wanted[i] == kSession) {
            route.session = pieces[i];
        } else if (wanted[i] == kRoom) {
            route.room = pieces[i];
        } else if (wanted[i] != pieces[i]) {
            return std::nullopt;
        }
    }
    return route;
}

}  // namespace

std::optional<Route> find_route(std::string_view method, std::string_view path) {
    const std::vector<std::string_view> pieces = split_path(path);
    const std::string_view wanted = method == "HEAD" ? "GET" : method;
    for (const Row& row : kRows) {
        if (row.method != wanted) {
            continue;
        }
        if (std::optional<Route> route = match(row, pieces)) {
            return route;
        }
    }
    return std::nullopt;
}

}  // namespace presence::api
