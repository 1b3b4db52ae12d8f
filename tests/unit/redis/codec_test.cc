#include "presence/stores/redis/codec.h"

#include "presence/stores/redis/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>

namespace presence::redis {

namespace {

CustomStatusRef custom(const char* text) {
    return make_ref<const CustomStatus>(
        CustomStatus{text, "\xF0\x9F\x98\x80", WallTime::from_ms(1'700'000'000'000)});
}

Presence full_presence() {
    Presence presence;
    presence.own = {Status::invisible, {}, custom("own"), WallTime::from_ms(12)};
    presence.own.devices.insert(DeviceKind::mobile);
    presence.shown = {Status::offline, {}, nullptr, WallTime::from_ms(-1)};
    presence.own_version = Version{(std::uint64_t{1} << 53U) - 1};
    presence.shown_version = Version{7};
    presence.last_seen = WallTime::from_ms(1'700'000'000'123);
    presence.declared = {DeclaredStatus::invisible, WallTime::from_ms(5), custom("d"), 9};
    presence.session_declared = DeclaredStatus::busy;
    presence.session_declared_until = WallTime::from_ms(1'800'000'000'000);
    presence.doubtful = true;
    return presence;
}

UserRecord full_record() {
    UserRecord record;
    record.presence = full_presence();
    record.commit = std::numeric_limits<std::uint64_t>::max() - 1;
    record.rules_revision = 3;
    record.last_sign = WallTime::from_ms(1'700'000'000'456);
    record.untold_until = WallTime::from_ms(1'700'000'000'789);
    Session session;
    session.id = SessionId("abcdefghijklmno");
    session.epoch = Epoch{1'700'000'000'000};
    session.resume_hash.fill(0xFE);
    session.device = {DeviceKind::web, std::string("a\0b", 3)};
    session.connected_at = WallTime::from_ms(1'700'000'000'001);
    session.grace_until = WallTime::from_ms(1'700'000'000'002);
    session.closed_at = WallTime::from_ms(1'700'000'000'003);
    session.custom = custom("s");
    session.declared = DeclaredStatus::dnd;
    session.declared_until = WallTime::from_ms(4);
    session.active_rank = 17;
    session.beats_until = WallTime::from_ms(1'700'000'100'000);
    session.counts = false;
    session.idle = true;
    session.node = NodeId{0xFEDCBA9876543210U};
    record.barred = std::make_shared<const std::vector<BarredDevice>>(
        std::vector<BarredDevice>{{SessionId("http:a"), WallTime::from_ms(1'700'000'100'001)},
                                  {SessionId("http:b"), WallTime::from_ms(1'700'000'100'002)}});
    record.sessions = {session, Session{}, session};
    record.sessions[1].id = SessionId("plain");
    record.sessions[1].closed_at = WallTime::from_ms(1'700'000'000'004);
    return record;
}

void expect_same(const Presence& a, const Presence& b) {
    EXPECT_EQ(a.own, b.own);
    EXPECT_EQ(a.own.since, b.own.since);
    EXPECT_EQ(a.shown, b.shown);
    EXPECT_EQ(a.shown.since, b.shown.since);
    EXPECT_EQ(a.own_version, b.own_version);
    EXPECT_EQ(a.shown_version, b.shown_version);
    EXPECT_EQ(a.last_seen, b.last_seen);
    EXPECT_EQ(a.declared, b.declared);
    EXPECT_EQ(a.session_declared, b.session_declared);
    EXPECT_EQ(a.session_declared_until, b.session_declared_until);
    EXPECT_EQ(a.doubtful, b.doubtful);
}

void expect_same(const UserRecord& a, const UserRecord& b) {
    expect_same(a.presence, b.presence);
    EXPECT_EQ(a.commit, b.commit);
    EXPECT_EQ(a.rules_revision, b.rules_revision);
    EXPECT_EQ(a.last_sign, b.last_sign);
    EXPECT_EQ(a.untold_until, b.untold_until);
    ASSERT_EQ(a.barred != nullptr, b.barred != nullptr);
    EXPECT_TRUE(!a.barred || *a.barred == *b.barred);
    ASSERT_EQ(a.sessions.size(), b.sessions.size());
    for (std::size_t i = 0; i < a.sessions.size(); ++i) {
        // Custom statuses are compared as pointers by Session's equality.
        Session left = a.sessions[i];
        Session right = b.sessions[i];
        EXPECT_TRUE(same(left.custom, right.custom));
        left.custom = right.custom = nullptr;
        EXPECT_EQ(left, right);
    }
}

TEST(RedisCodec, ARecordComesBackAsItWas) {
    for (const UserRecord& record : {full_record(), UserRecord()}) {
        const Result<UserRecordRef> read = decode_record(encode(record));
        ASSERT_TRUE(read);
        ASSERT_NE(*read, nullptr);
        expect_same(record, **read);
    }
}

TEST(RedisCodec, TheCommitCounterStandsWhereScriptsCompareIt) {
    const std::string bytes = encode(full_record());
    EXPECT_EQ(bytes.front(), static_cast<char>(kFormat));
    EXPECT_EQ(bytes.substr(1, 8), commit_bytes(full_record().commit));
    EXPECT_EQ(commit_bytes(258), std::string("\0\0\0\0\0\0\1\2", 8));
    const RecordHead head = decode_head(bytes);
    EXPECT_EQ(head.commit, full_record().commit);
    EXPECT_EQ(head.nodes, (std::vector{NodeId{0xFEDCBA9876543210U}, NodeId{}}));
    EXPECT_EQ(decode_head(bytes.substr(0, 10)).commit, full_record().commit);
    EXPECT_EQ(decode_head("online, surely").commit, 0U);
}

TEST(RedisCodec, WhatIsNotOursCountsAsAbsent) {
    for (const char* const foreign : {"", "online", "{\"a\":1}", "gw-7", "\xFF"}) {
        const Result<UserRecordRef> read = decode_record(foreign);
        ASSERT_TRUE(read) << foreign;
        EXPECT_EQ(*read, nullptr) << foreign;
    }
    EXPECT_EQ(*decode_record(std::string(9, '\0')), nullptr);
}

TEST(RedisCodec, ANewerFormatCannotBeReadAndIsNotTakenForNothing) {
    std::string bytes = encode(full_record());
    bytes[0] = kFormat + 1;
    const Result<UserRecordRef> read = decode_record(bytes);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::unavailable);
}

TEST(RedisCodec, WhatWasCutNeverReadsAsSomethingElse) {
    UserRecord record = full_record();
    record.barred = nullptr;  // An older release left it out, so a record may end before it.
    const std::string bytes = encode(record);
    for (std::size_t size = 1; size + 30 < bytes.size(); ++size) {
        EXPECT_FALSE(decode_record(std::string_view(bytes).substr(0, size))) << size;
    }
}

TEST(RedisCodec, AnyBytesAreReadOrRefused) {
    const std::string bytes = encode(full_record());
    for (std::size_t at = 9; at < bytes.size(); ++at) {
        for (const int with : {0x00, 0x7F, 0x80, 0xFF}) {
            std::string broken = bytes;
            broken[at] = static_cast<char>(with);
            static_cast<void>(decode_record(broken));
            static_cast<void>(decode_message(broken));
        }
    }
}

TEST(RedisCodec, AListThatSaysMoreThanThereIsIsNotMadeUp) {
    ByteWriter many;
    many.number(std::uint64_t{1} << 60U);
    const std::string count = std::move(many).take();
    SessionStays stays;
    stays.user = UserId("u");
    SurveyAnswer answer;
    for (std::string bytes : {encode(RoomStatement{}), encode(stays), encode(answer)}) {
        EXPECT_FALSE(std::holds_alternative<Unreadable>(decode_message(bytes)));
        bytes.pop_back();  // The list that comes last, which is empty.
        EXPECT_TRUE(std::holds_alternative<Unreadable>(decode_message(bytes + count)));
        EXPECT_TRUE(std::holds_alternative<Unreadable>(decode_message(bytes + count + "more")));
    }
}

TEST(RedisCodec, TimesAndVersionsThatAreFarApartComeBack) {
    UserRecord record = full_record();
    record.presence.own.since = WallTime::from_ms(std::numeric_limits<std::int64_t>::min());
    record.last_sign = WallTime::from_ms(std::numeric_limits<std::int64_t>::max());
    record.presence.shown_version = Version{0};
    record.presence.own_version = Version{std::numeric_limits<std::uint64_t>::max()};
    const Result<UserRecordRef> read = decode_record(encode(record));
    ASSERT_TRUE(read);
    expect_same(record, **read);
}

TEST(RedisCodec, WhatANewerReleaseAddedAtAnEndIsPassedOver) {
    std::string bytes = encode(full_record());
    bytes += "something new";
    const Result<UserRecordRef> read = decode_record(bytes);
    ASSERT_TRUE(read);
    expect_same(full_record(), **read);
}

TEST(RedisCodec, WhatAnOlderReleaseDidNotWriteIsEmpty) {
    ByteWriter out;
    out.byte(kFormat);
    out.raw(commit_bytes(5));
    out.byte(0);
    out.frame([](ByteWriter&) {});  // A presence that knows nothing yet.
    out.number(0);
    const Result<UserRecordRef> read = decode_record(std::move(out).take());
    ASSERT_TRUE(read);
    EXPECT_EQ((*read)->commit, 5U);
    EXPECT_EQ((*read)->untold_until, WallTime{});
    EXPECT_EQ((*read)->barred, nullptr);
}

TEST(RedisCodec, MessagesComeBackAsTheyWere) {
    PresenceEvent event;
    event.user = UserId("a{b}:c");
    event.presence = full_presence();
    event.rules_revision = 11;
    event.tells_own = false;
    const Message read = decode_message(encode(event));
    ASSERT_TRUE(std::holds_alternative<PresenceEventRef>(read));
    const PresenceEvent& back = *std::get<PresenceEventRef>(read);
    EXPECT_EQ(back.user, event.user);
    expect_same(back.presence, event.presence);
    EXPECT_EQ(back.rules_revision, 11U);
    EXPECT_TRUE(back.tells_shown);
    EXPECT_FALSE(back.tells_own);

    SignalMessage signal;
    signal.from = UserId("a");
    signal.to = UserId("b");
    signal.kind = "typing";
    signal.active = false;
    signal.data = "{\"x\":1}";
    const Message decoded = decode_message(encode(signal));
    const SignalMessage& signalled = *std::get<SignalRef>(decoded);
    EXPECT_EQ(signalled.from, signal.from);
    EXPECT_EQ(signalled.to, signal.to);
    EXPECT_EQ(signalled.kind, "typing");
    EXPECT_FALSE(signalled.active);
    EXPECT_EQ(signalled.data, signal.data);
    EXPECT_FALSE(signalled.room);

    std::string to_nobody = encode(signal);
    const std::size_t receiver = to_nobody.find("\1b");
    ASSERT_NE(receiver, std::string::npos);
    to_nobody.replace(receiver, 2, 1, '\0');
    EXPECT_TRUE(std::holds_alternative<Unreadable>(decode_message(to_nobody)));

    signal.room = RoomId("hall");  // Of a room, but to one user's devices alone.
    const auto own = std::get<SignalRef>(decode_message(encode(signal)));
    EXPECT_EQ(own->to, signal.to);
    EXPECT_EQ(own->room, signal.room);

    const auto changed =
        std::get<ProfileChanged>(decode_message(encode(ProfileChanged{UserId("u"), 77})));
    EXPECT_EQ(changed.user.text, "u");
    EXPECT_EQ(changed.revision, 77U);

    const SessionTaken taken{NodeId{5}, UserId("u"),        SessionId("s"),
                             Epoch{6},  EndReason::silence, NodeId{8}};
    const auto took = std::get<SessionTaken>(decode_message(encode(taken)));
    EXPECT_EQ(took.holder, taken.holder);
    EXPECT_EQ(took.user, taken.user);
    EXPECT_EQ(took.session, taken.session);
    EXPECT_EQ(took.epoch, taken.epoch);
    EXPECT_EQ(took.reason, taken.reason);
    EXPECT_EQ(took.taker, taken.taker);

    const auto set = std::get<EndSet>(decode_message(encode(EndSet{NodeId{5}, UserId("u")})));
    EXPECT_EQ(set.holder, NodeId{5});
    EXPECT_EQ(set.user, UserId("u"));

    EXPECT_EQ(std::get<Probe>(decode_message(probe_head() + "life")).incarnation, "life");
}

TEST(RedisCodec, WhatNodesTellEachOtherOfRoomsComesBackAsItWas) {
    RoomStatement statement;
    statement.node = NodeId{5};
    statement.room = RoomId("hall");
    statement.present = {{UserId("ann"), "{}", WallTime::from_ms(7), true, true},
                         {UserId("bob"), "", WallTime::from_ms(8), false, false}};
    statement.left_told = {UserId("carl")};
    const auto said = std::get<RoomStatementRef>(decode_message(encode(statement)));
    EXPECT_EQ(said->present, statement.present);
    EXPECT_EQ(said->left_told, statement.left_told);

    const SessionStays stays{
        NodeId{9}, UserId("u"), SessionId("s"), {{RoomId("r"), "{\"a\":1}", WallTime::from_ms(3)}}};
    const auto told = std::get<SessionStays>(decode_message(encode(stays)));
    EXPECT_EQ(told.to, stays.to);
    EXPECT_EQ(told.session, stays.session);
    ASSERT_EQ(told.stays.size(), 1U);
    EXPECT_EQ(told.stays.front().room, RoomId("r"));
    EXPECT_EQ(told.stays.front().meta, "{\"a\":1}");
    EXPECT_EQ(told.stays.front().joined_at, WallTime::from_ms(3));
}

TEST(RedisCodec, QuestionsToAllNodesAndTheirAnswersComeBackAsTheyWere) {
    SurveyQuestion question;
    question.from = NodeId{5};
    question.number = 6;
    question.about = SurveyQuestion::About::rooms;
    question.name = "doc-";
    question.after = "";
    question.most = 1'001;
    const auto asked = std::get<SurveyQuestionRef>(decode_message(encode(question)));
    EXPECT_EQ(asked->from, question.from);
    EXPECT_EQ(asked->number, question.number);
    EXPECT_EQ(asked->about, question.about);
    EXPECT_EQ(asked->name, question.name);
    EXPECT_EQ(asked->after, question.after);
    EXPECT_EQ(asked->most, question.most);

    SurveyAnswer answer;
    answer.to = NodeId{7};
    answer.number = 6;
    answer.exact = false;
    answer.census.by_status.back() = 3;
    answer.census.by_device.front() = 4;
    answer.census.beating = 5;
    answer.connections.polls = 9;
    RoomFacts& facts = answer.rooms.emplace_back();
    facts.room = RoomId("hall");
    facts.members = 70'000;
    facts.counted = 3;
    facts.large = true;
    facts.exact = false;
    facts.page = {{UserId("ann"), "{}", WallTime::from_ms(7), true}};
    facts.more = true;
    const PastTransition one{WallTime::from_ms(5),
                             "silence",
                             NodeId{9},
                             SessionId("s"),
                             {Status::busy, Status::busy},
                             {Status::offline, Status::offline},
                             Version{77},
                             true,
                             false,
                             false};
    answer.past = {{one}, WallTime::from_ms(3)};
    const auto heard = std::get<SurveyAnswerRef>(decode_message(encode(answer)));
    EXPECT_EQ(heard->to, answer.to);
    EXPECT_FALSE(heard->exact);
    EXPECT_EQ(heard->census.by_status, answer.census.by_status);
    EXPECT_EQ(heard->census.by_device, answer.census.by_device);
    EXPECT_EQ(heard->census.beating, 5U);
    EXPECT_EQ(heard->connections.polls, 9U);
    ASSERT_EQ(heard->rooms.size(), 1U);
    EXPECT_EQ(heard->rooms.front().members, 70'000U);
    EXPECT_TRUE(heard->rooms.front().large);
    EXPECT_FALSE(heard->rooms.front().exact);
    EXPECT_EQ(heard->rooms.front().page, facts.page);
    EXPECT_TRUE(heard->rooms.front().more);
    EXPECT_EQ(heard->past.transitions, answer.past.transitions);
    EXPECT_EQ(heard->past.since, answer.past.since);
}

TEST(RedisCodec, MessagesOfOthersAreUnreadable) {
    std::string newer = encode(ProfileChanged{UserId("u"), 1});
    newer[0] = kFormat + 1;
    std::string unknown = encode(ProfileChanged{UserId("u"), 1});
    unknown[1] = 99;
    for (const std::string& bytes :
         {std::string(), std::string("hello"), newer, unknown, std::string("\1\1\x7F", 3)}) {
        EXPECT_TRUE(std::holds_alternative<Unreadable>(decode_message(bytes)));
    }
}

TEST(RedisCodec, AnOrdinaryRecordIsSmall) {
    UserRecord record;
    record.commit = 1;
    record.presence.own.status = record.presence.shown.status = Status::online;
    record.presence.own_version = record.presence.shown_version = Version{520498497716224};
    record.presence.own.since = record.presence.shown.since = WallTime::from_ms(1'764'000'000'000);
    Session session;
    session.id = SessionId("abcdefghijklmno");
    session.epoch = Epoch{1'764'000'000'000};
    session.connected_at = WallTime::from_ms(1'764'000'000'000);
    session.node = NodeId{0xFEDCBA9876543210U};
    record.last_sign = record.untold_until = WallTime::from_ms(1'764'000'001'000);
    record.sessions = {session};
    EXPECT_LE(encode(record).size(), 92U);
}

}  // namespace

}  // namespace presence::redis
