#pragma once

#include "presence/base/result.h"
#include "presence/net/http.h"

#include <optional>
#include <string>
#include <string_view>

namespace presence::api {

/// Answers as api/openapi.yaml has them. Any thread.

[[nodiscard]] net::HttpResponse json_answer(std::string body, int status = 200);
[[nodiscard]] net::HttpResponse no_content();
/// With `Retry-After` where the error says when, and `WWW-Authenticate` with 401.
[[nodiscard]] net::HttpResponse error_answer(const Error& error);
[[nodiscard]] Error not_found();

/// A hash of the bytes, quoted.
[[nodiscard]] std::string etag_of(std::string_view bytes);
/// Gives `answer` the tag `etag`; a 304 in its place where the caller holds these bytes already.
void tag_answer(net::HttpResponse& answer, const std::string& etag,
                std::optional<std::string_view> if_none_match);

}  // namespace presence::api
