#pragma once

#include "presence/base/result.h"

#include <atomic>
#include <functional>
#include <string>

namespace presence::auth {

/// Fetches a text and blocks until it is there, at most kFetchTimeout; gives up early once `stop`
/// is set. Handed in, so that tests need no network.
using Fetch =
    std::function<Result<std::string>(const std::string& url, const std::atomic<bool>& stop)>;

/// GET over http or https, with the system's certificates; follows three redirections, takes at
/// most kMaxKeySetBytes. Any thread.
/// @retval ErrorCode::unavailable  No answer, another status than 200, or too long an answer.
[[nodiscard]] Result<std::string> fetch_by_http(const std::string& url,
                                                const std::atomic<bool>& stop);

}  // namespace presence::auth
