#include "presence/protocol/server_message.h"

#include "presence/protocol/error_json.h"
#include "presence/protocol/json_writer.h"
#include "presence/protocol/model_json.h"

#include <utility>

namespace presence::protocol {

namespace {

/// Opens a message with its type and id.
class MessageWriter : public ObjectWriter {
public:
    MessageWriter(std::string& out, std::string_view type, RequestId id) : ObjectWriter(out) {
        text("type", type);
        if (id) {
            integer("id", static_cast<std::int64_t>(*id));
        }
    }
};

void append_size(ObjectWriter& object, std::string_view name, std::size_t value) {
    object.integer(name, static_cast<std::int64_t>(value));
}

void append_limits(ObjectWriter& object, const WelcomeFields& fields) {
    object.name("limits");
    ObjectWriter limits(object.out());
    append_size(limits, "watch", fields.limit_watch);
    append_size(limits, "messageBytes", fields.limit_message_bytes);
    append_size(limits, "customStatusText", fields.limit_custom_status_text);
    append_size(limits, "sessions", fields.limit_sessions);
    append_size(limits, "roomMembers", fields.limit_room_members);
    limits.close();
}

void append_joined(std::string& out, std::span<const std::string_view> presences) {
    std::size_t bytes = 0;
    for (const std::string_view presence : presences) {
        bytes += presence.size() + 1;
    }
    out.reserve(out.size() + bytes + 64);
    bool first = true;
    for (const std::string_view presence : presences) {
        if (!first) {
            out.push_back(',');
        }
        out.append(presence);
        first = false;
    }
}

/// How many of the first `presences` fit into `most_bytes`, commas included; at least one, so that
/// a caller that gave too low a bound still comes to an end.
std::size_t count_that_fits(std::span<const std::string_view> presences, std::size_t most_bytes) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < presences.size()) {
        bytes += presences[count].size() + 1;
        if (bytes > most_bytes && count > 0) {
            break;
        }
        ++count;
    }
    return count;
}

/// Bytes for all that a frame says around its list.
constexpr std::size_t kFrameBytes = 256;

std::size_t room_for_list(std::size_t most_bytes) {
    return most_bytes > kFrameBytes ? most_bytes - kFrameBytes : 0;
}

std::string encode_snapshot_part(RequestId id, std::span<const std::string_view> presences,
                                 std::size_t unchanged, WallTime as_of, bool more) {
    std::string out;
    MessageWriter message(out, "snapshot", id);
    message.name("users");
    out.push_back('[');
    append_joined(out, presences);
    out.push_back(']');
    if (unchanged > 0) {
        append_size(message, "unchanged", unchanged);
    }
    message.integer("asOf", as_of.ms());
    if (more) {
        message.boolean("more", true);
    }
    message.close();
    return out;
}

std::string encode_update_part(std::span<const std::string_view> presences, bool more) {
    std::string out(R"({"type":"update","users":[)");
    append_joined(out, presences);
    out.append(more ? R"(],"more":true})" : "]}");
    return out;
}

}  // namespace

std::string encode_welcome(RequestId id, const WelcomeFields& fields) {
    std::string out;
    MessageWriter message(out, "welcome", id);
    message.text("userId", fields.user.text);
    message.text("sessionId", fields.session.text);
    message.text("resume", fields.resume);
    message.boolean("resumed", fields.resumed);
    message.integer("serverTime", fields.server_time.ms());
    message.name("heartbeat");
    ObjectWriter heartbeat(out);
    heartbeat.integer("intervalMs", fields.heartbeat_interval.count());
    heartbeat.integer("ttlMs", fields.heartbeat_ttl.count());
    heartbeat.close();
    message.integer("graceMs", fields.grace.count());
    append_limits(message, fields);
    message.name("health");
    ObjectWriter health(out);
    health.text("store", wire_name(fields.health.store));
    health.integer("since", fields.health.since.ms());
    health.close();
    if (fields.token_expires_at) {
        message.integer("expiresAt", fields.token_expires_at->ms());
    }
    message.close();
    return out;
}

std::string encode_health(const Health& health) {
    std::string out;
    MessageWriter message(out, "health", {});
    message.text("store", wire_name(health.store));
    message.integer("since", health.since.ms());
    message.close();
    return out;
}

std::string encode_heartbeat_ack(RequestId id, WallTime server_time) {
    std::string out;
    MessageWriter message(out, "heartbeatAck", id);
    message.integer("serverTime", server_time.ms());
    message.close();
    return out;
}

std::vector<std::string> encode_snapshot(RequestId id, std::span<const std::string_view> presences,
                                         std::size_t unchanged, WallTime as_of,
                                         std::size_t most_bytes) {
    std::vector<std::string> parts;
    do {
        const std::size_t count = count_that_fits(presences, room_for_list(most_bytes));
        const bool more = count < presences.size();
        parts.push_back(
            encode_snapshot_part(id, presences.first(count), more ? 0 : unchanged, as_of, more));
        presences = presences.subspan(count);
    } while (!presences.empty());
    return parts;
}

std::string encode_update(std::span<const std::string_view> presences) {
    return encode_update_part(presences, false);
}

std::vector<std::string> encode_updates(std::span<const std::string_view> presences,
                                        std::size_t most_bytes) {
    std::vector<std::string> parts;
    while (!presences.empty()) {
        const std::size_t count = count_that_fits(presences, room_for_list(most_bytes));
        parts.push_back(encode_update_part(presences.first(count), count < presences.size()));
        presences = presences.subspan(count);
    }
    return parts;
}

std::string encode_signal(const SignalFields& signal) {
    std::string out;
    MessageWriter message(out, "signal", {});
    message.text("from", signal.from.text);
    if (signal.room) {
        message.text("room", signal.room->text);
    }
    message.text("kind", signal.kind);
    message.boolean("active", signal.active);
    if (!signal.data.empty()) {
        message.raw("data", signal.data);
    }
    message.integer("expiresInMs", signal.expires_in.count());
    message.close();
    return out;
}

std::string encode_ack(RequestId id, const AckFields& fields) {
    std::string out;
    MessageWriter message(out, "ack", id);
    if (fields.applied_in) {
        message.integer("appliedInMs", fields.applied_in->count());
    }
    if (fields.expires_at) {
        message.integer("expiresAt", fields.expires_at->ms());
    }
    message.close();
    return out;
}

std::string encode_error(RequestId id, const Error& error) {
    std::string out;
    MessageWriter message(out, "error", id);
    append_error_fields(message, error);
    message.close();
    return out;
}

std::string encode_token_expiring(Millis in) {
    std::string out;
    MessageWriter message(out, "tokenExpiring", {});
    message.integer("inMs", in.count());
    message.close();
    return out;
}

std::string encode_reconnect(Millis after, std::string_view reason) {
    std::string out;
    MessageWriter message(out, "reconnect", {});
    message.integer("afterMs", after.count());
    message.text("reason", reason);
    message.close();
    return out;
}

}  // namespace presence::protocol
