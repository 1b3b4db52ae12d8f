#pragma once

#include "presence/stores/redis/client.h"
#include "presence/stores/redis/slots.h"
#include "presence/stores/redis/tls.h"
#include "presence/stores/redis/topology.h"

#include <array>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace presence::redis {

/// The client's work on the store's thread: which link a call takes, and what becomes of calls
/// that were sent astray. For client*.cc.
class Client::State final : public CommandLink::Owner {
public:
    State(RedisConfig from, const Clock& clock, TlsContext secured, Loop* shared);
    ~State() override;
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void begin();
    void end();
    void dispatch(Call call);
    void execute(Command command, UniqueFunction<void(Result<Reply>)> done);
    void refresh_topology();
    void note_moved(const Redirection& redirection);
    [[nodiscard]] CommandLink* link_of(std::uint16_t slot) const { return slots_[slot]; }
    void tell_listeners();
    void refuse(std::string why) { refused_ = std::move(why); }

    // Any thread.
    const RedisConfig config;
    ClientCounters counters;
    WireCounters wire_counters;
    std::atomic<std::size_t> under_way = 0;
    std::atomic<bool> usable = false;
    std::atomic<bool> refuses_writes = false;
    std::promise<Result<bool>> first_contact;
    std::future<Result<bool>> first_contact_made = first_contact.get_future();

    // The store's thread, but for `post`.
    TlsContext tls;  ///< Null: plain TCP.
    StoreThread thread;
    SystemRandom random;
    LinkParts parts;
    std::vector<Listener*> listeners;

private:
    using Links = std::map<Endpoint, std::unique_ptr<CommandLink>>;

    void link_ready(CommandLink& link) override;
    void link_lost(CommandLink& link, const std::string& why) override;
    void answered(CommandLink& link, Call call, Reply reply) override;
    void unanswered(Call call, bool sent, const std::string& why) override;

    void redirect(CommandLink& link, Call call, ReplyView reply, bool for_good);
    void submit(CommandLink& link, Call call);
    void park(Call call);
    void fail(Call call, const std::string& why);
    void finish(Call call, Result<Reply> result);
    void tick();
    void make_contact(Result<bool> how);
    void look_at_health();

    // Whether masters have room, in client_room.cc
    void ask_for_room();
    void note_room(const Endpoint& master, ReplyView answer);
    void forget_room(const Endpoint& master);
    [[nodiscard]] std::vector<CommandLink*> masters() const;

    CommandLink& link_to(const Endpoint& endpoint);
    void dial_seeds();
    void ask_topology();
    void take_topology(const Endpoint& asked, Result<Reply> reply);
    void drop_unneeded_links();

    Links links_;
    Links leaving_;  ///< To be destroyed outside of their own calls.
    std::array<CommandLink*, kSlots> slots_{};
    std::deque<std::pair<MonoTime, Call>> parked_;  ///< When to try again; about in that order.
    std::size_t alive_ = 0;                         ///< Calls that have not ended.
    bool topology_asked_ = false;
    bool topology_wanted_ = false;
    MonoTime topology_at_{Millis{-1'000'000}};
    std::size_t next_asked_ = 0;
    std::set<Endpoint> full_;  ///< Masters that refused the last thing that needs room.
    MonoTime room_asked_at_;
    bool contacted_ = false;
    bool ending_ = false;
    std::string refused_;  ///< Why the store is not used; empty: it is.
    bool told_down_ = false;
};

}  // namespace presence::redis
