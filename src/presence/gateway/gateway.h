#pragma once

#include "presence/base/clock.h"
#include "presence/base/log.h"
#include "presence/base/random.h"
#include "presence/base/task.h"
#include "presence/core/records.h"
#include "presence/core/shard.h"
#include "presence/core/slot_pool.h"
#include "presence/core/timing_wheel.h"
#include "presence/gateway/connection.h"
#include "presence/gateway/sockets.h"
#include "presence/net/server.h"
#include "presence/ports/presence_bus.h"
#include "presence/ports/token_verifier.h"
#include "presence/protocol/client_message.h"
#include "presence/protocol/close_codes.h"
#include "presence/protocol/server_message.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::gateway {

/// What clients offer as Sec-WebSocket-Protocol (PROTOCOL.md section 1).
inline constexpr std::string_view kSubprotocol = "presence.v1";

/// Makes of a resume secret what records keep of it. One way.
using ResumeHasher = ResumeHash (*)(std::string_view secret);

/// What a gateway counts. Owner's thread.
struct GatewayCounters {
    std::uint64_t heartbeats = 0;
    std::uint64_t welcomes = 0;
    std::uint64_t hello_refused = 0;
    std::uint64_t hello_timeouts = 0;
    std::uint64_t handed_over = 0;
    std::uint64_t auth_refused = 0;
    std::uint64_t updates_sent = 0;
    std::uint64_t deliveries = 0;  ///< Presences in them.
    std::uint64_t encoded = 0;     ///< Presences encoded for them.
    std::uint64_t rate_limited = 0;
    std::uint64_t closed_too_many = 0;
    std::uint64_t closed_slow = 0;
    std::uint64_t mistakes = 0;
    std::uint64_t signals_sent = 0;
    std::uint64_t signals_delivered = 0;
    std::uint64_t room_messages = 0;
    std::uint64_t room_members_encoded = 0;
    std::uint64_t requests = 0;
};

struct GatewayParts {
    std::size_t index = 0;  ///< Of this thread.
    Scheduler& loop;
    const Clock& clock;
    Random& random;
    Shard& shard;
    const Homes& homes;
    const TokenVerifier& tokens;
    ResumeHasher hash_resume = nullptr;
    const CoreConfig& config;
    const Limits& limits;
};

