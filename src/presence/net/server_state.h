#pragma once

#include "presence/net/connection.h"
#include "presence/net/server.h"
#include "presence/net/strangers.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::net {

/// The works of a Server, in files by theme: server_accept.cc, server_read.cc, server_frames.cc,
/// server_http.cc, server_send.cc, server_close.cc, server_timers.cc.
///
/// A rule for all of them: a callback may end any connection, also the one at hand. So after each
/// callback the slot is looked up again by its id; a null answer means: nothing more to do here.
struct Server::State : std::enable_shared_from_this<Server::State> {
    State(Loop& the_loop, Handler& the_handler, const NetLimits& the_limits,
          std::shared_ptr<Strangers> the_strangers);

    // -- server_accept.cc -----------------------------------------------------------------------
    struct Listening {
        std::shared_ptr<Listener> listener;
        std::shared_ptr<TlsContext> tls;
        bool in_loop = false;
    };
    void listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls);
    void stop_accepting();
    void accept_all(std::size_t index);
    void take_in(int fd, const sockaddr_storage& address, const Listening& from);
    bool may_take(const sockaddr_storage& address, bool counts);
    void pause_accepting(std::size_t index);
    void resume_accepting();
    void shed_one(int listener_fd);
    void uncount(Extras& extras);
    bool count_for(Slot& slot, const RemoteAddress& client);
    void count_connection();
    void uncount_connection();

    // -- server_read.cc -------------------------------------------------------------------------
    void on_ready(std::uint64_t token, std::uint32_t events);
    void read_socket(ConnectionId id);
    [[nodiscard]] bool wants_bytes(const Slot& slot) const;
    void consume(ConnectionId id, std::span<char> bytes);
    void keep_rest(Slot& slot, std::string& joined, std::span<const char> rest);
    void read_later(Slot& slot, ConnectionId id);
    void run_deferred();
    void at_end_of_input(ConnectionId id, bool failed);
    void tell_half_closed(ConnectionId id);

    // -- server_frames.cc -----------------------------------------------------------------------
    std::size_t consume_frames(ConnectionId id, std::span<char> unread);
    bool handle_frame(ConnectionId id, const FrameEvent& event, std::span<char> rest);
    void time_message(Slot& slot, ConnectionId id, bool restarted);
    void keep_pong(std::string_view payload);
    void answer_pings(ConnectionId id);
    void on_peer_close(ConnectionId id, const FrameEvent& event, bool more_unread);
    void fail_protocol(ConnectionId id, std::uint16_t code, std::string_view why);

    // -- server_http.cc -------------------------------------------------------------------------
    std::size_t consume_http(ConnectionId id, std::span<char> unread);
    void time_request(Slot& slot, ConnectionId id);
    void deliver_request(ConnectionId id, std::span<char> rest);
    void refuse_request(ConnectionId id, const HttpRequest& head, int status, std::string_view why);
    void answer(ConnectionId id, HttpResponse response);
    void after_answer(ConnectionId id);
    void start_stream(ConnectionId id, const HttpResponse& head);
    void end_stream(ConnectionId id);
    bool accept_websocket(ConnectionId id, std::string_view subprotocol, UserTag tag);
    std::string_view date();

    // -- server_send.cc -------------------------------------------------------------------------
    /// Sends `first` and `second` as one, or keeps what the kernel does not take. `owner` holds the
    /// bytes of `second` alive, where they are shared; else what is kept of them is copied.
    SendResult transmit(ConnectionId id, std::string_view first, std::string_view second,
                        const std::shared_ptr<const std::string>& owner, bool bounded);
    void enqueue(Outbox& outbox, std::string_view first, std::string_view second,
                 const std::shared_ptr<const std::string>& owner, bool started);
    void flush(ConnectionId id);
    bool flush_some(ConnectionId id);
    void after_flush(ConnectionId id);
    void send_pongs(ConnectionId id);

    // -- server_close.cc ------------------------------------------------------------------------
    void close(ConnectionId id, std::uint16_t code, std::string_view reason);
    void linger(ConnectionId id);
    void linger_with(ConnectionId id, const std::string& last_frame);
    void drop_unsent(Slot& slot);
    void report_end(Slot& slot, ConnectionId id, const CloseInfo& info);
    void lose(ConnectionId id);
    void destroy(ConnectionId id);
    [[nodiscard]] DetachedConnection release(ConnectionId id);
    ConnectionId adopt(DetachedConnection connection, UserTag tag);

    // -- server_timers.cc -----------------------------------------------------------------------
    void set_deadline(Slot& slot, ConnectionId id, Deadline kind, Millis delay);
    void clear_deadline(Slot& slot);
    void sweep();
    void fire(ConnectionId id, Deadline kind);

    // -- Helpers --------------------------------------------------------------------------------
    [[nodiscard]] Extras& extras_of(Slot& slot);
    /// Gives back what an idle WebSocket does not need.
    void trim(Slot& slot);
    [[nodiscard]] static ssl_st* tls_of(const Slot& slot) {
        return slot.extras ? slot.extras->tls.get() : nullptr;
    }
    [[nodiscard]] static bool is_blocked(const Slot& slot) {
        return slot.extras && slot.extras->outbox;
    }
    [[nodiscard]] static bool is_http(const Slot* slot, HttpSide::Phase phase) {
        return slot != nullptr && slot->stage == Stage::http && slot->extras->http->phase == phase;
    }
    /// What the connection of a callback now running has still unread.
    struct Current {
        ConnectionId id;
        std::span<char> rest;
        std::string pongs;             ///< Answers that have not gone out, whole frames.
        std::uint32_t pong_count = 0;  ///< How many stand in `pongs`.
        std::size_t newest_pong_at = 0;
    };
    struct Ended {
        ConnectionId id;
        UserTag tag;
        CloseInfo info;
    };

    Loop& loop;
    Handler& handler;
    NetLimits limits;
    std::shared_ptr<Strangers> strangers;
    NetCounters counters;
    SlotPool slots;
    std::size_t connections = 0;
    std::size_t websockets = 0;

    std::unique_ptr<char[]> buffer;  ///< Receives for all connections of this thread.
    std::string message_store;
    Current current;

    std::vector<Listening> listeners;
    int reserve_fd = -1;  ///< Given up for a moment to turn a client away when there is no other.
    Millis accept_pause{0};
    Scheduler::TimerId accept_timer;

    std::vector<ConnectionId> to_read;
    std::vector<Ended> ended;
    std::vector<ConnectionId> lost_requests;

    std::vector<std::uint32_t> timed;  ///< Slots with a deadline.
    Scheduler::TimerId sweep_timer;

    std::string date_text;
    std::int64_t date_second = -1;
};

}  // namespace presence::net
