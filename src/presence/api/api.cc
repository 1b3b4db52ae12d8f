#include "presence/api/api.h"

#include "presence/api/answers.h"
#include "presence/api/caller.h"
#include "presence/api/calls.h"
#include "presence/api/open_pages.h"
#include "presence/api/readers.h"
#include "presence/api/readiness.h"
#include "presence/api/request_target.h"
#include "presence/api/routes.h"
#include "presence/base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace presence::api {

namespace {

Error token_in_url() {
    return {ErrorCode::bad_request,
            "token must not be in the URL, which ends up in logs: send it in the Authorization "
            "header",
            0, 0};
}

/// What the path names, decoded and checked.
Result<bool> name_parties(AdmittedCall& call, std::optional<std::string> subject) {
    if (call.route.call == Call::get_room) {
        std::optional<std::string> room = decode_segment(call.route.room);
        const char* const fault = room ? check_id(*room) : "is badly encoded";
        if (fault != nullptr) {
            return Error{ErrorCode::bad_request, std::string("room ") + fault, 0, 0};
        }
        call.room = RoomId(std::move(*room));
    }
    if (!call.route.names_user) {
        return true;
    }
    const char* const fault = subject ? check_id(*subject) : "is badly encoded";
    if (fault != nullptr) {
        return Error{ErrorCode::bad_request, std::string("userId ") + fault, 0, 0};
    }
    call.user = UserId(std::move(*subject));
    if (call.route.call == Call::end_session) {
        std::optional<std::string> session = decode_segment(call.route.session);
        if (!session) {
            return Error{ErrorCode::bad_request, "sessionId is badly encoded", 0, 0};
        }
        call.session = SessionId(std::move(*session));
    }
    return true;
}

void add_common_headers(net::HttpResponse& answer) {
    const bool tagged = std::ranges::any_of(
        answer.headers, [](const auto& header) { return header.first == "ETag"; });
    answer.headers.emplace_back("Cache-Control", tagged ? "private, no-cache" : "no-store");
    answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
    answer.headers.emplace_back("Referrer-Policy", "no-referrer");
    answer.headers.emplace_back("Vary", "Origin");
}

/// The page that calls, if it may; two headers are no origin.
std::optional<std::string> welcome_origin(const net::HttpRequest& request,
                                          const OriginCheck& origins) {
    const auto origin = request.header("origin");
    if (!origin || request.header_count("origin") > 1 || !origins.allows(*origin)) {
        return std::nullopt;
    }
    return std::string(*origin);
}

/// Whether a page of another origin may have its cookies sent to `path`.
bool takes_credentials(std::string_view path, const ApiParts& parts) {
    return !parts.cookie.empty() && !parts.origins.any() &&
           (path == "/v1/stream" || path == "/v1/poll");
}

void add_cors_headers(net::HttpResponse& answer, const std::string& origin, bool preflight,
                      bool credentials) {
    answer.headers.emplace_back("Access-Control-Allow-Origin", origin);
    if (credentials) {
        answer.headers.emplace_back("Access-Control-Allow-Credentials", "true");
    }
    if (preflight) {
        answer.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
        answer.headers.emplace_back("Access-Control-Allow-Headers",
                                    "Authorization, Content-Type, If-None-Match, Last-Event-ID");
        answer.headers.emplace_back("Access-Control-Max-Age", "600");
    } else {
        answer.headers.emplace_back("Access-Control-Expose-Headers", "ETag, Retry-After");
    }
}

/// What proxies in front call the request, or a name of this thread's own. The query is not in the
/// log, as people put secrets there.
std::string name_of(const net::HttpRequest& request, std::size_t thread, std::uint64_t number) {
    const auto named = request.header("x-request-id");
    return named && !named->empty() ? std::string(*named) : fmt::format("{}-{}", thread, number);
}

class ServerPipe final : public StreamPipe {
public:
    void connect(net::Server& server) { server_ = &server; }
    void admit(net::ConnectionId id) override { server_->set_admitted(id); }
    bool has_client(net::ConnectionId id) const override { return server_->has_client(id); }
    std::optional<MonoTime> blocked_since(net::ConnectionId id) const override {
        return server_->blocked_since(id);
    }
    net::SendResult send(net::ConnectionId id, std::string_view bytes) override {
        return server_->send_raw(id, bytes);
    }
    void end(net::ConnectionId id) override { server_->end_stream(id); }
    void abort(net::ConnectionId id) override { server_->abort(id); }
    std::size_t web_sockets() const override { return server_->websocket_count(); }

private:
    net::Server* server_ = nullptr;
};

}  // namespace

struct Api::State {
    explicit State(const ApiParts& from)
        : parts(from),
          readers(from),
          pages(from),
          readiness(from),
          doorman(from),
          calls(from, readers) {}

    ApiParts parts;
    ServerPipe server_pipe;
    StreamPipe* pipe = nullptr;
    Readers readers;
    OpenPages pages;
    Readiness readiness;
    Doorman doorman;
    Calls calls;
    net::Server* server = nullptr;

    Task<net::HttpResponse> answer(net::HttpRequest request, net::ConnectionId id);
    Task<net::HttpResponse> answer_plain(net::HttpRequest request, net::ConnectionId id);
    Task<Result<net::HttpResponse>> answer_call(Route route, net::HttpRequest request,
                                                net::ConnectionId id);
    Detached serve(net::ConnectionId id, net::HttpRequest request);
    void log_call(const std::string& name, const std::string& what, int status, MonoTime began);

