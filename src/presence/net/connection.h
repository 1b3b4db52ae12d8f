#pragma once

#include "presence/base/assert.h"
#include "presence/base/chunks.h"
#include "presence/net/frame.h"
#include "presence/net/http_parser.h"
#include "presence/net/server.h"
#include "presence/net/socket.h"
#include "presence/net/transport.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace presence::net {

/// Where a connection stands.
enum class Stage : std::uint8_t {
    free,       ///< No connection here.
    http,       ///< Requests, or the handshake.
    websocket,  ///< Messages go both ways.
    closing,    ///< We sent Close and wait for the peer's; the handler does not know the end yet.
    lingering,  ///< The handler knows; what is queued goes out, what comes in is thrown away.
};

/// Bytes on their way out that the kernel did not take. The front piece may be partly sent, so
/// nothing may come between its bytes.
struct Outbox {
    struct Piece {
        std::shared_ptr<const std::string> bytes;
        std::size_t sent = 0;
        bool started = false;  ///< Given to the kernel or TLS at least once.
    };
    std::deque<Piece> pieces;
    std::size_t bytes = 0;
    std::string pong;  ///< The newest unanswered ping's answer, a whole frame; goes out first.
    MonoTime blocked_since;

    [[nodiscard]] bool empty() const noexcept { return pieces.empty() && pong.empty(); }
};

/// The HTTP side of a connection, until it becomes a WebSocket.
struct HttpSide {
    enum class Phase : std::uint8_t {
        reading,    ///< A request is awaited or coming in.
        waiting,    ///< The handler has it and has not answered.
        streaming,  ///< The answer goes out piece by piece.
        answered,   ///< The answer is given, the socket has not taken all of it.
    };

    explicit HttpSide(const HttpParser::Bounds& bounds) : parser(bounds) {}
    HttpParser parser;
    Phase phase = Phase::reading;
    bool is_head = false;            ///< The request at hand is a HEAD: its answer has no body.
    bool keep_alive = true;          ///< What the request at hand asked for.
    bool is_upgrade = false;         ///< It is a good WebSocket handshake.
    bool close_after = false;        ///< The answer on its way out is the last one.
    bool told_end = false;           ///< The handler knows that the peer sends no more.
    std::uint32_t unauthorized = 0;  ///< Answers 401 so far.
    std::string websocket_key;
};

/// What a connection is being timed for.
enum class Deadline : std::uint8_t {
    none,
    http_head,
    http_body,
    http_idle,
    http_write,
    message,
    close
};

/// What only some connections have, and idle WebSockets never.
struct Extras {
    std::string inbox;  ///< Received and not yet used up.
    std::unique_ptr<UnfinishedMessage> unfinished;
    std::unique_ptr<Outbox> outbox;
    std::unique_ptr<HttpSide> http;
    TlsSession tls;
    std::optional<AddressKey> counted_for;  ///< Counts as a stranger from this address.
    std::uint16_t close_sent = 0;           ///< The code we closed with.
    Deadline deadline = Deadline::none;
    MonoTime deadline_at;
    std::uint32_t timed_index = 0;  ///< Place in the server's list of timed connections.

    [[nodiscard]] bool is_idle() const noexcept {
        return inbox.empty() && !unfinished && !outbox && !http && !tls && !counted_for &&
               deadline == Deadline::none;
    }
};

/// One connection. There may be a million of them, most with nothing but this.
struct Slot {
    int fd = -1;
    std::uint32_t generation = 1;  ///< Grows at each reuse, so that old names are known as old.
    UserTag tag = 0;
    std::unique_ptr<Extras> extras;
    std::uint32_t message_limit = 0;
    Stage stage = Stage::free;
    bool paused : 1 = false;      ///< The handler wants no messages for now.
    bool queued : 1 = false;      ///< In the list of those to be read again.
    bool peer_ended : 1 = false;  ///< The kernel said that the peer sends no more: read to the end.
    bool at_end : 1 = false;      ///< All that the peer sent was read.
};
static_assert(sizeof(Slot) <= 32);

/// Slots at fixed places.
class SlotPool {
public:
    [[nodiscard]] Slot* find(ConnectionId id) noexcept {
        const auto index = static_cast<std::uint32_t>(id.value);
        if (index >= slots_.size()) {
            return nullptr;
        }
        Slot& slot = at(index);
        return slot.stage != Stage::free && slot.generation == id.value >> 32 ? &slot : nullptr;
    }

    /// Has the memory of that slot brought near.
    void prefetch(ConnectionId id) noexcept {
        const auto index = static_cast<std::uint32_t>(id.value);
        if (index < slots_.size()) {
            __builtin_prefetch(&at(index));
        }
    }

    [[nodiscard]] Slot& at(std::uint32_t index) noexcept { return slots_[index]; }

    /// A free slot, its generation already its own.
    ConnectionId take() {
        if (free_.empty()) {
            free_.push_back(slots_.size());
            slots_.emplace_back();
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        return ConnectionId{(static_cast<std::uint64_t>(at(index).generation) << 32) | index};
    }

    void give_back(ConnectionId id) {
        const auto index = static_cast<std::uint32_t>(id.value);
        Slot& slot = at(index);
        const std::uint32_t next = slot.generation + 1;
        slot = Slot{};
        slot.generation = next == 0 ? 1 : next;
        free_.push_back(index);
    }

    [[nodiscard]] std::uint32_t size() const noexcept { return slots_.size(); }

private:
    Chunks<Slot> slots_;
    std::vector<std::uint32_t> free_;
};

/// What moves from one server to another.
struct DetachedConnection::Parts {
    Parts() = default;
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    ~Parts();

    int fd = -1;
    TlsSession tls;
    std::string inbox;
    std::unique_ptr<UnfinishedMessage> unfinished;
    std::unique_ptr<Outbox> outbox;
    std::uint32_t message_limit = 0;
    bool peer_ended = false;
    std::optional<MonoTime> message_deadline;
};

}  // namespace presence::net
