#include "presence/protocol/json_writer.h"
#include "presence/protocol/model_json.h"
#include "presence/protocol/server_message.h"

namespace presence::protocol {

namespace {

void append_last_seen(ObjectWriter& object, const LastSeenView& last_seen) {
    object.name("lastSeen");
    ObjectWriter inside(object.out());
    inside.text("granularity", wire_name(last_seen.granularity));
    if (last_seen.at) {
        inside.integer("at", last_seen.at->ms());
    }
    inside.close();
}

void append_declared(ObjectWriter& object, const PresenceView::DeclaredView& declared) {
    object.name("declared");
    ObjectWriter inside(object.out());
    inside.text("status", wire_name(declared.status));
    inside.text("scope", declared.session_scope ? "session" : "user");
    if (declared.expires_at) {
        inside.integer("expiresAt", declared.expires_at->ms());
    }
    inside.close();
}

}  // namespace

void append_devices(ObjectWriter& object, DeviceSet devices) {
    object.name("devices");
    std::string& out = object.out();
    char separator = '[';
    for (int kind = 0; kind < kDeviceKinds; ++kind) {
        if (devices.contains(static_cast<DeviceKind>(kind))) {
            out.push_back(separator);
            append_json_string(out, wire_name(static_cast<DeviceKind>(kind)));
            separator = ',';
        }
    }
    out.push_back(']');
}

void append_custom_status(ObjectWriter& object, const CustomStatus& custom) {
    object.name("customStatus");
    ObjectWriter inside(object.out());
    if (!custom.text.empty()) {
        inside.text("text", custom.text);
    }
    if (!custom.emoji.empty()) {
        inside.text("emoji", custom.emoji);
    }
    if (custom.expires_at) {
        inside.integer("expiresAt", custom.expires_at->ms());
    }
    inside.close();
}

void append_presence(std::string& out, const PresenceView& view) {
    ObjectWriter object(out);
    object.text("userId", view.user().text);
    object.text("status", wire_name(view.status()));
    object.integer("version", static_cast<std::int64_t>(view.version().value));
    if (view.since()) {
        object.integer("since", view.since()->ms());
    }
    if (view.custom()) {
        append_custom_status(object, *view.custom());
    }
    if (view.devices() && view.devices()->bits != 0) {
        append_devices(object, *view.devices());
    }
    if (view.last_seen()) {
        append_last_seen(object, *view.last_seen());
    }
    if (view.declared()) {
        append_declared(object, *view.declared());
    }
    object.close();
}

std::string encode_presence(const PresenceView& view) {
    std::string out;
    append_presence(out, view);
    return out;
}

}  // namespace presence::protocol
