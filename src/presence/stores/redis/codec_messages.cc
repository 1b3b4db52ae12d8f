// What crosses the bus, as bytes.

#include "presence/stores/redis/bytes.h"
#include "presence/stores/redis/codec.h"
#include "presence/stores/redis/codec_presence.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace presence::redis {

namespace {

enum class Kind : std::uint8_t {
    presence = 1,
    profile_changed,
    signal,
    probe,
    session_taken,
    room_statement,
    room_question,
    room_signal,
    survey_question,
    survey_answer,
    session_stays,
    end_set,
};

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
    if (!in.at_end()) {
        signal->room = RoomId(in.text());
    }
    if (signal->to.text.empty()) {
        return Unreadable{};  // It would pass for one to all in a room.
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
    for (std::uint64_t left = in.count(); in.has_next(left);) {
        statement->present.push_back(member_from(in));
    }
    for (std::uint64_t left = in.count(); in.has_next(left);) {
        statement->gone.emplace_back(in.text());
    }
    const std::string_view shown = in.text();
    for (std::size_t i = 0; i < std::min(shown.size(), statement->present.size()); ++i) {
        statement->present[i].shown = shown[i] != 0;
    }
    for (std::uint64_t left = in.count(); in.has_next(left);) {
        statement->left_told.emplace_back(in.text());
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
    if (!in.at_end()) {
        taken.taker = NodeId{in.number()};
    }
    return taken;
}

Message stays_message(ByteReader& in) {
    SessionStays said;
    said.to = NodeId{in.number()};
    said.user = UserId(in.text());
    said.session = SessionId(in.text());
    for (std::uint64_t left = in.count(); in.has_next(left);) {
        RoomStay stay;
        stay.room = RoomId(in.text());
        stay.meta = std::string(in.text());
        stay.joined_at = in.time();
        said.stays.push_back(std::move(stay));
    }
    return said;
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
    if (signal.to.text.empty()) {
        return encode_room_signal(signal);
    }
    ByteWriter out = message(Kind::signal);
    out.text(signal.from.text);
    out.text(signal.to.text);
    out.text(signal.kind);
    out.byte(signal.active ? 1 : 0);
    out.text(signal.data);
    out.text(signal.from_session.text);
    if (signal.room) {
        out.text(signal.room->text);
    }
    return std::move(out).take();
}

std::string encode(const SessionTaken& taken) {
    ByteWriter out = message(Kind::session_taken);
    out.number(taken.holder.value);
    out.text(taken.user.text);
    out.text(taken.session.text);
    out.number(taken.epoch.value);
    out.byte(static_cast<std::uint8_t>(taken.reason));
    out.number(taken.taker.value);
    return std::move(out).take();
}

std::string encode(const SessionStays& stays) {
    ByteWriter out = message(Kind::session_stays);
    out.number(stays.to.value);
    out.text(stays.user.text);
    out.text(stays.session.text);
    out.number(stays.stays.size());
    for (const RoomStay& stay : stays.stays) {
        out.text(stay.room.text);
        out.text(stay.meta);
        out.time(stay.joined_at);
    }
    return std::move(out).take();
}

std::string encode(const EndSet& set) {
    ByteWriter out = message(Kind::end_set);
    out.number(set.holder.value);
    out.text(set.user.text);
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
        put(out, member);
    }
    out.number(statement.gone.size());
    for (const UserId& user : statement.gone) {
        out.text(user.text);
    }
    std::string shown;  // Apart from the members, to whom older releases would not find back.
    for (const RoomMember& member : statement.present) {
        shown.push_back(member.shown ? '\1' : '\0');
    }
    out.text(shown);
    out.number(statement.left_told.size());
    for (const UserId& user : statement.left_told) {
        out.text(user.text);
    }
    return std::move(out).take();
}

std::string encode(const RoomQuestion& question) {
    ByteWriter out = message(Kind::room_question);
    out.text(question.room.text);
    return std::move(out).take();
}

std::string encode(const SurveyQuestion& question) {
    ByteWriter out = message(Kind::survey_question);
    put(out, question);
    return std::move(out).take();
}

std::string encode(const SurveyAnswer& answer) {
    ByteWriter out = message(Kind::survey_answer);
    put(out, answer);
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
    } else if (kind == Kind::session_stays) {
        read = stays_message(in);
    } else if (kind == Kind::end_set) {
        EndSet set;
        set.holder = NodeId{in.number()};
        set.user = UserId(in.text());
        read = std::move(set);
    } else if (kind == Kind::survey_question) {
        read = question_from(in);
    } else if (kind == Kind::survey_answer) {
        read = answer_from(in);
    } else if (kind == Kind::probe) {
        read = Probe{std::string(bytes.substr(2))};
        return read;
    }
    return in.broken() ? Message(Unreadable{}) : read;
}

}  // namespace presence::redis
