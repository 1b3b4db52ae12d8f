#include "presence/protocol/webhook_json.h"

#include "presence/protocol/model_json.h"

namespace presence::protocol {

namespace {

/// A public view without what the event says by itself: user and version.
void append_view(ObjectWriter& object, std::string_view name, const PresenceView& view) {
    object.name(name);
    ObjectWriter inside(object.out());
    inside.text("status", wire_name(view.status()));
    if (view.since()) {
        inside.integer("since", view.since()->ms());
    }
    if (view.custom()) {
        append_custom_status(inside, *view.custom());
    }
    if (view.devices() && view.devices()->bits != 0) {
        append_devices(inside, *view.devices());
    }
    inside.close();
}

}  // namespace

std::string encode_webhook_event(const WebhookEvent& event, std::string_view id) {
    std::string out;
    ObjectWriter object(out);
    object.text("id", id);
    object.text("type", wire_name(event.type));
    if (!event.user.text.empty()) {
        object.text("userId", event.user.text);
    }
    if (!event.room.text.empty()) {
        object.text("room", event.room.text);
    }
    object.integer("at", event.at.ms());
    object.integer("version", static_cast<std::int64_t>(event.version.value));
    if (event.before) {
        append_view(object, "before", *event.before);
    }
    if (event.after) {
        append_view(object, "after", *event.after);
    }
    if (event.last_seen) {
        object.integer("lastSeenAt", event.last_seen->ms());
    }
    object.close();
    return out;
}

}  // namespace presence::protocol
