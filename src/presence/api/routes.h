#pragma once

#include "presence/ports/token_verifier.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace presence::api {

/// The calls that need a credential, one for each operation of api/openapi.yaml.
enum class Call : std::uint8_t {
    get_presence,
    query_presence,
    get_status,
    put_status,
    delete_status,
    get_privacy,
    put_privacy,
    get_contacts,
    put_contacts,
    change_contacts,
    get_blocks,
    put_blocks,
    change_blocks,
    list_sessions,
    end_session,
    revoke_tokens,
    erase_user,
    explain_view,
    open_stream,
    poll,
    post_poll,
    beat,
    sign_out,
    get_stats,
    get_webhooks,
    list_dead_letters,
    test_webhooks,
    get_room,
    list_rooms,
};

/// Which users may make a call. Back ends may make all but those of users alone.
enum class Callers : std::uint8_t { any_user, user_itself, back_ends, users_alone };

struct Route {
    Call call = Call::get_presence;
    Callers callers = Callers::back_ends;
    bool TokenRights::*right = nullptr;  ///< What the token must allow; null: nothing more.
    bool names_user = false;             ///< The path has a place for one.
    std::string_view user;               ///< As in the path, still encoded.
    std::string_view session;            ///< Likewise.
    std::string_view room;               ///< Likewise.
};

/// Whether the token of such a call may come in a cookie: browsers give these no header.
[[nodiscard]] constexpr bool takes_cookie(Call call) noexcept {
    return call == Call::open_stream || call == Call::poll || call == Call::post_poll;
}

/// Whether such a call brings a list of users that may be as long as limits.list_users.
[[nodiscard]] constexpr bool takes_list(Call call) noexcept {
    return call == Call::put_contacts || call == Call::change_contacts ||
           call == Call::put_blocks || call == Call::change_blocks || call == Call::put_privacy;
}

/// The call that a request line means; empty: there is no such path, or not with this method. HEAD
/// is as good as GET. The views are into `path`.
[[nodiscard]] std::optional<Route> find_route(std::string_view method, std::string_view path);

}  // namespace presence::api
