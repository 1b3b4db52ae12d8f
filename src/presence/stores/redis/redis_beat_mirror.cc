#include "presence/stores/redis/redis_beat_mirror.h"

#include "presence/stores/redis/keys.h"
#include "presence/stores/redis/scripts.h"
#include "presence/stores/redis/slots.h"

#include <fmt/format.h>

#include <utility>

namespace presence {

using redis::Command;
using redis::Reply;

namespace {

std::string beats_key() {
    return std::string(RedisBeatMirror::kPrefix) + ":beats";
}

std::string user_key(const UserId& user) {
    return std::string(RedisBeatMirror::kPrefix) + ':' + user.text;
}

/// One whose key would be that of the sorted set has none.
bool has_key(const UserId& user) {
    return user.text != "beats";
}

std::string in_seconds(WallTime at) {
    constexpr std::int64_t kSecond = 1'000;
    return fmt::format("{}.{:03}", at.ms() / kSecond, at.ms() % kSecond);
}

Command plain(std::vector<std::string> words, std::string_view key) {
    return {std::move(words), redis::slot_of(key), nullptr, false};
}

}  // namespace

Task<Result<bool>> RedisBeatMirror::write(NodeId node, std::vector<ShownBeat> alive,
                                          std::vector<UserId> gone) {
    const WallTime now = clock_.wall_now();
    const std::string holder = redis::Keys::name_of(node);
    std::vector<Command> commands;
    commands.reserve(alive.size() + gone.size() + 1);
    Command& set = commands.emplace_back();
    set.slot = redis::slot_of(beats_key());
    set.script = &redis::beats_script();
    set.arguments = {"1", beats_key(), std::to_string((2 * ttl_).count()), in_seconds(now - ttl_),
                     std::to_string(alive.size())};
    for (const ShownBeat& beat : alive) {
        set.arguments.push_back(in_seconds(beat.at));
        set.arguments.emplace_back(beat.user.text);
    }
    for (const UserId& user : gone) {
        set.arguments.emplace_back(user.text);
    }
    for (const ShownBeat& beat : alive) {
        const Millis left = beat.at + ttl_ - now;
        if (left > Millis{0} && has_key(beat.user)) {
            const std::string key = user_key(beat.user);
            commands.push_back(
                plain({"SET", key, holder, "PX", std::to_string(left.count())}, key));
        }
    }
    for (const UserId& user : gone) {
        if (has_key(user)) {
            const std::string key = user_key(user);
            commands.push_back(plain({"UNLINK", key}, key));
        }
    }
    std::vector<Result<Reply>> answers = co_await client_.call_all(home_, std::move(commands));
    for (const Result<Reply>& answer : answers) {
        if (!answer) {
            co_return answer.error();
        }
    }
    co_return true;
}

}  // namespace presence
