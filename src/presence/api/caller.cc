#include "presence/api/caller.h"

#include "presence/core/records.h"

#include <algorithm>

namespace presence::api {

namespace {

Error unauthorized() {
    return {ErrorCode::unauthorized, "an Authorization header with a valid Bearer token is needed",
            0, 0};
}

/// The value of the one cookie of that name (RFC 6265); two of them are none, as nobody can tell
/// which is meant.
std::optional<std::string> cookie_value(const net::HttpRequest& request, std::string_view name) {
    const auto header = request.header("cookie");
    if (!header || request.header_count("cookie") > 1) {
        return std::nullopt;
    }
    std::optional<std::string> found;
    for (std::string_view rest = *header; !rest.empty();) {
        std::string_view one = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
        const std::size_t equals = one.find('=');
        if (equals == std::string_view::npos || one.substr(0, equals) != name) {
            continue;
        }
        if (found) {
            return std::nullopt;
        }
        found = std::string(one.substr(equals + 1));
    }
    return found;
}

Error forbidden() {
    return {ErrorCode::forbidden, "this token does not allow that", 0, 0};
}

bool may(const TokenClaims& claims, const Route& route, const std::optional<std::string>& subject) {
    if (route.right != nullptr && !(claims.rights.*route.right)) {
        return false;
    }
    switch (route.callers) {
        case Callers::any_user:
            return true;
        case Callers::user_itself:
            return subject && *subject == claims.user.text;
        case Callers::users_alone:
            return true;
        case Callers::back_ends:
            return false;
    }
    return false;
}

/// What the user's home says of one call.
struct Admission {
    bool revoked = false;
    Result<bool> in_budget = true;
};

Task<Result<Admission>> ask_home(Shard& home, UserId user, std::optional<WallTime> issued_at) {
    Result<ProfileRef> profile = co_await home.editor.profile(user);
    if (!profile) {
        co_return profile.error();
    }
    Admission admission;
    admission.revoked = is_revoked(*profile, issued_at);
    if (!admission.revoked) {
        admission.in_budget = home.calls.take_call(user, home.limits, home.clock.now());
    }
    co_return admission;
}

}  // namespace

Result<bool> Caller::may_look_at(std::span<const UserId> users) const {
    const auto is_other = [this](const UserId& looked_at) { return !(looked_at == user->user); };
    if (user && !user->rights.watch && std::ranges::any_of(users, is_other)) {
        return forbidden();
    }
    return true;
}

std::optional<std::string> Doorman::cookie_token(const Route& route,
                                                 const net::HttpRequest& request) const {
    if (parts_.cookie.empty() || !takes_cookie(route.call)) {
        return std::nullopt;
    }
    // Browsers send cookies whichever page asks: so only for pages that may (RULINGS 41).
    const auto origin = request.header("origin");
    const bool origin_allowed =
        origin && request.header_count("origin") == 1 && parts_.origins.allows(*origin);
    const bool same_origin = request.header_count("sec-fetch-site") == 1 &&
                             *request.header("sec-fetch-site") == "same-origin";
    if (!origin_allowed && !same_origin) {
        return std::nullopt;
    }
    return cookie_value(request, parts_.cookie);
}

Task<Result<Caller>> Doorman::identify(const Route& route, const net::HttpRequest& request) const {
    // Another scheme is none of ours: browsers send a page's password with all that it asks for.
    std::optional<std::string> token(net::bearer_token(request));
    const bool by_header = token.has_value();
    if (!by_header) {
        token = cookie_token(route, request);
    }
    if (!token) {
        co_return unauthorized();
    }
    if (by_header && parts_.is_api_key(*token)) {
        if (route.callers == Callers::users_alone) {
            co_return Error{ErrorCode::forbidden, "this call is for users, not for back ends", 0,
                            0};
        }
        co_return Caller{};
    }
    Task<Result<TokenClaims>> verifying =
        parts_.tokens.verify_patiently(std::move(*token), parts_.scheduler);
    Result<TokenClaims> claims = co_await verifying;
    if (!claims) {
        co_return claims.error();
    }
    co_return Caller{std::move(*claims)};
}

bool Doorman::may_expect(const Route& route, const std::optional<std::string>& subject,
                         const net::HttpRequest& head) const {
    const std::optional<std::string_view> token = net::bearer_token(head);
    if (!token) {
        return false;
    }
    if (parts_.is_api_key(*token)) {
        return route.callers != Callers::users_alone;
    }
    const Result<TokenClaims> claims = parts_.tokens.verify(*token);
    return claims && may(*claims, route, subject);
}

Task<Result<Caller>> Doorman::admit(const Route& route, const std::optional<std::string>& subject,
                                    const net::HttpRequest& request) const {
    Result<Caller> caller = co_await identify(route, request);
    if (!caller || !caller->user) {
        co_return caller;
    }
    const TokenClaims& claims = *caller->user;
    Shard& home = parts_.shards.home_of(claims.user);
    const UserId user = claims.user;
    const std::optional<WallTime> issued_at = claims.issued_at;
    Task<Result<Admission>> asking = run_there<Result<Admission>>(
        parts_.scheduler, home.scheduler,
        [&home, user, issued_at] { return ask_home(home, user, issued_at); });
    Result<Admission> admission = co_await asking;
    if (!admission) {
        co_return admission.error();
    }
    if (admission->revoked) {
        co_return Error{ErrorCode::unauthorized, "the token was revoked", 0, 0};
    }
    if (!may(claims, route, subject)) {
        co_return forbidden();
    }
    if (!admission->in_budget) {
        co_return admission->in_budget.error();
    }
    co_return caller;
}

}  // namespace presence::api
