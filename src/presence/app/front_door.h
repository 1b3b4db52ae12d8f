#pragma once

#include "presence/api/api.h"
#include "presence/api/origin_check.h"
#include "presence/app/accept_rates.h"
#include "presence/base/task.h"
#include "presence/core/limits.h"
#include "presence/gateway/gateway.h"
#include "presence/net/networks.h"
#include "presence/net/server.h"

#include <functional>
#include <string>
#include <string_view>

namespace presence::app {

/// The way to GET /metrics, which is about the node and not the API's.
struct MetricsDoor {
    std::function<Task<std::string>()> page{};  ///< Null: there is none.
    /// Whether a bearer may read it; null: anybody may.
    std::function<bool(std::string_view bearer)> is_key{};
};

/// Where a thread's connections come in: /v1/connect goes to the gateway, /metrics to the node, all
/// else to the API.
/// Refuses what must not get further: foreign origins, tokens in URLs, floods (PROTOCOL.md
/// section 1, DESIGN rule 34). One thread.
class FrontDoor final : public net::Handler {
public:
    struct Parts {
        const Clock& clock;
        gateway::Gateway& gateway;
        api::Api& api;
        const api::OriginCheck& origins;
        const api::NodeFacts& facts;
        const Limits& limits;
        AcceptRates& accepts;          ///< Of the node.
        const net::Networks& proxies;  ///< Whose X-Forwarded-For is believed.
        MetricsDoor metrics{};
    };

    explicit FrontDoor(const Parts& parts) : parts_(parts) {}
    void connect(net::Server& server) { server_ = &server; }

    bool may_accept(const net::RemoteAddress& remote) override;
    bool is_proxy(const net::RemoteAddress& remote) override {
        return parts_.proxies.contains(remote);
    }
    bool may_be_large(const net::HttpRequest& head) override {
        return parts_.api.may_be_large(head);
    }
    void on_request(net::ConnectionId id, net::HttpRequest& request) override;
    net::HttpResponse on_bad_request(const net::HttpRequest& head, int status,
                                     std::string_view why) override;
    void on_sign_of_life(net::ConnectionId, net::UserTag tag, net::LifeKind kind) override {
        parts_.gateway.on_sign_of_life(tag, kind);
    }
    bool on_message(net::ConnectionId id, net::UserTag tag, std::string_view text) override {
        return parts_.gateway.on_message(id, tag, text);
    }
    void on_request_lost(net::ConnectionId id) override { parts_.api.on_request_lost(id); }
    void on_request_half_closed(net::ConnectionId id) override {
        parts_.api.on_request_half_closed(id);
    }
    void on_drained(net::ConnectionId id, net::UserTag tag) override {
        if (tag == 0) {
            parts_.api.on_drained(id);  // The gateway's connections all have a tag.
        } else {
            parts_.gateway.on_drained(tag);
        }
    }
    void on_closed(net::ConnectionId, net::UserTag tag, const net::CloseInfo& info) override {
        parts_.gateway.on_closed(tag, info);
    }

private:
    void on_connect(net::ConnectionId id, net::HttpRequest& request);
    bool may_come_through_proxy(net::ConnectionId id, const net::HttpRequest& request);
    Detached serve_metrics(net::ConnectionId id);
    void refuse(net::ConnectionId id, int status, const Error& error);

    Parts parts_;
    net::Server* server_ = nullptr;
};

}  // namespace presence::app
