#include "presence/stores/redis/codec.h"

#include "presence/base/assert.h"
#include "presence/stores/redis/bytes.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace presence::redis {

namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kMostSessions = 1'000;  ///< Over any limit that can be configured.

enum class Kind : std::uint8_t {
    presence = 1,
    profile_changed,
    signal,
    probe,
    session_taken,
    room_statement,
    room_question,
    room_signal,
};

/// Bits of the first byte of a presence: what follows, and what need not.
constexpr unsigned kShownDiffers = 1;
constexpr unsigned kHasLastSeen = 2;
constexpr unsigned kHasDeclared = 4;
constexpr unsigned kDoubtful = 8;

/// Bits of the first byte of a session.
constexpr unsigned kCounts = 1;
constexpr unsigned kIdle = 2;
constexpr unsigned kInGrace = 4;
constexpr unsigned kHasCustom = 8;
constexpr unsigned kDeclares = 16;
constexpr unsigned kBeats = 32;

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
    return std::make_shared<const CustomStatus>(std::move(custom));
}

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
        in.signed_number(static_cast<std::int64_t>(presence.shown_version.value) -
                         static_cast<std::int64_t>(presence.own_version.value));
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
    if (in.broken()) {
        outer.mark_broken();
    }
    return presence;
}

/// Times are told from one of the record's, which most of them are near to.
void put_from(ByteWriter& out, WallTime base, WallTime time) {
    out.signed_number(time.ms() - base.ms());
}

WallTime time_from(ByteReader& in, WallTime base) {
    const auto distance = static_cast<std::uint64_t>(in.signed_number());
    return WallTime::from_ms(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(base.ms()) + distance));
}

/// A session that never lost its connection has no such time; others lost it before their grace
/// ends.
WallTime closed_base(const Session& session) {
    return session.grace_until ? *session.grace_until : WallTime{};
}

/// The nodes that hold sessions, each once.
std::vector<NodeId> nodes_of(const UserRecord& record) {
    std::vector<NodeId> nodes;
    for (const Session& session : record.sessions) {
        if (std::ranges::find(nodes, session.node) == nodes.end()) {
            nodes.push_back(session.node);
        }
    }
    return nodes;
}

void put(ByteWriter& out, const Session& session, const std::vector<NodeId>& nodes, WallTime base) {
    const bool declares =
        session.declared != DeclaredStatus::automatic || session.declared_until.has_value();
    out.frame([&](ByteWriter& in) {
        in.byte(static_cast<std::uint8_t>(
            (session.counts ? kCounts : 0U) | (session.idle ? kIdle : 0U) |
            (session.grace_until ? kInGrace : 0U) | (session.custom ? kHasCustom : 0U) |
            (declares ? kDeclares : 0U) | (session.beats_until ? kBeats : 0U)));
        in.text(session.id.text);
        put_from(in, base, WallTime::from_ms(static_cast<std::int64_t>(session.epoch.value)));
        in.number(
            static_cast<std::uint64_t>(std::ranges::find(nodes, session.node) - nodes.begin()));
        in.raw({reinterpret_cast<const char*>(session.resume_hash.data()),
                session.resume_hash.size()});
        in.byte(static_cast<std::uint8_t>(session.device.kind));
        in.text(session.device.name);
        put_from(in, base, session.connected_at);
        if (session.grace_until) {
            put_from(in, base, *session.grace_until);
        }
        put_from(in, closed_base(session), session.closed_at);
        if (session.custom) {
            put(in, session.custom);
        }
        if (declares) {
            in.byte(static_cast<std::uint8_t>(session.declared));
            in.maybe_time(session.declared_until);
        }
        in.number(session.active_rank);
        if (session.beats_until) {
            put_from(in, base, *session.beats_until);
        }
    });
}

Session session_from(ByteReader& outer, const std::vector<NodeId>& nodes, WallTime base) {
    ByteReader in = outer.frame();
    Session session;
    const std::uint8_t bits = in.byte();
    session.counts = (bits & kCounts) != 0;
    session.idle = (bits & kIdle) != 0;
    session.id = SessionId(in.text());
    session.epoch = Epoch{static_cast<std::uint64_t>(time_from(in, base).ms())};
    const std::uint64_t node = in.number();
    if (node < nodes.size()) {
        session.node = nodes[node];
    } else {
        in.mark_broken();
    }
    const std::string_view hash = in.raw(session.resume_hash.size());
    std::ranges::copy(hash, session.resume_hash.begin());
    session.device.kind = in.enumerator(DeviceKind::web);
    session.device.name = std::string(in.text());
    session.connected_at = time_from(in, base);
    if ((bits & kInGrace) != 0) {
        session.grace_until = time_from(in, base);
    }
    session.closed_at = time_from(in, closed_base(session));
    if ((bits & kHasCustom) != 0) {
        session.custom = custom_from(in);
    }
    if ((bits & kDeclares) != 0) {
        session.declared = in.enumerator(DeclaredStatus::invisible);
        session.declared_until = in.maybe_time();
    }
    session.active_rank = static_cast<std::uint32_t>(in.number());
    if ((bits & kBeats) != 0) {
        session.beats_until = time_from(in, base);
    }
    if (in.broken() || session.id.text.empty()) {
        outer.mark_broken();
    }
    return session;
}

}  // namespace

