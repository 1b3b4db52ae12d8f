#include "presence/stores/redis/server_link.h"

#include "presence/base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace presence::redis {

namespace {

/// The value of `name` in what INFO tells, one `name:value` a line.
std::string_view info_value(std::string_view text, std::string_view name) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            line.remove_prefix(name.size() + 1);
            return line.substr(0, line.find('\r'));
        }
        at = end + 1;
    }
    return {};
}

}  // namespace

void read_info(std::string_view text, ServerFacts& facts) {
    if (const std::string_view id = info_value(text, "run_id"); !id.empty()) {
        facts.run_id = std::string(id);
    }
    if (const std::string_view version = info_value(text, "redis_version"); !version.empty()) {
        facts.version = std::string(version);
    }
    if (const std::string_view role = info_value(text, "role"); !role.empty()) {
        facts.master = role == "master";
    }
    if (const std::string_view loading = info_value(text, "loading"); !loading.empty()) {
        facts.loading = loading != "0";
    }
}

bool is_new_enough(std::string_view version) {
    constexpr int kLeast = 7;
    int major = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    return major >= kLeast;
}

ServerLink::ServerLink(const LinkParts& parts, Endpoint endpoint)
    : parts_(parts), endpoint_(std::move(endpoint)) {}

ServerLink::~ServerLink() {
    parts_.thread.cancel(retry_);
    parts_.thread.cancel(greeting_over_);
}

void ServerLink::connect() {
    wire_ = std::make_unique<Wire>(parts_.thread, endpoint_, parts_.tls, parts_.counters,
                                   static_cast<Wire::Events&>(*this));
    wire_->open(parts_.config.connect_timeout);
}

void ServerLink::reset(const std::string& why) {
    give_up(why);
}

void ServerLink::on_opened() {
    const RedisConfig& config = parts_.config;
    facts_ = {};
    greetings_ = 0;
    const auto ask = [this](std::initializer_list<std::string_view> arguments) {
        ++greetings_;
        send(arguments);
    };
    if (!config.password.empty()) {
        if (config.user.empty()) {
            ask({"AUTH", config.password});
        } else {
            ask({"AUTH", config.user, config.password});
        }
    }
    if (config.database != 0) {
        ask({"SELECT", std::to_string(config.database)});
    }
    ask({"CLIENT", "SETNAME", "presenced"});
    ask({"INFO", "persistence"});
    ask({"INFO", "replication"});
    ask({"INFO", "server"});
    greeting_over_ = parts_.thread.after(config.connect_timeout, [this] {
        greeting_over_ = {};
        give_up("it accepts connections, and says nothing");
    });
}

void ServerLink::greet(ReplyView reply) {
    --greetings_;
    if (reply.is_error()) {
        const ReplyError error = classify(reply);
        hopeless_ = error == ReplyError::no_auth || error == ReplyError::other;
        const std::string why(reply.text());
        give_up(why);
        return;
    }
    read_info(reply.text(), facts_);
    if (greetings_ > 0) {
        return;
    }
    if (!is_new_enough(facts_.version)) {
        hopeless_ = true;
        give_up(fmt::format("it is version {}, least is 7.0, which brought sharded pub/sub",
                            log::quoted(facts_.version, 20)));
    } else if (facts_.loading) {
        give_up("it is loading its data");
    } else if (!facts_.master && !parts_.config.cluster) {
        give_up("it is a replica, and takes no writes");
    } else {
        parts_.thread.cancel(std::exchange(greeting_over_, {}));
        state_ = State::ready;
        trouble_.clear();
        hopeless_ = false;
        wait_ = Millis{0};
        on_ready();
    }
}

void ServerLink::on_reply(Reply reply) {
    if (state_ == State::ready) {
        on_answer(std::move(reply));
    } else {
        greet(reply.view());
    }
}

void ServerLink::on_closed(const std::string& why) {
    give_up(why);
}

// By value: what is given may live in what is dropped here.
void ServerLink::give_up(std::string why) {
    parts_.thread.cancel(std::exchange(greeting_over_, {}));
    wire_.reset();
    trouble_ = std::move(why);
    const bool was_ready = std::exchange(state_, State::opening) == State::ready;
    if (!was_ready) {
        state_ = State::down;
    }
    try_later();
    on_lost(trouble_);
}

void ServerLink::try_later() {
    const RedisConfig& config = parts_.config;
    if (state_ == State::opening) {
        wait_ = Millis{0};  // It was good until now: at once, once.
    } else {
        wait_ = std::clamp(wait_ * 2, config.reconnect_least, config.reconnect_most);
    }
    const auto half = static_cast<std::uint64_t>(wait_.count() / 2 + 1);
    const Millis wait = wait_ - Millis{static_cast<std::int64_t>(parts_.random.below(half))};
    parts_.thread.cancel(retry_);
    retry_ = parts_.thread.after(wait, [this] {
        retry_ = {};
        connect();
    });
}

}  // namespace presence::redis
