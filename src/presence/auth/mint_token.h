#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/time.h"

#include <string>
#include <string_view>

namespace presence::auth {

/// A token for `user`, signed with HS256, issued at `now` and good for `ttl`: for trying out, for
/// tests and the demo page. A back end signs its own.
/// @retval bad_request  `user` is no user id (the message says why), `ttl` is under a second or
///                      `secret` is empty.
[[nodiscard]] Result<std::string> mint_token(const UserId& user, Millis ttl,
                                             std::string_view secret, WallTime now);

}  // namespace presence::auth
