// What a client makes of what it is told.

#include "client.h"
#include "json.h"
#include "script.h"

#include <fmt/format.h>

namespace presence::sim {

namespace {

simdjson::dom::parser& parser() {
    static simdjson::dom::parser one;
    return one;
}

std::string text_of(const simdjson::dom::element& element) {
    std::string_view text;
    return element.get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

Held held_of(const simdjson::dom::object& presence, std::string& user, MonoTime at) {
    Held held;
    held.at = at;
    for (const auto field : presence) {
        if (field.key == "userId") {
            user = text_of(field.value);
            held.user = user_index(user);
        } else if (field.key == "status") {
            held.status = text_of(field.value);
        } else if (field.key == "version") {
            held.version = field.value.get_uint64().value();
        } else if (field.key == "lastSeen") {  // Its class ages, and nobody is told of that.
            std::int64_t at_ms = 0;
            if (field.value["at"].get(at_ms) == simdjson::SUCCESS) {
                held.seen_at_ms = at_ms;
            }
        } else {
            held.rest += fmt::format(" {}:{}", field.key, simdjson::minify(field.value));
        }
    }
    return held;
}

}  // namespace

void Client::welcome(const std::string& resume) {
    stage_ = Stage::open;
    failures_ = 0;
    resume_ = resume;
    if (!wants_) {
        send(R"("type":"bye")");
        return;
    }
    // At a random point of the interval, so that those who came at once do not beat at once.
    beat_later(Millis{static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>(parts_.interval.count())))});
    send_watch();
    return_to_rooms();
}

void Client::take(std::string_view text) {
    parts_.watcher.on_bytes(*this, text);
    simdjson::dom::element message;
    PRESENCE_ASSERT(parser().parse(text.data(), text.size()).get(message) == simdjson::SUCCESS);
    const std::string type = text_of(message, "type");
    const std::uint64_t request = number_of(message, "id");
    const bool more = !message["more"].error();
    const auto found = asked_.find(request);
    Asked asked;
    if (found != asked_.end()) {
        asked = found->second;
        if (!more) {
            asked_.erase(found);
        }
    }
    if (type == "welcome") {
        welcome(text_of(message, "resume"));
    } else if (type == "snapshot" || type == "update") {
        take_presences(message, asked, type == "update", more);
    } else if (type == "room") {
        take_room(message, more);
    } else if (type == "roomUpdate") {
        take_room_update(message);
    } else if (type == "signal") {
        parts_.watcher.on_signal(*this, text_of(message, "from"));
    } else if (type == "ack" || type == "error" || type == "privacy") {
        take_answer(asked, request, type != "error",
                    Millis{static_cast<std::int64_t>(number_of(message, "appliedInMs"))});
    }
}

void Client::take_answer(const Asked& asked, std::uint64_t request, bool done, Millis applied_in) {
    switch (asked.what) {
        case Asked::What::change:
            // Of many changes at once the newest is done later.
            parts_.scheduler.after(applied_in, [this, request, done] {
                parts_.watcher.on_answer(*this, request, done);
            });
            break;
        case Asked::What::join:
        case Asked::What::leave:
            take_room_answer(asked, done);
            break;
        case Asked::What::watch:
            if (!done) {
                // The store did not answer: asked again, as a client library does.
                parts_.scheduler.after(Millis{1'000}, [this, connection = connection_] {
                    if (connection == connection_ && stage_ == Stage::open && !frozen_) {
                        send_watch();
                    }
                });
            }
            break;
        default:
            break;
    }
}

void Client::take_presences(const simdjson::dom::element& message, const Asked& asked, bool update,
                            bool more) {
    for (const auto presence : message["users"].get_array()) {
        std::string user;
        const Held held = held_of(presence.get_object().value(), user, parts_.clock.now());
        if (asked.what == Asked::What::get) {
            looked_[user] = held;
        }
        if (watched_.contains(user)) {
            held_[user] = held;
        }
        parts_.watcher.on_presence(*this, user, held, update);
    }
    if (asked.what == Asked::What::watch && !more) {
        hears_since_ = parts_.clock.now();
    } else if (asked.what == Asked::What::get && !more) {
        parts_.watcher.on_looked(*this, looked_);
    }
}

}  // namespace presence::sim
