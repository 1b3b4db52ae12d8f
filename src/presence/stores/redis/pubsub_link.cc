#include "presence/stores/redis/pubsub_link.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace presence::redis {

void PubSubLink::subscribe(std::uint16_t slot, const std::string& channel) {
    if (state() == State::ready) {
        wanted_[slot].push_back(channel);
        pump();
    }
}

void PubSubLink::unsubscribe(const std::string& channel) {
    if (state() != State::ready) {
        return;
    }
    for (auto& [slot, channels] : wanted_) {
        std::erase(channels, channel);
    }
    send({"SUNSUBSCRIBE", channel});
    asked_.push_back({false, {channel}});
    asked_at_ = parts().thread.clock().now();
}

void PubSubLink::pump() {
    const RedisConfig& config = parts().config;
    while (!wanted_.empty() && asked_.size() < config.subscribes_at_once) {
        auto& [slot, channels] = *wanted_.begin();
        const std::size_t count = std::min(channels.size(), config.channels_at_once);
        if (count > 0) {
            const auto first = channels.end() - static_cast<std::ptrdiff_t>(count);
            Asked asked{true,
                        {std::make_move_iterator(first), std::make_move_iterator(channels.end())}};
            channels.erase(first, channels.end());
            std::vector<std::string_view> arguments{"SSUBSCRIBE"};
            arguments.insert(arguments.end(), asked.channels.begin(), asked.channels.end());
            send(arguments);
            asked_.push_back(std::move(asked));
            asked_at_ = parts().thread.clock().now();
        }
        if (channels.empty()) {
            wanted_.erase(wanted_.begin());
        }
    }
}

void PubSubLink::on_ready() {
    owner_.link_ready(*this);
}

void PubSubLink::on_lost(const std::string& /*why*/) {
    wanted_.clear();
    asked_.clear();
    pinged_ = false;
    owner_.link_lost(*this);
}

void PubSubLink::on_answer(Reply reply) {
    const ReplyView view = reply.view();
    if (view.is_error()) {
        // Only what was asked for is answered by an error, and in the order of asking.
        if (asked_.empty()) {
            reset("an error that nobody asked for");
            return;
        }
        Asked asked = std::move(asked_.front());
        asked_.pop_front();
        if (asked.subscribes) {
            owner_.refused(*this, std::move(asked.channels), view.text());
        }
        pump();
        return;
    }
    pinged_ = false;
    constexpr std::size_t kParts = 3;
    if (view.size() < kParts) {
        return;  // A pong.
    }
    const std::string_view kind = view[0].text();
    const std::string_view channel = view[1].text();
    if (kind == "smessage") {
        owner_.message(channel, view[2].text());
    } else if (kind == "ssubscribe") {
        take_confirmation(true, channel);
    } else if (kind == "sunsubscribe") {
        take_confirmation(false, channel);
    }
}

void PubSubLink::take_confirmation(bool subscribes, std::string_view channel) {
    const bool expected =
        !asked_.empty() && asked_.front().subscribes == subscribes &&
        std::ranges::find(asked_.front().channels, channel) != asked_.front().channels.end();
    if (!expected) {
        if (!subscribes) {
            owner_.revoked(*this, channel);
        }
        return;
    }
    Asked& asked = asked_.front();
    const bool last = ++asked.confirmed == asked.channels.size();
    if (last) {
        asked_.pop_front();
    }
    if (subscribes) {
        owner_.confirmed(*this, channel);
    }
    if (last) {
        pump();
    }
}

void PubSubLink::tick() {
    if (state() != State::ready) {
        return;
    }
    const RedisConfig& config = parts().config;
    const MonoTime now = parts().thread.clock().now();
    const bool waits = !asked_.empty() && now - asked_at_ >= config.request_timeout;
    if (now - last_heard() >= config.ping_after + config.request_timeout ||
        (waits && now - last_heard() >= config.request_timeout)) {
        reset("it does not answer");
    } else if (now - last_heard() >= config.ping_after && !pinged_) {
        pinged_ = true;
        send({"PING"});
    }
}

}  // namespace presence::redis
