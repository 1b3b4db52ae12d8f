#pragma once

#include "presence/api/api.h"
#include "presence/api/routes.h"
#include "presence/base/task.h"
#include "presence/net/http.h"

#include <optional>
#include <span>

namespace presence::api {

/// Who calls.
struct Caller {
    std::optional<TokenClaims> user;  ///< Empty: a back end.

    /// Whose view the caller gets where it names no viewer; empty: everything.
    [[nodiscard]] std::optional<UserId> viewer() const {
        return user ? std::optional(user->user) : std::nullopt;
    }
    /// A token may forbid to look at others; oneself one may always see.
    /// @retval ErrorCode::forbidden  One of `users` is another, and may not be looked at.
    [[nodiscard]] Result<bool> may_look_at(std::span<const UserId> users) const;
};

/// Tells who calls, whether they may, and whether too often. One thread.
class Doorman {
public:
    explicit Doorman(const ApiParts& parts) : parts_(parts) {}

    /// @param subject  The user that the path names, decoded; empty where it cannot be.
    /// @retval ErrorCode::unauthorized  No credential, or one that is refused or revoked.
    /// @retval ErrorCode::forbidden     This caller may not make this call.
    /// @retval ErrorCode::rate_limited  The user calls too often.
    /// @retval ErrorCode::unavailable   Whether the token was revoked cannot be told.
    [[nodiscard]] Task<Result<Caller>> admit(const Route& route,
                                             const std::optional<std::string>& subject,
                                             const net::HttpRequest& request) const;

    /// Whether it is likely that the caller may make that call: at once, by what this thread knows.
    /// A guess, for what has to be decided before the whole request is here; admit() decides.
    [[nodiscard]] bool may_expect(const Route& route, const std::optional<std::string>& subject,
                                  const net::HttpRequest& head) const;

private:
    [[nodiscard]] Task<Result<Caller>> identify(const Route& route,
                                                const net::HttpRequest& request) const;
    /// The token that came in a cookie, if this call takes one and the page may send it.
    [[nodiscard]] std::optional<std::string> cookie_token(const Route& route,
                                                          const net::HttpRequest& request) const;

    ApiParts parts_;
};

}  // namespace presence::api
