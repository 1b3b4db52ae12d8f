#pragma once

#include "presence/api/node_facts.h"
#include "presence/api/origin_check.h"
#include "presence/base/task.h"
#include "presence/core/node_readers.h"
#include "presence/core/shard.h"
#include "presence/core/survey.h"
#include "presence/net/server.h"
#include "presence/ports/token_verifier.h"
#include "presence/ports/webhook_admin.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace presence::api {

class Readers;
class StreamPipe;

/// Files that the node serves as they are.
struct Assets {
    struct Page {
        std::string content_type;
        std::shared_ptr<const std::string> bytes;
        std::string etag;
    };
    std::string protocol_json;                       ///< GET /v1/protocol.json
    std::string openapi_yaml;                        ///< GET /v1/openapi.yaml
    std::map<std::string, Page, std::less<>> pages;  ///< By path: "/", "/assets/index.js".
};

/// What only `serve --dev --demo` answers.
struct DemoHooks {
    std::function<Result<std::string>(const UserId&)> token;  ///< GET /demo/token?user=
    std::function<std::string()> people_json;                 ///< GET /demo/people
    /// POST /demo/deafen?user=&session=: from now on the server hears nothing of that session's
    /// connection, as if the network had gone. A page cannot play that by itself: its browser goes
    /// on answering Pings.
    std::function<void(const UserId&, const SessionId&)> deafen;
};

struct ApiParts {
    std::size_t index = 0;  ///< Of this thread.
    Scheduler& scheduler;
    const Clock& clock;
    Shard& shard;  ///< Of this thread.
    const Shards& shards;
    Survey& survey;  ///< Of the node, on its first thread.
    const TokenVerifier& tokens;
    std::function<bool(std::string_view)> is_api_key;
    const OriginCheck& origins;
    const CoreConfig& config;
    const Limits& limits;
    NodeReaders& node_readers;
    const NodeFacts& facts;
    const Assets& assets;
    const DemoHooks* demo = nullptr;   ///< Null in production: 404.
    std::string cookie{};              ///< That may bring a token (auth.cookie); empty: none may.
    WebhookAdmin* webhooks = nullptr;  ///< Null in tests without them: 404.
};

/// The HTTP side of one thread: PROTOCOL.md section 2 as api/openapi.yaml has it. Answers at once
/// or later; a client that has left meanwhile is no error. Owner's thread.
class Api {
public:
    explicit Api(const ApiParts& parts);
    ~Api();
    Api(const Api&) = delete;
    Api& operator=(const Api&) = delete;

    void connect(net::Server& server);
    /// Whether a request may bring a whole list of users, by its head: the call must be one that
    /// takes lists, and the caller somebody that is known.
    [[nodiscard]] bool may_be_large(const net::HttpRequest& head) const;
    void on_request(net::ConnectionId id, net::HttpRequest& request);
    void on_request_lost(net::ConnectionId id);
    void on_request_half_closed(net::ConnectionId id);
    void on_drained(net::ConnectionId id);

    /// What all answers carry, and leave for the page that asked to read this one. For answers that
    /// others make: to a request that was never whole.
    void add_headers(const net::HttpRequest& head, net::HttpResponse& answer) const;

    /// Called about every `kTick`.
    void tick();
    static constexpr Millis kTick{50};
    /// Ends streams and polls; streams are told to come back spread over `window`.
    void drain(Millis window);

    /// What on_request sends. Needs no server, but for streams and polls a pipe.
    /// @param id  Whose the request is; 0: nobody's whom one could lose.
    [[nodiscard]] Task<net::HttpResponse> answer(net::HttpRequest request,
                                                 net::ConnectionId id = {});
    /// For tests: another way out than the server's.
    void connect(StreamPipe& pipe);
    [[nodiscard]] Readers& readers() noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace presence::api