std::string commit_bytes(std::uint64_t commit) {
    std::string bytes(kWordBytes, '\0');
    for (std::size_t i = 0; i < kWordBytes; ++i) {
        bytes[kWordBytes - 1 - i] = static_cast<char>(commit >> (8 * i));
    }
    return bytes;
}

RecordHead decode_head(std::string_view bytes) {
    RecordHead head;
    if (bytes.size() <= kNodesAt || bytes.front() < 1 || bytes.front() >= kFormats) {
        return head;
    }
    const auto word = [&](std::size_t at) {
        std::uint64_t value = 0;
        for (const char byte : bytes.substr(at, kWordBytes)) {
            value = value << 8U | static_cast<std::uint8_t>(byte);
        }
        return value;
    };
    head.commit = word(kCommitAt);
    const auto nodes = static_cast<std::uint8_t>(bytes[kNodesAt]);
    for (std::size_t i = 0; i < nodes; ++i) {
        const std::size_t at = kNodesAt + 1 + i * kWordBytes;
        if (at + kWordBytes <= bytes.size()) {
            head.nodes.push_back(NodeId{word(at)});
        }
    }
    return head;
}

std::string encode(const UserRecord& record) {
    ByteWriter out;
    out.byte(kFormat);
    out.raw(commit_bytes(record.commit));
    const std::vector<NodeId> nodes = nodes_of(record);
    PRESENCE_ASSERT(nodes.size() <= kMostNodes);
    out.byte(static_cast<std::uint8_t>(nodes.size()));
    for (const NodeId node : nodes) {
        out.raw(commit_bytes(node.value));
    }
    put(out, record.presence);
    const WallTime base = record.presence.own.since;
    out.number(record.sessions.size());
    for (const Session& session : record.sessions) {
        put(out, session, nodes, base);
    }
    out.number(record.rules_revision);
    put_from(out, base, record.last_sign);
    put_from(out, base, record.untold_until);
    return std::move(out).take();
}

Result<UserRecordRef> decode_record(std::string_view bytes) {
    if (bytes.empty() || bytes.front() < 1 || bytes.front() >= kFormats) {
        return UserRecordRef();
    }
    ByteReader in(bytes);
    const std::uint8_t format = in.byte();
    if (format > kFormat) {
        return Error{ErrorCode::unavailable,
                     "a record has format " + std::to_string(format) + ", known is " +
                         std::to_string(kFormat),
                     0, 0};
    }
    auto record = std::make_shared<UserRecord>();
    RecordHead head = decode_head(bytes);
    record->commit = head.commit;
    static_cast<void>(in.raw(kWordBytes));
    const std::size_t nodes = in.byte();
    static_cast<void>(in.raw(nodes * kWordBytes));
    if (head.nodes.size() != nodes) {
        in.mark_broken();
    }
    record->presence = presence_from(in);
    const WallTime base = record->presence.own.since;
    const bool cut = in.at_end();
    const std::uint64_t sessions = in.number();
    if (cut || sessions > kMostSessions) {
        in.mark_broken();
    }
    for (std::uint64_t i = 0; i < sessions && !in.broken(); ++i) {
        record->sessions.push_back(session_from(in, head.nodes, base));
    }
    record->rules_revision = in.number();
    record->last_sign = time_from(in, base);
    record->untold_until = time_from(in, base);
    if (in.broken()) {
        return Error{ErrorCode::unavailable, "a record is damaged", 0, 0};
    }
    return UserRecordRef(std::move(record));
}

namespace {

ByteWriter message(Kind kind) {
    ByteWriter out;
    out.byte(kFormat);
    out.byte(static_cast<std::uint8_t>(kind));
    return out;
}

Message presence_message(ByteReader& in) {
    constexpr std::uint8_t kTellsShown = 1;
    constexpr std::uint8_t kTellsOwn = 2;
    auto event = std::make_shared<PresenceEvent>();
    event->user = UserId(in.text());
    const std::uint8_t tells = in.byte();
    event->tells_shown = (tells & kTellsShown) != 0;
    event->tells_own = (tells & kTellsOwn) != 0;
    event->presence = presence_from(in);
    event->rules_revision = in.number();
    return PresenceEventRef(std::move(event));
}

Message signal_message(ByteReader& in) {
    auto signal = std::make_shared<SignalMessage>();
    signal->from = UserId(in.text());
    signal->to = UserId(in.text());
    signal->kind = std::string(in.text());
    signal->active = in.byte() != 0;
    signal->data = std::string(in.text());
    if (!in.at_end()) {
        signal->from_session = SessionId(in.text());
    }
    return SignalRef(std::move(signal));
}

Message room_signal_message(ByteReader& in) {
    auto signal = std::make_shared<SignalMessage>();
    signal->from = UserId(in.text());
    signal->from_session = SessionId(in.text());
    signal->room = RoomId(in.text());
    signal->from_counted = in.byte() != 0;
    signal->kind = std::string(in.text());
    signal->active = in.byte() != 0;
    signal->data = std::string(in.text());
    return SignalRef(std::move(signal));
}

Message statement_message(ByteReader& in) {
    auto statement = std::make_shared<RoomStatement>();
    statement->node = NodeId{in.number()};
    statement->room = RoomId(in.text());
    statement->sequence = in.number();
    statement->full = in.byte() != 0;
    statement->listed = in.byte() != 0;
    statement->members = in.number();
    statement->counted = in.number();
    for (std::uint64_t left = in.number(); left > 0 && !in.broken(); --left) {
        RoomMember member;
        member.user = UserId(in.text());
        member.meta = std::string(in.text());
        member.joined_at = in.time();
        member.counts = in.byte() != 0;
        statement->present.push_back(std::move(member));
    }
    for (std::uint64_t left = in.number(); left > 0 && !in.broken(); --left) {
        statement->gone.emplace_back(in.text());
    }
    return RoomStatementRef(std::move(statement));
}

Message taken_message(ByteReader& in) {
    SessionTaken taken;
    taken.holder = NodeId{in.number()};
    taken.user = UserId(in.text());
    taken.session = SessionId(in.text());
    taken.epoch = Epoch{in.number()};
    taken.reason = in.enumerator(static_cast<EndReason>(kEndReasons - 1));
    return taken;
}

}  // namespace

