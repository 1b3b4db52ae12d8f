#include "presence/app/front_door.h"

#include "presence/api/answers.h"
#include "presence/api/request_target.h"
#include "presence/protocol/rest_body.h"

#include <algorithm>

namespace presence::app {

namespace {

bool may_read_metrics(const net::HttpRequest& request, const MetricsDoor& door) {
    if (!door.is_key) {
        return true;
    }
    const std::optional<std::string_view> token = net::bearer_token(request);
    return token && door.is_key(*token);
}

}  // namespace

bool FrontDoor::may_accept(const net::RemoteAddress& remote) {
    return parts_.accepts.take(remote, is_proxy(remote), parts_.limits, parts_.clock.now());
}

/// What may_accept and the limit of unadmitted connections ask of others, asked of the client
/// behind a proxy.
bool FrontDoor::may_come_through_proxy(net::ConnectionId id, const net::HttpRequest& request) {
    if (!is_proxy(request.remote)) {
        return true;
    }
    const auto client = net::forwarded_for(request, parts_.proxies);
    return !client || (parts_.accepts.take_of_address(*client, parts_.limits, parts_.clock.now()) &&
                       server_->count_for(id, *client));
}

void FrontDoor::refuse(net::ConnectionId id, int status, const Error& error) {
    net::HttpResponse response;
    response.status = status;
    response.content_type = "application/json";
    if (error.retry_after_ms > 0) {
        response.headers.emplace_back("Retry-After",
                                      std::to_string((error.retry_after_ms + 999) / 1000));
    }
    response.body = protocol::encode_error_body(error);
    // Whoever wanted a WebSocket has no use for the connection, and a flood of those who were
    // refused is not to hold sockets.
    response.close = true;
    server_->respond(id, std::move(response));
}

net::HttpResponse FrontDoor::on_bad_request(const net::HttpRequest& head, int status,
                                            std::string_view why) {
    const ErrorCode code =
        status == 413 || status == 431 ? ErrorCode::too_large : ErrorCode::bad_request;
    net::HttpResponse response;
    response.status = status;
    response.content_type = "application/json";
    response.body = protocol::encode_error_body({code, std::string(why), 0, 0});
    parts_.api.add_headers(head, response);
    return response;
}

void FrontDoor::on_request(net::ConnectionId id, net::HttpRequest& request) {
    if (request.path() == "/v1/connect") {
        on_connect(id, request);
    } else if (request.path() == "/metrics" && parts_.metrics.page &&
               (request.method == "GET" || request.method == "HEAD")) {
        if (may_read_metrics(request, parts_.metrics)) {
            serve_metrics(id);
        } else {
            const Error error{ErrorCode::unauthorized, "a back end's key is needed", 0, 0};
            server_->respond(id, api::error_answer(error));
        }
    } else {
        parts_.api.on_request(id, request);
    }
}

Detached FrontDoor::serve_metrics(net::ConnectionId id) {
    Task<std::string> writing = parts_.metrics.page();
    net::HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.headers.emplace_back("Cache-Control", "no-store");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.body = co_await writing;
    server_->respond(id, std::move(response));
}

void FrontDoor::on_connect(net::ConnectionId id, net::HttpRequest& request) {
    if (api::has_parameter(request.query(), "token")) {
        refuse(id, 400,
               {ErrorCode::bad_request,
                "token must not be in the URL, which ends up in logs: send it in the "
                "Authorization header or in hello",
                0, 0});
        return;
    }
    if (!request.is_upgrade) {
        refuse(id, 400, {ErrorCode::bad_request, "a WebSocket upgrade is expected here", 0, 0});
        return;
    }
    const auto origin = request.header("origin");
    if (request.header_count("origin") > 1 || (origin && !parts_.origins.allows(*origin))) {
        refuse(id, 403, {ErrorCode::forbidden, "this origin is not allowed", 0, 0});
        return;
    }
    if (!request.subprotocols.empty() &&
        std::ranges::find(request.subprotocols, gateway::kSubprotocol) ==
            request.subprotocols.end()) {
        refuse(id, 400,
               {ErrorCode::bad_request,
                "none of the offered subprotocols is known; this is presence.v1", 0, 0});
        return;
    }
    if (parts_.facts.draining.load(std::memory_order_relaxed) ||
        !parts_.facts.ready.load(std::memory_order_relaxed)) {
        refuse(id, 503, {ErrorCode::unavailable, "this node is not taking connections", 1000, 0});
        return;
    }
    if (server_->shared_connection_count() > parts_.limits.connections) {  // It is among them.
        refuse(id, 503, {ErrorCode::unavailable, "this node is full", 5000, 0});
        return;
    }
    if (!may_come_through_proxy(id, request)) {
        refuse(id, 429, {ErrorCode::rate_limited, "too many connections of one address", 1000, 0});
        return;
    }
    parts_.gateway.on_upgrade(id, request);
}

}  // namespace presence::app
