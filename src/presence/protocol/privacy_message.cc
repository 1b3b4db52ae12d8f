#include "presence/protocol/json_writer.h"
#include "presence/protocol/model_json.h"
#include "presence/protocol/server_message.h"

#include <algorithm>

namespace presence::protocol {

namespace {

/// Bytes for type, id, both modes, all names and brackets.
constexpr std::size_t kFrameBytes = 256;

/// The users of one rule that have not been told yet.
struct Rest {
    Audience audience;
    std::span<const UserId> users;
};

Rest rest_of(const PrivacyRule& rule) {
    return {rule.audience,
            has_users(rule.audience) ? std::span(rule.users.users()) : std::span<const UserId>()};
}

/// Takes from `rest` the users that fit into `room`, which shrinks by what they need.
std::span<const UserId> take_fitting(Rest& rest, std::size_t& room) {
    std::size_t count = 0;
    std::string encoded;
    while (count < rest.users.size()) {
        encoded.clear();
        append_json_string(encoded, rest.users[count].text);
        if (encoded.size() + 1 > room) {
            break;
        }
        room -= encoded.size() + 1;
        ++count;
    }
    const auto taken = rest.users.first(count);
    rest.users = rest.users.subspan(count);
    return taken;
}

}  // namespace

std::vector<std::string> encode_privacy(RequestId id, const PrivacyRule& online,
                                        const PrivacyRule& last_seen, std::size_t most_bytes) {
    // Any one id fits, so that a caller that gave too low a bound still comes to an end.
    const std::size_t full = std::max<std::size_t>(most_bytes, 2048) - kFrameBytes;
    Rest online_rest = rest_of(online);
    Rest last_seen_rest = rest_of(last_seen);
    std::vector<std::string> parts;
    bool more = false;
    do {
        std::size_t room = full;
        const auto online_users = take_fitting(online_rest, room);
        const auto last_seen_users = take_fitting(last_seen_rest, room);
        more = !online_rest.users.empty() || !last_seen_rest.users.empty();
        std::string& out = parts.emplace_back();
        ObjectWriter message(out);
        message.text("type", "privacy");
        if (id) {
            message.integer("id", static_cast<std::int64_t>(*id));
        }
        append_rule(message, "online", online_rest.audience, online_users);
        append_rule(message, "lastSeen", last_seen_rest.audience, last_seen_users);
        if (more) {
            message.boolean("more", true);
        }
        message.close();
    } while (more);
    return parts;
}

}  // namespace presence::protocol
