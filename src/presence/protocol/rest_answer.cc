#include "presence/protocol/error_json.h"
#include "presence/protocol/json_writer.h"
#include "presence/protocol/model_json.h"
#include "presence/protocol/rest_body.h"

namespace presence::protocol {

namespace {

void append_declared_state(std::string& out, const DeclaredState& declared, WallTime now) {
    const bool over = declared.expires_at && *declared.expires_at <= now;
    const DeclaredStatus status = over ? DeclaredStatus::automatic : declared.status;
    ObjectWriter object(out);
    object.text("status", wire_name(status));
    if (status != DeclaredStatus::automatic && declared.expires_at) {
        object.integer("expiresAt", declared.expires_at->ms());
    }
    if (const CustomStatusRef custom = unless_over(declared.custom, now)) {
        append_custom_status(object, *custom);
    }
    object.close();
}

void append_device(ObjectWriter& object, const Device& device) {
    object.name("device");
    ObjectWriter inside(object.out());
    inside.text("type", wire_name(device.kind));
    if (!device.name.empty()) {
        inside.text("name", device.name);
    }
    inside.close();
}

void append_sessions(ObjectWriter& object, std::span<const SessionFields> sessions, WallTime now) {
    object.name("sessions");
    std::string& out = object.out();
    out.push_back('[');
    bool first = true;
    for (const SessionFields& fields : sessions) {
        out.append(first ? "" : ",");
        append_session(out, fields, now);
        first = false;
    }
    out.push_back(']');
}

void append_presences(ObjectWriter& body, std::span<const std::string_view> presences) {
    body.name("users");
    std::string& out = body.out();
    out.push_back('[');
    bool first = true;
    for (const std::string_view presence : presences) {
        out.append(first ? "" : ",").append(presence);
        first = false;
    }
    out.push_back(']');
}

void append_checks(ObjectWriter& object, std::span<const ExplainedCheck> checks) {
    object.name("rules");
    std::string& out = object.out();
    out.push_back('[');
    bool first = true;
    for (const ExplainedCheck& check : checks) {
        out.append(first ? "" : ",");
        ObjectWriter line(out);
        line.text("attribute", check.attribute);
        line.text("check", check.check);
        line.boolean("passes", check.passes);
        line.text("why", check.why);
        line.close();
        first = false;
    }
    out.push_back(']');
}

}  // namespace

std::string encode_error_body(const Error& error) {
    std::string out;
    ObjectWriter body(out);
    body.name("error");
    ObjectWriter inside(out);
    append_error_fields(inside, error);
    inside.close();
    body.close();
    return out;
}

std::string encode_query_body(std::span<const std::string_view> presences, WallTime as_of) {
    std::string out;
    ObjectWriter body(out);
    append_presences(body, presences);
    body.integer("asOf", as_of.ms());
    body.close();
    return out;
}

std::string encode_poll_body(std::span<const std::string_view> presences, std::string_view cursor,
                             WallTime as_of) {
    std::string out;
    ObjectWriter body(out);
    append_presences(body, presences);
    body.text("cursor", cursor);
    body.integer("asOf", as_of.ms());
    body.close();
    return out;
}

std::string encode_declared_body(const DeclaredState& declared, WallTime now) {
    std::string out;
    append_declared_state(out, declared, now);
    return out;
}

std::string encode_privacy_body(const PrivacyRule& online, const PrivacyRule& last_seen) {
    std::string out;
    ObjectWriter body(out);
    append_rule(body, "online", online.audience, online.users.users());
    append_rule(body, "lastSeen", last_seen.audience, last_seen.users.users());
    body.close();
    return out;
}

std::string encode_user_set_body(const UserSet& users) {
    std::string out;
    ObjectWriter body(out);
    append_users(body, "users", users.users());
    body.close();
    return out;
}

std::string encode_revoke_body(WallTime before) {
    std::string out;
    ObjectWriter body(out);
    body.integer("before", before.ms());
    body.close();
    return out;
}

std::string encode_beat_body(const SessionId& session, Millis interval, Millis ttl, WallTime now) {
    std::string out;
    ObjectWriter body(out);
    body.text("sessionId", session.text);
    body.integer("intervalMs", interval.count());
    body.integer("ttlMs", ttl.count());
    body.integer("serverTime", now.ms());
    body.close();
    return out;
}

std::string encode_stats_body(const StatsFields& fields, WallTime as_of) {
    const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
    std::string out;
    ObjectWriter body(out);
    body.integer("asOf", as_of.ms());
    body.boolean("exact", fields.exact);
    body.name("users");
    ObjectWriter users(out);
    std::size_t online = 0;
    for (const std::size_t with_status : fields.by_status) {
        online += with_status;
    }
    users.integer("online", number(online));
    users.name("byStatus");
    ObjectWriter by_status(out);
    for (std::size_t i = 0; i < fields.by_status.size(); ++i) {
        const auto status = static_cast<Status>(i);
        if (status != Status::offline) {
            by_status.integer(wire_name(status), number(fields.by_status.at(i)));
        }
    }
    by_status.close();
    users.name("byDevice");
    ObjectWriter by_device(out);
    for (std::size_t i = 0; i < fields.by_device.size(); ++i) {
        by_device.integer(wire_name(static_cast<DeviceKind>(i)), number(fields.by_device.at(i)));
    }
    by_device.close();
    users.close();
    body.name("sessions");
    ObjectWriter sessions(out);
    sessions.integer("live", number(fields.sessions_live));
    sessions.integer("grace", number(fields.sessions_in_grace));
    sessions.integer("observing", number(fields.sessions_observing));
    sessions.integer("byHttp", number(fields.sessions_by_http));
    sessions.close();
    body.name("connections");
    ObjectWriter connections(out);
    connections.integer("webSocket", number(fields.web_sockets));
    connections.integer("stream", number(fields.streams));
    connections.integer("poll", number(fields.polls));
    connections.close();
    body.integer("nodes", number(fields.nodes));
    body.close();
    return out;
}

void append_session(std::string& out, const SessionFields& fields, WallTime now) {
    const Session& session = fields.session;
    const bool over = session.declared_until && *session.declared_until <= now;
    ObjectWriter object(out);
    object.text("sessionId", session.id.text);
    append_device(object, session.device);
    if (session.declared != DeclaredStatus::automatic && !over) {
        object.text("status", wire_name(session.declared));
        if (session.declared_until) {
            object.integer("statusExpiresAt", session.declared_until->ms());
        }
    }
    if (const CustomStatusRef custom = unless_over(session.custom, now)) {
        append_custom_status(object, *custom);
    }
    object.text("activity", session.idle ? "idle" : "active");
    object.boolean("observing", !session.counts);
    object.text("state", session.grace_until ? "grace" : "live");
    object.text("road", session.beats_until ? "http" : "webSocket");
    object.integer("connectedAt", session.connected_at.ms());
    if (fields.last_heartbeat) {
        object.integer("lastHeartbeatAt", fields.last_heartbeat->ms());
    }
    if (session.grace_until) {
        object.integer("graceUntil", session.grace_until->ms());
    }
    if (!fields.node.empty()) {
        object.text("node", fields.node);
    }
    object.close();
}

std::string encode_sessions_body(std::span<const SessionFields> sessions, WallTime now) {
    std::string out;
    ObjectWriter body(out);
    append_sessions(body, sessions, now);
    body.close();
    return out;
}

std::string encode_explanation_body(const ExplanationFields& fields, WallTime now) {
    std::string out;
    ObjectWriter body(out);
    body.text("viewer", fields.viewer.text);
    body.text("subject", fields.subject.text);
    body.raw("view", fields.view);
    append_sessions(body, fields.sessions, now);
    body.name("merge");
    ObjectWriter merge(out);
    merge.text("policy", fields.merge_policy);
    merge.name("declared");
    append_declared_state(out, fields.declared, now);
    merge.text("result", wire_name(fields.merged));
    merge.close();
    append_checks(body, fields.checks);
    if (fields.moment != nullptr) {
        append_moment(body, *fields.moment);
    }
    body.close();
    return out;
}

namespace {

void append_room_fields(ObjectWriter& object, const RoomFields& fields) {
    object.text("room", fields.room.text);
    object.integer("count", static_cast<std::int64_t>(fields.count));
    if (fields.public_count) {
        object.integer("publicCount", static_cast<std::int64_t>(*fields.public_count));
    }
    object.boolean("exact", fields.exact);
}

}  // namespace

std::string encode_room_body(const RoomFields& fields, std::span<const std::string_view> members,
                             std::optional<std::string_view> next) {
    std::string out;
    ObjectWriter body(out);
    append_room_fields(body, fields);
    body.name("members");
    out.push_back('[');
    bool first = true;
    for (const std::string_view member : members) {
        out.append(first ? "" : ",").append(member);
        first = false;
    }
    out.push_back(']');
    if (next) {
        body.text("next", *next);
    }
    body.close();
    return out;
}

std::string encode_rooms_body(std::span<const RoomFields> rooms,
                              std::optional<std::string_view> next) {
    std::string out;
    ObjectWriter body(out);
    body.name("rooms");
    out.push_back('[');
    bool first = true;
    for (const RoomFields& fields : rooms) {
        out.append(first ? "" : ",");
        ObjectWriter room(out);
        append_room_fields(room, fields);
        room.close();
        first = false;
    }
    out.push_back(']');
    if (next) {
        body.text("next", *next);
    }
    body.close();
    return out;
}

}  // namespace presence::protocol
