#include "presence/stores/redis/codec.h"

#include "presence/base/assert.h"
#include "presence/stores/redis/bytes.h"
#include "presence/stores/redis/codec_presence.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace presence::redis {

namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kMostSessions = 1'000;  ///< Over any limit that can be configured.

/// Bits of the first byte of a session.
constexpr unsigned kCounts = 1;
constexpr unsigned kIdle = 2;
constexpr unsigned kInGrace = 4;
constexpr unsigned kHasCustom = 8;
constexpr unsigned kDeclares = 16;
constexpr unsigned kBeats = 32;

/// Times are told from one of the record's, which most of them are near to.
void put_from(ByteWriter& out, WallTime base, WallTime time) {
    // Modulo 2^64, as a damaged record may have brought times that are far apart.
    out.signed_number(static_cast<std::int64_t>(static_cast<std::uint64_t>(time.ms()) -
                                                static_cast<std::uint64_t>(base.ms())));
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

/// Nothing follows where there is none.
BarredDevicesRef barred_from(ByteReader& in, WallTime base) {
    const std::uint64_t count = in.at_end() ? 0 : in.count();
    if (count > kMostSessions) {
        in.mark_broken();
    }
    std::vector<BarredDevice> devices;
    for (std::uint64_t i = 0; i < count && !in.broken(); ++i) {
        SessionId session(in.text());
        devices.push_back({std::move(session), time_from(in, base)});
    }
    return devices.empty() ? nullptr
                           : std::make_shared<const std::vector<BarredDevice>>(std::move(devices));
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
    if (record.barred) {
        out.number(record.barred->size());
        for (const BarredDevice& device : *record.barred) {
            out.text(device.session.text);
            put_from(out, base, device.until);
        }
    }
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
    auto record = make_ref<UserRecord>();
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
    const std::uint64_t sessions = in.count();
    if (cut || sessions > kMostSessions) {
        in.mark_broken();
    }
    for (std::uint64_t i = 0; i < sessions && !in.broken(); ++i) {
        record->sessions.push_back(session_from(in, head.nodes, base));
    }
    record->rules_revision = in.number();
    record->last_sign = time_from(in, base);
    record->untold_until = time_from(in, base);
    record->barred = barred_from(in, base);
    if (in.broken()) {
        return Error{ErrorCode::unavailable, "a record is damaged", 0, 0};
    }
    return UserRecordRef(std::move(record));
}

}  // namespace presence::redis
