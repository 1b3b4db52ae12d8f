#include "presence/protocol/rest_body.h"

#include "presence/protocol/json_document.h"
#include "presence/protocol/json_fields.h"
#include "presence/protocol/request_fields.h"

#include <algorithm>

namespace presence::protocol {

namespace {

/// Parses `text` as an object and lets `read` take what it wants.
template <class Read>
auto read_body(std::string_view text, const Read& read)
    -> Result<decltype(read(std::declval<const JsonFields&>()))> {
    const auto document = JsonDocument::parse(text);
    if (!document) {
        return document.error();
    }
    simdjson::dom::object root;
    if (document->root().get(root)) {
        return Error{ErrorCode::bad_request, "the body must be a JSON object"};
    }
    Refusal refusal;
    auto value = read(JsonFields(root, "", refusal));
    if (refusal.said()) {
        return refusal.take();
    }
    return value;
}

}  // namespace

Result<StatusChange> parse_status_body(std::string_view text, const ParseLimits& limits) {
    return read_body(text, [&](const JsonFields& fields) {
        StatusChange change = read_status_change(fields, limits);
        if (change.session_scope) {
            fields.refuse("scope", "must be user: a call belongs to no session");
        }
        return change;
    });
}

Result<PrivacySettings> parse_privacy_body(std::string_view text, const ParseLimits& limits) {
    return read_body(text, [&](const JsonFields& fields) {
        if (!fields.has("online") && !fields.has("lastSeen")) {
            fields.refuse("online", "or lastSeen is needed");
        }
        return read_privacy(fields, limits);
    });
}

Result<UserSet> parse_user_set_body(std::string_view text, const ParseLimits& limits) {
    return read_body(text, [&](const JsonFields& fields) {
        return UserSet(read_users(fields, "users", limits.list_users));
    });
}

Result<UserSetDelta> parse_user_set_delta_body(std::string_view text, const ParseLimits& limits) {
    return read_body(text, [&](const JsonFields& fields) {
        UserSetDelta delta;
        if (!fields.has("add") && !fields.has("remove")) {
            fields.refuse("add", "or remove is needed");
        }
        if (fields.has("add")) {
            delta.add = UserSet(read_users(fields, "add", limits.list_users));
        }
        if (fields.has("remove")) {
            delta.remove = UserSet(read_users(fields, "remove", limits.list_users));
        }
        const auto& removed = delta.remove.users();
        if (std::any_of(removed.begin(), removed.end(),
                        [&](const UserId& user) { return delta.add.contains(user); })) {
            fields.refuse("remove", "names a user that add names too");
        }
        return delta;
    });
}

Result<std::vector<UserId>> parse_query_body(std::string_view text, const ParseLimits& limits) {
    return read_body(text, [&](const JsonFields& fields) {
        return read_users(fields, "users", limits.query_users);
    });
}

Result<PollBody> parse_poll_body(std::string_view text, const ParseLimits& limits,
                                 Millis most_wait) {
    return read_body(text, [&](const JsonFields& fields) {
        PollBody body;
        body.users = read_users(fields, "users", limits.watch);
        body.cursor = fields.text("cursor").value_or("");
        body.wait = Millis{fields.integer("waitMs", 0, most_wait.count()).value_or(0)};
        return body;
    });
}

Result<BeatBody> parse_beat_body(std::string_view text) {
    return read_body(text, [&](const JsonFields& fields) {
        BeatBody body;
        body.device_id = read_id(fields, "deviceId");
        body.device = read_device(fields);
        body.activity = read_activity(fields, "activity");
        return body;
    });
}

Result<WallTime> parse_revoke_body(std::string_view text) {
    return read_body(text, [&](const JsonFields& fields) {
        fields.require("before");
        return WallTime::from_ms(fields.integer("before", 0, kMaxInteger).value_or(0));
    });
}

}  // namespace presence::protocol
