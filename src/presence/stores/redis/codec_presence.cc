#include "presence/stores/redis/codec_presence.h"

#include <utility>

namespace presence::redis {

void put(ByteWriter& out, const CustomStatusRef& custom) {
    out.frame([&](ByteWriter& in) {
        if (custom) {
            in.text(custom->text);
            in.text(custom->emoji);
            in.maybe_time(custom->expires_at);
        }
    });
}

CustomStatusRef custom_from(ByteReader& outer) {
    ByteReader in = outer.frame();
    if (in.at_end()) {
        return nullptr;
    }
    CustomStatus custom;
    custom.text = std::string(in.text());
    custom.emoji = std::string(in.text());
    custom.expires_at = in.maybe_time();
    if (in.broken()) {
        outer.mark_broken();
    }
    return make_ref<const CustomStatus>(std::move(custom));
}

namespace {

/// Bits of the first byte of a presence: what follows, and what need not.
constexpr unsigned kShownDiffers = 1;
constexpr unsigned kHasLastSeen = 2;
constexpr unsigned kHasDeclared = 4;
constexpr unsigned kDoubtful = 8;

void put(ByteWriter& out, const Face& face) {
    out.frame([&](ByteWriter& in) {
        in.byte(static_cast<std::uint8_t>(face.status));
        in.byte(face.devices.bits);
        in.time(face.since);
        put(in, face.custom);
    });
}

Face face_from(ByteReader& outer) {
    ByteReader in = outer.frame();
    Face face;
    face.status = in.enumerator(Status::unknown);
    face.devices.bits = in.byte();
    face.since = in.time();
    face.custom = custom_from(in);
    if (in.broken()) {
        outer.mark_broken();
    }
    return face;
}

bool says_something(const DeclaredState& declared) {
    return !(declared == DeclaredState{});
}

}  // namespace

void put(ByteWriter& out, const Presence& presence) {
    const bool differs =
        !(presence.own == presence.shown) || presence.own.since != presence.shown.since;
    const bool declares = says_something(presence.declared);
    out.frame([&](ByteWriter& in) {
        in.byte(static_cast<std::uint8_t>(
            (differs ? kShownDiffers : 0U) | (presence.last_seen ? kHasLastSeen : 0U) |
            (declares ? kHasDeclared : 0U) | (presence.doubtful ? kDoubtful : 0U)));
        put(in, presence.own);
        if (differs) {
            put(in, presence.shown);
        }
        in.number(presence.own_version.value);
        in.signed_number(
            static_cast<std::int64_t>(presence.shown_version.value - presence.own_version.value));
        if (presence.last_seen) {
            in.time(*presence.last_seen);
        }
        if (declares) {
            in.frame([&](ByteWriter& said) {
                said.byte(static_cast<std::uint8_t>(presence.declared.status));
                said.maybe_time(presence.declared.expires_at);
                put(said, presence.declared.custom);
                said.number(presence.declared.revision);
            });
        }
        in.byte(static_cast<std::uint8_t>(presence.session_declared));
        if (presence.session_declared_until) {
            in.maybe_time(presence.session_declared_until);
        }
    });
}

Presence presence_from(ByteReader& outer) {
    ByteReader in = outer.frame();
    Presence presence;
    const std::uint8_t bits = in.byte();
    presence.doubtful = (bits & kDoubtful) != 0;
    presence.own = face_from(in);
    presence.shown = (bits & kShownDiffers) != 0 ? face_from(in) : presence.own;
    presence.own_version = Version{in.number()};
    presence.shown_version =
        Version{presence.own_version.value + static_cast<std::uint64_t>(in.signed_number())};
    if ((bits & kHasLastSeen) != 0) {
        presence.last_seen = in.time();
    }
    if ((bits & kHasDeclared) != 0) {
        ByteReader said = in.frame();
        presence.declared.status = said.enumerator(DeclaredStatus::invisible);
        presence.declared.expires_at = said.maybe_time();
        presence.declared.custom = custom_from(said);
        presence.declared.revision = said.number();
        if (said.broken()) {
            in.mark_broken();
        }
    }
    presence.session_declared = in.enumerator(DeclaredStatus::invisible);
    presence.session_declared_until = in.maybe_time();
    if (in.broken()) {
        outer.mark_broken();
    }
    return presence;
}

}  // namespace presence::redis
