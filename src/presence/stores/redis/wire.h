#pragma once

#include "presence/base/time.h"
#include "presence/stores/redis/config.h"
#include "presence/stores/redis/reply.h"
#include "presence/stores/redis/store_thread.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_ctx_st;

namespace presence::redis {

/// What all connections of a node have done. Any thread may read.
struct WireCounters {
    std::atomic<std::uint64_t> commands = 0;
    std::atomic<std::uint64_t> writes =
        0;  ///< System calls; `commands / writes` is the pipelining.
    std::atomic<std::uint64_t> reads = 0;
    std::atomic<std::uint64_t> connects = 0;
};

/// One connection, TCP or TLS: commands out, all of one piece of work in one write; replies in as
/// whole values. It does not come back by itself. The store's thread.
class Wire {
public:
    class Events {
    public:
        virtual ~Events() = default;
        virtual void on_opened() = 0;
        virtual void on_reply(Reply reply) = 0;
        /// It never opened, or is gone. The last call; the wire may be destroyed within it.
        virtual void on_closed(const std::string& why) = 0;
    };

    /// @param tls  Null: plain TCP. Outlives the wire, as do the others.
    Wire(StoreThread& thread, const Endpoint& endpoint, ssl_ctx_st* tls, WireCounters& counters,
         Events& events);
    ~Wire();  ///< Closes without telling.
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    void open(Millis timeout);
    /// Adds a command to what goes out at the end of this piece of work. Not before it has opened.
    void send(std::span<const std::string_view> arguments);
    /// When it last heard anything.
    [[nodiscard]] MonoTime last_heard() const noexcept;
    /// Bytes that the kernel has not taken yet.
    [[nodiscard]] std::size_t unsent() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace presence::redis
