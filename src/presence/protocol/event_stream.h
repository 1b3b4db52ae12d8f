#pragma once

#include "presence/base/time.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace presence::protocol {

/// Server-Sent Events, as WHATWG HTML has them ("event stream"). Any thread.

/// One event. `json` is one line, as all that this server encodes is: JSON escapes line breaks.
void append_event(std::string& out, std::string_view name, std::uint64_t id, std::string_view json);

/// A line that clients skip; it shows proxies and clients that the stream lives. No line breaks.
[[nodiscard]] std::string encode_comment(std::string_view text);

/// How long the client is to wait before it connects again.
[[nodiscard]] std::string encode_retry(Millis wait);

}  // namespace presence::protocol