/// One thread's WebSocket clients: hello, requests, news, closes. It owns its connections and the
/// sessions on them; other threads are reached by messages alone (DESIGN section 3). A user's
/// connections are all on the user's home thread: after `hello` a connection moves there.
///
/// Owner's thread, but for the constructor.
class Gateway final : public SessionOwner,
                      public WatchSink,
                      public RoomSink,
                      public PresenceBus::Receiver {
public:
    explicit Gateway(const GatewayParts& parts);
    ~Gateway() override;

    /// The sockets of these connections, and all gateways of the process by index.
    void connect(Sockets& sockets, std::vector<Gateway*> peers);

    // -- From net, by way of the front door ---------------------------------------------------
    /// A sound upgrade of /v1/connect, its origin checked.
    void on_upgrade(net::ConnectionId id, net::HttpRequest& request);
    void on_sign_of_life(net::UserTag tag, net::LifeKind kind);
    /// Notes the signs of life that have come. After the sockets were read, before anything else.
    void take_beats();
    bool on_message(net::ConnectionId id, net::UserTag tag, std::string_view text);
    void on_drained(net::UserTag tag);
    void on_closed(net::UserTag tag, const net::CloseInfo& info);

    /// Hears nothing any more of the connection of that session: for the demo page, whose browser
    /// answers Pings whatever the page does.
    void deafen(const UserId& user, const SessionId& session);

    /// The limits that it was given have other values.
    void limits_changed();

    void tick();
    /// At the end of each turn of the loop.
    void flush();

    /// Tells everybody to come back elsewhere, spread over `window`, and closes each when its time
    /// has come (DESIGN rule 33).
    void drain(Millis window);
    [[nodiscard]] std::size_t connection_count() const noexcept { return connections_.size(); }
    [[nodiscard]] const GatewayCounters& counters() const noexcept { return counters_; }
    /// Deadlines filed, of all connections.
    [[nodiscard]] std::size_t timer_count() const noexcept { return timers_.size(); }

    // -- SessionOwner ---------------------------------------------------------------------------
    void end_connection(SlotId connection, EndReason reason) override;
    void ping_connection(SlotId connection) override;

    // -- WatchSink ------------------------------------------------------------------------------
    const UserId* viewer_of(std::uint32_t connection) override;
    bool is_open(SlotId connection) override;
    bool can_take(std::uint32_t connection) override;
    void deliver_news(std::uint32_t connection, std::span<WatchIndex::Subject* const> subjects,
                      std::span<const Verdict> verdicts) override;
    void deliver_seen(std::uint32_t connection, std::span<const Seen* const> seen) override;

    // -- RoomSink -------------------------------------------------------------------------------
    void deliver_room(std::uint32_t connection, const RoomNews& news, RoomFrames& frames) override;
    void deliver_room_signal(std::uint32_t connection, const SignalMessage& signal,
                             RoomFrames& frames) override;

    // -- PresenceBus::Receiver ------------------------------------------------------------------
    void on_presence(const PresenceEventRef& event) override;
    void on_profile_changed(const UserId& user, std::uint64_t revision) override;
    /// Word of revocations may have been lost: all who are here are looked at, a batch at a time.
    void look_for_revoked();
    void on_signal(const SignalRef& signal) override;
    void on_session_taken(const SessionTaken& taken) override;
    void on_end_set(const EndSet& set) override;
    void on_room(const RoomStatementRef& statement) override;
    void on_room_asked(const RoomId& room) override;
    void on_session_stays(const SessionStays& stays) override;
    void on_survey(const SurveyQuestionRef& question) override;
    void on_survey_answer(const SurveyAnswerRef& answer) override;

    /// The shared store went away, came back, or refuses writes: everybody is told.
    void set_store_health(StoreHealth store);

private:
    void look_while_deaf();
    enum class TimerKind : std::uint8_t { hello, token, slow, drain };
    struct Timer {
        SlotId connection;
        TimerKind kind = TimerKind::hello;
    };
    using RequestId = protocol::RequestId;

    // Greeting, in hello.cc
    void greet(SlotId id, std::string_view text);
    Detached identify(SlotId id, RequestId request, protocol::Hello hello, std::string token);
    Detached attach(SlotId id, RequestId request, protocol::Hello hello, TokenClaims claims);
    /// Takes over a connection whose user lives here, with the hello that brought it.
    void take_in(net::DetachedConnection connection, RequestId request, protocol::Hello hello,
                 TokenClaims claims);
    void refuse_hello(SlotId id, RequestId request, const Error& error,
                      protocol::CloseReason reason);
    void welcome(SlotId id, RequestId request, const Attachment& attached, std::string_view secret,
                 const TokenClaims& claims);
    void take_claims(ClientConnection& connection, const TokenClaims& claims);
    void arm_token_timers(SlotId id, const TokenClaims& claims);
    /// Files the next look at the token, unless an earlier one is filed.
    void file_token_look(SlotId id);
    void look_at_token(SlotId id, std::uint32_t tick, MonoTime now);

    // Requests, in requests.cc
    void take_message(SlotId id, std::string_view text);
    Detached serve(SlotId id, RequestId request, protocol::ClientMessage message);
    /// The request at hand is answered: on with the next.
    void finish_request(SlotId id);
    void acknowledge_heartbeat(SlotId id, RequestId request);
    [[nodiscard]] Task<bool> on_watch(SlotId id, RequestId request, protocol::Watch watch);
    [[nodiscard]] Task<bool> on_get(SlotId id, RequestId request, protocol::Get get);
    void on_unwatch(SlotId id, RequestId request, const protocol::Unwatch& unwatch);
    [[nodiscard]] Task<bool> on_status(SlotId id, RequestId request, protocol::StatusChange change);
    [[nodiscard]] Task<bool> on_privacy(SlotId id, RequestId request,
                                        protocol::PrivacyChange change);
    [[nodiscard]] Task<bool> on_block(SlotId id, RequestId request, std::vector<UserId> users,
                                      bool block);
    void on_delivery(SlotId id, RequestId request, bool paused);
    [[nodiscard]] Task<bool> on_auth(SlotId id, RequestId request, protocol::Auth auth);
    [[nodiscard]] Task<bool> on_bye(SlotId id);
    /// Answers a change of the profile: `ack`, or the error.
    void answer_change(SlotId id, RequestId request, const Result<ProfileChange>& changed);
    [[nodiscard]] Task<bool> tell_rules(SlotId id, RequestId request);
    [[nodiscard]] bool may_look(SlotId id, RequestId request, std::span<const UserId> looked_at);

    // Rooms and signals, in room_requests.cc
    [[nodiscard]] Task<bool> on_join(SlotId id, RequestId request, protocol::Join join);
    [[nodiscard]] Task<bool> on_leave(SlotId id, RequestId request, protocol::Leave leave);
    [[nodiscard]] Task<bool> on_signal_request(SlotId id, RequestId request,
                                               protocol::Signal signal);
    void send_frames(SlotId id, const RoomFrames& frames);
    void leave_forbidden_rooms(SlotId id);
    /// It can take news again: first what is new of watched users, then rooms.
    Detached catch_up(SlotId id, bool all_rooms);

    // Sending and closing, in delivery.cc
    void send(SlotId id, std::string_view text);
    void after_send(SlotId id, net::SendResult result);
    /// What is known of a connection, for the log.
    [[nodiscard]] log::Ids ids_of(const ClientConnection& connection) const;
    void fail(SlotId id, RequestId request, const Error& error);
    /// `keep_session`: the grace begins; else the session was or is being ended by others.
    void close(SlotId id, protocol::CloseReason reason, bool keep_session);
    void let_go_of_session(SlotId id, bool sign_of_life);
    [[nodiscard]] const EncodedNews::Kind& encoded(WatchIndex::Subject& subject, Verdict verdict);
    using Frames = std::vector<std::shared_ptr<const std::string>>;
    [[nodiscard]] Frames make_updates(std::span<WatchIndex::Subject* const> subjects,
                                      std::span<const Verdict> verdicts);
    void pass_on(std::shared_ptr<SignalMessage> signal, const Presence& sender);
    Detached deliver_signal(SignalRef signal);
    Detached end_erased(UserId user);
    Detached end_revoked(UserId user);
    /// Who has sessions here, or streams and polls.
    [[nodiscard]] std::vector<UserId> everybody_here() const;
    Detached end_revoked_of(std::vector<UserId> users);
    /// The rules of somebody who is here could not be read: whether the token is revoked is seen
    /// later.
    void look_later(const UserId& user);

    [[nodiscard]] bool is_flooding(ClientConnection& connection, bool within, MonoTime now) const;
    void visit(const Timer& timer, std::uint32_t tick, MonoTime now);
    void file(SlotId id, TimerKind kind, MonoTime deadline);

    GatewayParts parts_;
    Sockets* sockets_ = nullptr;
    std::vector<Gateway*> peers_;
    SlotPool<ClientConnection> connections_;
    /// Connections that gave a sign of life in this turn of the loop, and are to be noted.
    std::array<SlotId, 64> beats_;
    std::size_t beat_count_ = 0;
    TimingWheel<Timer> timers_;
    GatewayCounters counters_;
    /// The update made last: of several who watch the same people many are told the same.
    struct LastUpdate {
        std::vector<WatchIndex::Subject*> subjects;
        std::vector<Verdict> verdicts;
        Frames frames;
    };
    std::optional<LastUpdate> last_update_;  ///< Only within a flush, while no news changes.
    std::set<UserId> unread_;                ///< Of look_later; no more than are here.
    protocol::ParseLimits parse_limits_;
    protocol::Health health_;
    bool looks_while_deaf_ = false;
    bool draining_ = false;
};

/// A slot as net carries it about.
[[nodiscard]] inline net::UserTag to_tag(SlotId id) {
    return (static_cast<net::UserTag>(id.generation) << 32) | id.slot;
}
[[nodiscard]] inline SlotId from_tag(net::UserTag tag) {
    return {static_cast<std::uint32_t>(tag & 0xFFFFFFFFU), static_cast<std::uint32_t>(tag >> 32)};
}

}  // namespace presence::gateway
