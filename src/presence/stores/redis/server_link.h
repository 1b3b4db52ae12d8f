#pragma once

#include "presence/base/random.h"
#include "presence/stores/redis/wire.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace presence::redis {

/// Who a server said it is.
struct ServerFacts {
    std::string run_id;   ///< One life of its process.
    std::string version;  ///< "7.0.15"; of Valkey the Redis version that it stands for.
    bool master = true;
    bool loading = false;
};

/// Takes over what `INFO` tells.
void read_info(std::string_view text, ServerFacts& facts);
/// Whether a server of that version has sharded pub/sub, which came with 7.0.
[[nodiscard]] bool is_new_enough(std::string_view version);

/// What all links are made with; outlives them.
struct LinkParts {
    StoreThread& thread;
    const RedisConfig& config;
    ssl_ctx_st* tls;  ///< Null: plain TCP.
    WireCounters& counters;
    Random& random;
};

/// Keeps a connection to one server up: connects, greets, and after a loss connects again, waiting
/// longer each time. What goes over it is the heirs' business. The store's thread.
class ServerLink : private Wire::Events {
public:
    enum class State : std::uint8_t {
        opening,  ///< For the first time, or at once after a loss.
        ready,
        down,  ///< The last attempt failed: waits, or tries again.
    };

    ServerLink(const LinkParts& parts, Endpoint endpoint);
    ~ServerLink() override;
    ServerLink(const ServerLink&) = delete;
    ServerLink& operator=(const ServerLink&) = delete;

    void start() { connect(); }
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }
    [[nodiscard]] const ServerFacts& facts() const noexcept { return facts_; }
    /// Why it is not ready, for people.
    [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
    /// Whether the trouble is one that waiting does not mend: password, version.
    [[nodiscard]] bool hopeless() const noexcept { return hopeless_; }

    /// Gives the connection up and connects anew, at once.
    void reset(const std::string& why);

protected:
    /// The server may be used.
    virtual void on_ready() = 0;
    /// A link that was ready is so no more, or an attempt has failed.
    virtual void on_lost(const std::string& why) = 0;
    virtual void on_answer(Reply reply) = 0;

    void send(std::span<const std::string_view> arguments) { wire_->send(arguments); }
    void send(std::initializer_list<std::string_view> arguments) {
        wire_->send({arguments.begin(), arguments.size()});
    }
    [[nodiscard]] MonoTime last_heard() const noexcept { return wire_->last_heard(); }
    [[nodiscard]] const LinkParts& parts() const noexcept { return parts_; }

private:
    void on_opened() override;
    void on_reply(Reply reply) override;
    void on_closed(const std::string& why) override;
    void connect();
    void greet(ReplyView reply);
    void give_up(std::string why);
    void try_later();

    LinkParts parts_;
    Endpoint endpoint_;
    std::unique_ptr<Wire> wire_;
    State state_ = State::opening;
    ServerFacts facts_;
    std::string trouble_;
    bool hopeless_ = false;
    std::size_t greetings_ = 0;  ///< Answers of the greeting that are still to come.
    Millis wait_{0};
    Scheduler::TimerId retry_{};
    Scheduler::TimerId greeting_over_{};
};

}  // namespace presence::redis