    std::uint64_t requests = 0;  ///< So many have come to this thread.
};

Task<Result<net::HttpResponse>> Api::State::answer_call(Route route, net::HttpRequest request,
                                                        net::ConnectionId id) {
    std::optional<std::string> subject = decode_segment(route.user);
    Result<Caller> caller = co_await doorman.admit(route, subject, request);
    if (!caller) {
        co_return caller.error();
    }
    if (id) {
        pipe->admit(id);
    }
    AdmittedCall call{route, std::move(*caller), {}, {}, {}, {}, id};
    Result<bool> named = name_parties(call, std::move(subject));
    if (!named) {
        co_return named.error();
    }
    call.request = std::move(request);
    Result<net::HttpResponse> answer = co_await calls.answer(call);
    co_return answer;
}

Task<net::HttpResponse> Api::State::answer_plain(net::HttpRequest request, net::ConnectionId id) {
    if (request.method == "OPTIONS") {
        co_return no_content();
    }
    if (has_parameter(request.query(), "token")) {
        co_return error_answer(token_in_url());
    }
    const std::string path(request.path());
    if (const std::optional<Route> route = find_route(request.method, path)) {
        Task<Result<net::HttpResponse>> calling = answer_call(*route, std::move(request), id);
        Result<net::HttpResponse> called = co_await calling;
        if (!called) {
            co_return error_answer(called.error());
        }
        co_return std::move(*called);
    }
    if (path == "/readyz" && (request.method == "GET" || request.method == "HEAD")) {
        Task<net::HttpResponse> asking = readiness.answer();
        net::HttpResponse ready = co_await asking;
        co_return ready;
    }
    if (std::optional<net::HttpResponse> page = pages.answer(request)) {
        co_return std::move(*page);
    }
    co_return error_answer(not_found());
}

Task<net::HttpResponse> Api::State::answer(net::HttpRequest request, net::ConnectionId id) {
    const bool credentials = takes_credentials(request.path(), parts);
    const bool preflight = request.method == "OPTIONS";
    const std::optional<std::string> origin = welcome_origin(request, parts.origins);
    Task<net::HttpResponse> answering = answer_plain(std::move(request), id);
    net::HttpResponse response = co_await answering;
    add_common_headers(response);
    if (origin) {
        add_cors_headers(response, *origin, preflight, credentials);
    }
    co_return response;
}

Detached Api::State::serve(net::ConnectionId id, net::HttpRequest request) {
    ++requests;
    std::string name;
    std::string what;
    if (log::enabled(log::Level::debug)) {
        name = name_of(request, parts.index, requests);
        what = fmt::format("{} {}", log::quoted(request.method), log::quoted(request.path()));
    }
    const MonoTime began = parts.clock.now();
    Task<net::HttpResponse> answering = answer(std::move(request), id);
    net::HttpResponse response = co_await answering;
    log_call(name, what, response.status, began);
    if (response.more_follows) {
        server->respond_stream(id, std::move(response));
    } else {
        server->respond(id, std::move(response));
    }
}

void Api::State::log_call(const std::string& name, const std::string& what, int status,
                          MonoTime began) {
    if (!name.empty()) {
        log::debug({.request = name}, "call", "{} status={} ms={}", what, status,
                   (parts.clock.now() - began).count());
    }
}

void Api::add_headers(const net::HttpRequest& head, net::HttpResponse& answer) const {
    add_common_headers(answer);
    if (const std::optional<std::string> origin = welcome_origin(head, state_->parts.origins)) {
        add_cors_headers(answer, *origin, false, takes_credentials(head.path(), state_->parts));
    }
}

Api::Api(const ApiParts& parts) : state_(std::make_unique<State>(parts)) {}
Api::~Api() = default;

void Api::connect(net::Server& server) {
    state_->server = &server;
    state_->server_pipe.connect(server);
    connect(state_->server_pipe);
}

void Api::connect(StreamPipe& pipe) {
    state_->pipe = &pipe;
    state_->readers.connect(pipe);
}

Task<net::HttpResponse> Api::answer(net::HttpRequest request, net::ConnectionId id) {
    return state_->answer(std::move(request), id);
}

bool Api::may_be_large(const net::HttpRequest& head) const {
    const std::optional<Route> route = find_route(head.method, head.path());
    return route && takes_list(route->call) &&
           state_->doorman.may_expect(*route, decode_segment(route->user), head);
}

void Api::on_request(net::ConnectionId id, net::HttpRequest& request) {
    state_->serve(id, std::move(request));
}

void Api::on_request_lost(net::ConnectionId id) {
    state_->readers.on_lost(id);
}

void Api::on_request_half_closed(net::ConnectionId id) {
    state_->readers.on_half_closed(id);
}

void Api::on_drained(net::ConnectionId id) {
    state_->readers.on_drained(id);
}

void Api::tick() {
    state_->readers.tick();
}

void Api::drain(Millis window) {
    state_->readers.drain(window);
}

Readers& Api::readers() noexcept {
    return state_->readers;
}

}  // namespace presence::api
