#include "presence/api/open_pages.h"

#include "presence/api/answers.h"
#include "presence/api/request_target.h"
#include "presence/protocol/json_writer.h"

#include <fmt/format.h>

namespace presence::api {

namespace {

constexpr std::int64_t kProtocolVersion = 1;
/// The pages' own files and this server, and nothing else; frames for the second person of the
/// demo page. ('self' is also this server's WebSocket.)
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; manifest-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'";

net::HttpResponse status_answer(std::string_view word, int status) {
    std::string body;
    protocol::ObjectWriter object(body);
    object.text("status", word);
    object.close();
    return json_answer(std::move(body), status);
}

net::HttpResponse file_answer(const std::string& bytes, std::string_view content_type,
                              const net::HttpRequest& request) {
    net::HttpResponse answer;
    answer.content_type = content_type;
    answer.body = bytes;
    tag_answer(answer, etag_of(bytes), request.header("if-none-match"));
    return answer;
}

net::HttpResponse page_answer(const Assets::Page& page, const net::HttpRequest& request) {
    net::HttpResponse answer;
    answer.content_type = page.content_type;
    answer.body = page.bytes;
    tag_answer(answer, page.etag, request.header("if-none-match"));
    answer.headers.emplace_back("Content-Security-Policy", kContentPolicy);
    answer.headers.emplace_back("X-Frame-Options", "SAMEORIGIN");
    answer.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
    answer.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
    return answer;
}

/// A page's own addresses are relative, so its folder must end with a slash. The way there is
/// relative too: the server may stand behind any path.
net::HttpResponse folder_answer(std::string_view path) {
    net::HttpResponse answer;
    answer.status = 308;
    answer.headers.emplace_back("Location", fmt::format("{}/", path.substr(path.rfind('/') + 1)));
    return answer;
}

}  // namespace

std::optional<net::HttpResponse> OpenPages::answer(const net::HttpRequest& request) const {
    const std::string_view path = request.path();
    if (request.method == "POST" && path == "/demo/deafen" && parts_.demo != nullptr) {
        return deafen(request);
    }
    if (request.method != "GET" && request.method != "HEAD") {
        return std::nullopt;
    }
    if (path == "/healthz") {
        return status_answer("ok", 200);
    }
    if (path == "/version") {
        return version();
    }
    if (path == "/v1/protocol.json" && !parts_.assets.protocol_json.empty()) {
        return file_answer(parts_.assets.protocol_json, "application/json", request);
    }
    if (path == "/v1/openapi.yaml" && !parts_.assets.openapi_yaml.empty()) {
        return file_answer(parts_.assets.openapi_yaml, "application/yaml", request);
    }
    if (path == "/demo/token" && parts_.demo != nullptr) {
        return demo_token(request);
    }
    if (path == "/demo/people" && parts_.demo != nullptr) {
        return json_answer(parts_.demo->people_json());
    }
    const auto page = parts_.assets.pages.find(path);
    if (page != parts_.assets.pages.end()) {
        return page_answer(page->second, request);
    }
    if (!path.empty() && parts_.assets.pages.contains(std::string(path) + "/")) {
        return folder_answer(path);
    }
    return std::nullopt;
}

net::HttpResponse OpenPages::version() const {
    std::string body;
    protocol::ObjectWriter object(body);
    object.text("name", "presenced");
    object.text("version", parts_.facts.version);
    object.integer("protocol", kProtocolVersion);
    object.close();
    return json_answer(std::move(body));
}

net::HttpResponse OpenPages::deafen(const net::HttpRequest& request) const {
    const Result<std::optional<std::string>> user = query_value(request.query(), "user");
    const Result<std::optional<std::string>> session = query_value(request.query(), "session");
    if (!user || !session || !*user || !*session || check_id(**user) != nullptr) {
        return error_answer({ErrorCode::bad_request, "user and session are needed", 0, 0});
    }
    parts_.demo->deafen(UserId(**user), SessionId(**session));
    return no_content();
}

net::HttpResponse OpenPages::demo_token(const net::HttpRequest& request) const {
    const Result<std::optional<std::string>> user = query_value(request.query(), "user");
    if (!user) {
        return error_answer(user.error());
    }
    const char* const fault = *user ? check_id(**user) : "is needed";
    if (fault != nullptr) {
        return error_answer({ErrorCode::bad_request, std::string("user ") + fault, 0, 0});
    }
    const Result<std::string> token = parts_.demo->token(UserId(**user));
    if (!token) {
        return error_answer(token.error());
    }
    std::string body;
    protocol::ObjectWriter object(body);
    object.text("token", *token);
    object.close();
    return json_answer(std::move(body));
}

}  // namespace presence::api
