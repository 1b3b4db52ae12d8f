#include "presence/stores/redis/command_link.h"

#include "presence/base/assert.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <utility>

namespace presence::redis {

Script::Script(std::string source) : text(std::move(source)) {
    const std::string_view flags = std::string_view(text).substr(0, text.find('\n'));
    needs_room = flags.find("allow-oom") == std::string_view::npos &&
                 flags.find("no-writes") == std::string_view::npos;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    PRESENCE_ASSERT(
        EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
    for (unsigned i = 0; i < size; ++i) {
        sha += fmt::format("{:02x}", digest.at(i));
    }
}

CommandLink::CommandLink(const LinkParts& parts, Endpoint endpoint, Owner& owner)
    : ServerLink(parts, std::move(endpoint)), owner_(owner) {}

CommandLink::~CommandLink() {
    for (Sent& sent : sent_) {
        if (sent.call) {
            owner_.unanswered(std::move(*sent.call), true, "the connection was given up");
        }
    }
    for (Call& call : waiting_) {
        owner_.unanswered(std::move(call), false, "the connection was given up");
    }
}

void CommandLink::submit(Call call) {
    PRESENCE_ASSERT(state() != State::down);
    if (state() == State::ready) {
        put(std::move(call));
    } else {
        waiting_.push_back(std::move(call));
    }
}

void CommandLink::put(Call call) {
    const MonoTime now = parts().thread.clock().now();
    if (call.asking) {
        send({"ASKING"});
        sent_.push_back({std::nullopt, now, call.deadline});
    }
    const Command& command = call.command;
    std::vector<std::string_view> arguments;
    arguments.reserve(command.arguments.size() + 2);
    if (command.script != nullptr) {
        arguments.emplace_back(call.whole_script ? "EVAL" : "EVALSHA");
        arguments.emplace_back(call.whole_script ? command.script->text : command.script->sha);
    }
    arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
    send(arguments);
    const MonoTime deadline = call.deadline;
    sent_.push_back({std::move(call), now, deadline});
}

void CommandLink::on_ready() {
    owner_.link_ready(*this);
    for (Call& call : std::exchange(waiting_, {})) {
        put(std::move(call));
    }
}

void CommandLink::on_lost(const std::string& why) {
    std::deque<Sent> sent = std::exchange(sent_, {});
    std::deque<Call> waiting = std::exchange(waiting_, {});
    owner_.link_lost(*this, why);
    for (Sent& each : sent) {
        if (each.call) {
            owner_.unanswered(std::move(*each.call), true, why);
        }
    }
    for (Call& call : waiting) {
        owner_.unanswered(std::move(call), false, why);
    }
}

void CommandLink::on_answer(Reply reply) {
    if (sent_.empty()) {
        reset("it answers what nobody asked");
        return;
    }
    Sent sent = std::move(sent_.front());
    sent_.pop_front();
    if (sent.call) {
        owner_.answered(*this, std::move(*sent.call), std::move(reply));
    }
}

void CommandLink::tick() {
    const MonoTime now = parts().thread.clock().now();
    while (!waiting_.empty() && waiting_.front().deadline <= now) {
        Call call = std::move(waiting_.front());
        waiting_.pop_front();
        owner_.unanswered(std::move(call), false, "no connection in time");
    }
    if (state() != State::ready) {
        return;
    }
    // By number: who is told may send more.
    for (std::size_t i = 0; i < sent_.size() && sent_[i].deadline <= now; ++i) {
        Sent& sent = sent_[i];
        // Not even an older answer came since: it is the connection, or the server stands still.
        if (last_heard() <= sent.sent_at) {
            reset("it does not answer");
            return;
        }
        if (sent.call) {
            Call call = std::move(*sent.call);
            sent.call.reset();
            owner_.unanswered(std::move(call), true, "no answer in time");
        }
    }
    if (sent_.empty() && now - last_heard() >= parts().config.ping_after) {
        send({"PING"});
        sent_.push_back({std::nullopt, now, now + parts().config.request_timeout});
    }
}

}  // namespace presence::redis
