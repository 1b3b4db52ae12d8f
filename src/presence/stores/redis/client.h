#pragma once

#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/stores/redis/command_link.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace presence::redis {

/// What the client has been through. Any thread may read.
struct ClientCounters {
    std::atomic<std::uint64_t> calls = 0;
    std::atomic<std::uint64_t> refused = 0;         ///< Over RedisConfig::queue.
    std::atomic<std::uint64_t> failed = 0;          ///< Ended as `unavailable`.
    std::atomic<std::uint64_t> writes_refused = 0;  ///< Of those: the server takes no writes.
    std::atomic<std::uint64_t> redirected = 0;      ///< MOVED and ASK.
    std::atomic<std::uint64_t> put_off = 0;       ///< LOADING, TRYAGAIN, CLUSTERDOWN and the like.
    std::atomic<std::uint64_t> scripts_sent = 0;  ///< NOSCRIPT: sent as a whole.
    std::atomic<std::uint64_t> lost = 0;          ///< Connections.
    std::atomic<std::uint64_t> topologies = 0;    ///< Times that the map of the cluster was read.
    std::atomic<std::uint64_t> mistakes = 0;      ///< Commands that the server did not understand.
};

/// Redis, Valkey, or a cluster of either, for the whole node: one connection for commands to each
/// master, all on one thread (StoreThread). Whatever is handed in by one wake-up of that thread
/// goes out in one write to each master.
///
/// A call ends by `RedisConfig::request_timeout`. It is `unavailable` at once where the connection
/// it needs is known to be down. What may or may not have been done is tried again only if it is
/// `repeatable`. Redirections, scripts that the server does not know, and servers that are busy
/// for a moment are dealt with here; the caller sees an answer or an Error, never an error reply.
class Client {
public:
    /// Told on the store's thread, from within its work.
    class Listener {
    public:
        virtual ~Listener() = default;
        /// A link became ready or was lost, or slots have other masters.
        virtual void on_servers_changed() = 0;
    };

    /// Begins to connect, on a thread of its own, or on that of `shared`: see StoreThread. Others
    /// run that loop; it lives until `stop`.
    /// @retval ErrorCode::bad_request  The file of authorities cannot be read.
    [[nodiscard]] static Result<std::unique_ptr<Client>> start(RedisConfig config,
                                                               const Clock& clock,
                                                               Loop* shared = nullptr);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Blocks until it can be used, or `most` has passed: false, it goes on trying by itself.
    /// @retval ErrorCode::bad_request  What waiting does not mend: password, version.
    [[nodiscard]] Result<bool> wait_for_first_contact(Millis most);

    /// Ends all calls with `unavailable`, closes all connections, and ends the thread. Blocks.
    void stop();

    /// Any thread; completes on `home`, which is that thread's and lives until then.
    [[nodiscard]] Task<Result<Reply>> call(Scheduler& home, Command command);
    /// One answer for each, in that order.
    [[nodiscard]] Task<std::vector<Result<Reply>>> call_all(Scheduler& home,
                                                            std::vector<Command> commands);

    /// The store's thread only; `done` is called there, perhaps at once.
    void execute(Command command, UniqueFunction<void(Result<Reply>)> done);
    void add_listener(Listener& listener);
    void remove_listener(Listener& listener);
    /// The master of a slot, as far as is known.
    [[nodiscard]] std::optional<Endpoint> owner_of(std::uint16_t slot) const;
    /// One life of the server that is the master of a slot; empty while it is not connected.
    [[nodiscard]] std::string run_id_of(std::uint16_t slot) const;
    /// Another connection was told that a slot has moved.
    void note_moved(std::string_view redirection, const Endpoint& by);
    /// Reads the map of the cluster again, soon.
    void refresh_topology();
    /// From now on every call fails with `unavailable` and this reason.
    void refuse(std::string why);
    [[nodiscard]] const LinkParts& link_parts() const;

    [[nodiscard]] StoreThread& thread() noexcept;
    [[nodiscard]] const RedisConfig& config() const noexcept;
    [[nodiscard]] const ClientCounters& counters() const noexcept;
    [[nodiscard]] const WireCounters& wire_counters() const noexcept;
    /// Calls handed in and not yet ended. Any thread.
    [[nodiscard]] std::size_t waiting() const noexcept;
    /// Whether every slot has a master that answers, as far as is known. Any thread.
    [[nodiscard]] bool usable() const noexcept;
    /// Whether a master takes nothing that needs room: it is at its `maxmemory`, cannot save, or
    /// lacks replicas. Asked every two seconds, too, so that it is known though nobody writes. Any
    /// thread.
    [[nodiscard]] bool refuses_writes() const noexcept;

private:
    class State;
    explicit Client(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace presence::redis
