#pragma once

#include "presence/stores/redis/server_link.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace presence::redis {

/// A connection to one master that only subscribes. What is asked for goes out slot by slot, as the
/// server refuses a command with channels of several, in batches of which a few are under way. The
/// store's thread.
class PubSubLink final : public ServerLink {
public:
    class Owner {
    public:
        virtual ~Owner() = default;
        virtual void link_ready(PubSubLink& link) = 0;
        virtual void link_lost(PubSubLink& link) = 0;
        virtual void confirmed(PubSubLink& link, std::string_view channel) = 0;
        /// The server ended a subscription by itself: the slot is not its own any more.
        virtual void revoked(PubSubLink& link, std::string_view channel) = 0;
        virtual void refused(PubSubLink& link, std::vector<std::string> channels,
                             std::string_view why) = 0;
        virtual void message(std::string_view channel, std::string_view payload) = 0;
    };

    PubSubLink(const LinkParts& parts, Endpoint endpoint, Owner& owner)
        : ServerLink(parts, std::move(endpoint)), owner_(owner) {}

    /// Asks for a channel. While the link is not ready nothing happens: its owner asks again when
    /// it is.
    void subscribe(std::uint16_t slot, const std::string& channel);
    void unsubscribe(const std::string& channel);
    /// Asks a silent server whether it lives. Every 250 ms or so.
    void tick();

private:
    struct Asked {
        bool subscribes = false;
        std::vector<std::string> channels;
        std::size_t confirmed = 0;
    };

    void on_ready() override;
    void on_lost(const std::string& why) override;
    void on_answer(Reply reply) override;
    void take_confirmation(bool subscribes, std::string_view channel);
    void pump();

    Owner& owner_;
    std::map<std::uint16_t, std::vector<std::string>> wanted_;  ///< By slot; not yet asked for.
    std::deque<Asked> asked_;
    bool pinged_ = false;
    MonoTime asked_at_;
};

}  // namespace presence::redis
