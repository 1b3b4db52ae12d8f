#pragma once

#include "presence/base/result.h"
#include "presence/base/unique_function.h"
#include "presence/stores/redis/server_link.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace presence::redis {

/// A script and the name by which the server knows it.
struct Script {
    explicit Script(std::string source);
    std::string text;
    std::string sha;
    /// Refused where memory is short: it writes, and its first line does not say `allow-oom`.
    bool needs_room = false;
};

/// What is to be done. For a script, `arguments` begin with the number of keys.
struct Command {
    std::vector<std::string> arguments;
    std::uint16_t slot = 0;
    const Script* script = nullptr;
    /// May be sent again when the answer got lost: it does the same if it is done twice.
    bool repeatable = false;
};

/// A command on its way, and whom to tell.
struct Call {
    Command command;
    MonoTime deadline;
    UniqueFunction<void(Result<Reply>)> done;
    bool whole_script = false;  ///< The server does not know the script.
    bool asking = false;        ///< Sent there by ASK.
    unsigned hops = 0;          ///< Redirections so far.
};

/// The way for commands to one master: written in the order in which they come, answered in the
/// same. The store's thread.
class CommandLink final : public ServerLink {
public:
    class Owner {
    public:
        virtual ~Owner() = default;
        virtual void link_ready(CommandLink& link) = 0;
        virtual void link_lost(CommandLink& link, const std::string& why) = 0;
        virtual void answered(CommandLink& link, Call call, Reply reply) = 0;
        /// Not sent, or sent and never answered.
        virtual void unanswered(Call call, bool sent, const std::string& why) = 0;
    };

    CommandLink(const LinkParts& parts, Endpoint endpoint, Owner& owner);
    ~CommandLink() override;

    /// Sends it, or keeps it until the link is ready. Not while it is down.
    void submit(Call call);
    /// Looks for calls that are over time, and asks a silent server whether it lives. Every 50 ms
    /// or so.
    void tick();

    [[nodiscard]] std::size_t under_way() const noexcept { return sent_.size() + waiting_.size(); }

private:
    struct Sent {
        std::optional<Call> call;  ///< Empty: told already, the answer is only to be dropped.
        MonoTime sent_at;
        MonoTime deadline;
    };

    void on_ready() override;
    void on_lost(const std::string& why) override;
    void on_answer(Reply reply) override;
    void put(Call call);

    Owner& owner_;
    std::deque<Call> waiting_;
    std::deque<Sent> sent_;
};

}  // namespace presence::redis
