#include "presence/api/answers.h"

#include "presence/protocol/error_map.h"
#include "presence/protocol/rest_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace presence::api {

namespace {

/// Whether the list of tags has `etag`, weak or not (RFC 9110, 13.1.2). Tags of this server hold no
/// commas.
bool names(std::string_view list, std::string_view etag) {
    while (!list.empty()) {
        const std::string_view piece = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), piece.size() + 1));
        std::string_view one = net::trimmed(piece);
        if (one.starts_with("W/")) {
            one.remove_prefix(2);
        }
        if (one == etag || one == "*") {
            return true;
        }
    }
    return false;
}

}  // namespace

net::HttpResponse json_answer(std::string body, int status) {
    net::HttpResponse answer;
    answer.status = status;
    answer.content_type = "application/json";
    answer.body = std::move(body);
    return answer;
}

net::HttpResponse no_content() {
    net::HttpResponse answer;
    answer.status = 204;
    return answer;
}

net::HttpResponse error_answer(const Error& error) {
    constexpr std::int64_t kSecond = 1000;
    net::HttpResponse answer =
        json_answer(protocol::encode_error_body(error), protocol::http_status(error.code));
    if (error.retry_after_ms > 0) {
        answer.headers.emplace_back("Retry-After",
                                    std::to_string((error.retry_after_ms + kSecond - 1) / kSecond));
    }
    if (error.code == ErrorCode::unauthorized) {
        answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    }
    return answer;
}

Error not_found() {
    return {ErrorCode::not_found, "there is no such path", 0, 0};
}

std::string etag_of(std::string_view bytes) {
    return fmt::format("\"{:016x}-{:x}\"", std::hash<std::string_view>{}(bytes), bytes.size());
}

void tag_answer(net::HttpResponse& answer, const std::string& etag,
                std::optional<std::string_view> if_none_match) {
    if (if_none_match && names(*if_none_match, etag)) {
        answer.status = 304;
        answer.content_type.clear();
        answer.body = std::string();
    }
    answer.headers.emplace_back("ETag", etag);
}

}  // namespace presence::api