std::string encode(const PresenceEvent& event) {
    ByteWriter out = message(Kind::presence);
    out.text(event.user.text);
    out.byte(
        static_cast<std::uint8_t>((event.tells_shown ? 1U : 0U) | (event.tells_own ? 2U : 0U)));
    put(out, event.presence);
    out.number(event.rules_revision);
    return std::move(out).take();
}

std::string encode(const ProfileChanged& change) {
    ByteWriter out = message(Kind::profile_changed);
    out.text(change.user.text);
    out.number(change.revision);
    return std::move(out).take();
}

std::string encode_room_signal(const SignalMessage& signal) {
    ByteWriter out = message(Kind::room_signal);
    out.text(signal.from.text);
    out.text(signal.from_session.text);
    out.text(signal.room->text);
    out.byte(signal.from_counted ? 1 : 0);
    out.text(signal.kind);
    out.byte(signal.active ? 1 : 0);
    out.text(signal.data);
    return std::move(out).take();
}

std::string encode(const SignalMessage& signal) {
    if (signal.room) {
        return encode_room_signal(signal);
    }
    ByteWriter out = message(Kind::signal);
    out.text(signal.from.text);
    out.text(signal.to.text);
    out.text(signal.kind);
    out.byte(signal.active ? 1 : 0);
    out.text(signal.data);
    out.text(signal.from_session.text);
    return std::move(out).take();
}

std::string encode(const SessionTaken& taken) {
    ByteWriter out = message(Kind::session_taken);
    out.number(taken.holder.value);
    out.text(taken.user.text);
    out.text(taken.session.text);
    out.number(taken.epoch.value);
    out.byte(static_cast<std::uint8_t>(taken.reason));
    return std::move(out).take();
}

std::string encode(const RoomStatement& statement) {
    ByteWriter out = message(Kind::room_statement);
    out.number(statement.node.value);
    out.text(statement.room.text);
    out.number(statement.sequence);
    out.byte(statement.full ? 1 : 0);
    out.byte(statement.listed ? 1 : 0);
    out.number(statement.members);
    out.number(statement.counted);
    out.number(statement.present.size());
    for (const RoomMember& member : statement.present) {
        out.text(member.user.text);
        out.text(member.meta);
        out.time(member.joined_at);
        out.byte(member.counts ? 1 : 0);
    }
    out.number(statement.gone.size());
    for (const UserId& user : statement.gone) {
        out.text(user.text);
    }
    return std::move(out).take();
}

std::string encode(const RoomQuestion& question) {
    ByteWriter out = message(Kind::room_question);
    out.text(question.room.text);
    return std::move(out).take();
}

std::string probe_head() {
    ByteWriter out = message(Kind::probe);
    return std::move(out).take();
}

Message decode_message(std::string_view bytes) {
    ByteReader in(bytes);
    if (in.byte() != kFormat) {
        return Unreadable{};
    }
    const auto kind = static_cast<Kind>(in.byte());
    Message read = Unreadable{};
    if (kind == Kind::presence) {
        read = presence_message(in);
    } else if (kind == Kind::profile_changed) {
        ProfileChanged change{UserId(in.text()), 0};
        change.revision = in.number();
        read = std::move(change);
    } else if (kind == Kind::signal) {
        read = signal_message(in);
    } else if (kind == Kind::session_taken) {
        read = taken_message(in);
    } else if (kind == Kind::room_statement) {
        read = statement_message(in);
    } else if (kind == Kind::room_question) {
        read = RoomQuestion{RoomId(in.text())};
    } else if (kind == Kind::room_signal) {
        read = room_signal_message(in);
    } else if (kind == Kind::probe) {
        read = Probe{std::string(bytes.substr(2))};
        return read;
    }
    return in.broken() ? Message(Unreadable{}) : read;
}

}  // namespace presence::redis
