#include "presence/protocol/client_message.h"
#include "presence/protocol/server_message.h"
#include "presence/protocol/webhook_json.h"

#include "unit/protocol/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace presence::protocol {
namespace {

using namespace testing;

const std::filesystem::path kExamples =
    std::filesystem::path(PRESENCED_SOURCE_DIR) / "protocol/examples";

/// The message of the example of that name, without white space.
std::string example(const std::string& name) {
    simdjson::dom::parser parser;
    const simdjson::dom::element file = parser.load((kExamples / (name + ".json")).string());
    const simdjson::dom::element message = file["message"];
    return simdjson::minify(message);
}

/// By the order of ClientMessage.
constexpr std::array<std::string_view, std::variant_size_v<ClientMessage>> kClientTypes{
    "hello", "heartbeat", "activity", "status", "watch",   "unwatch",  "get",  "join",
    "leave", "signal",    "privacy",  "block",  "unblock", "delivery", "auth", "bye"};

std::string type_of(const std::string& message) {
    simdjson::dom::parser parser;
    const std::string_view type = parser.parse(message)["type"];
    return std::string(type);
}

TEST(Examples, EachClientMessageIsReadAsWhatItIs) {
    std::set<std::string> types;
    for (const auto& entry : std::filesystem::directory_iterator(kExamples)) {
        const std::string name = entry.path().stem().string();
        if (!name.starts_with("client-")) {
            continue;
        }
        const ParsedMessage parsed = parse_client_message(example(name), ParseLimits{});
        ASSERT_TRUE(parsed.message.has_value()) << name << ": " << parsed.message.error().message;
        types.insert(type_of(example(name)));
        EXPECT_EQ(kClientTypes.at(parsed.message->index()), type_of(example(name))) << name;
    }
    EXPECT_THAT(types, ::testing::UnorderedElementsAreArray(kClientTypes));
}

TEST(Examples, WelcomeIsReproduced) {
    WelcomeFields fields;
    fields.user = UserId("ana");
    fields.session = SessionId("s-5f0c2b7a");
    fields.resume = "r1.5f0c2b7a.kq8W3v0YdXcJ6mE1";
    fields.server_time = kNow;
    fields.heartbeat_interval = 30s;
    fields.heartbeat_ttl = 100s;
    fields.grace = 10s;
    fields.limit_watch = 500;
    fields.limit_message_bytes = 131'072;
    fields.limit_custom_status_text = 100;
    fields.limit_sessions = 20;
    fields.limit_room_members = 500;
    fields.health = {StoreHealth::ok, WallTime::from_ms(1'789'913'600'000)};
    fields.token_expires_at = WallTime::from_ms(1'790'003'600'000);
    EXPECT_EQ(encode_welcome(1, fields), example("server-welcome"));
}

TEST(Examples, AcksAndErrorsAreReproduced) {
    EXPECT_EQ(encode_ack(8), example("server-ack"));
    EXPECT_EQ(encode_ack(16, {{}, WallTime::from_ms(1'790'007'200'000)}),
              example("server-ack-auth"));
    EXPECT_EQ(encode_ack(4, {1500ms, {}}), example("server-ack-status-later"));
    EXPECT_EQ(encode_error(21, {ErrorCode::bad_request,
                                "status: must be one of auto, online, away, busy, dnd, invisible"}),
              example("server-error"));
    EXPECT_EQ(encode_error(23, {ErrorCode::rate_limited, "too many requests", 800, 0}),
              example("server-error-rate"));
    EXPECT_EQ(encode_error(22, {ErrorCode::limit_exceeded,
                                "users: 501 watched users, at most 500 (limits.watch)", 0, 500}),
              example("server-error-limit"));
}

TEST(Examples, SmallMessagesAreReproduced) {
    EXPECT_EQ(encode_health({StoreHealth::down, kNow}), example("server-health"));
    EXPECT_EQ(encode_heartbeat_ack(2, kNow), example("server-heartbeat-ack"));
    EXPECT_EQ(encode_reconnect(2300ms, "restarting"), example("server-reconnect"));
    EXPECT_EQ(encode_token_expiring(60s), example("server-token-expiring"));
    EXPECT_EQ(encode_signal({UserId("ana"), {}, "typing", R"({"chat":"c-17"})", true, 6s}),
              example("server-signal"));
    EXPECT_THAT(encode_privacy(11, {Audience::contacts, {}},
                               {Audience::only, UserSet({UserId("bo"), UserId("ana")})}, 131'072),
                ::testing::ElementsAre(example("server-privacy")));
}

TEST(Examples, RoomsAreReproduced) {
    const auto member = [](const char* user, Status status, std::string_view meta) {
        std::string out;
        append_member(out, public_view(user, presence_of(status, 7)), meta);
        return out;
    };
    const RoomId doc("doc-7");
    const RoomId stadium("stadium");
    constexpr std::string_view kMeta = R"({"color":"teal","cursor":[12,4]})";
    const std::string ana = member("ana", Status::online, kMeta);
    const std::string busy = member("ana", Status::busy, kMeta);
    const std::string bo = member("bo", Status::away, "");
    const std::string chris = member("chris", Status::online, "");
    const std::vector<std::string_view> both{ana, bo};
    EXPECT_THAT(encode_room(30, {doc, 2, true}, &both, 131'072),
                ::testing::ElementsAre(example("server-room")));
    EXPECT_THAT(encode_room(31, {stadium, 15'000, true}, nullptr, 131'072),
                ::testing::ElementsAre(example("server-room-large")));
    EXPECT_THAT(encode_room_update({doc, 2, true}, {{chris}, {busy}, {"bo"}}, 131'072),
                ::testing::ElementsAre(example("server-room-update")));
    EXPECT_THAT(encode_room_update({stadium, 15'012, false}, {}, 131'072),
                ::testing::ElementsAre(example("server-room-update-large")));
    EXPECT_EQ(encode_signal({UserId("ana"), doc, "typing", "", true, 6s}),
              example("server-signal-room"));
}

TEST(Examples, UpdatesAreReproduced) {
    const std::string hidden = encode_presence(hidden_view("bo"));
    EXPECT_EQ(encode_update(std::array<std::string_view, 1>{hidden}),
              example("server-update-hidden"));
    const std::string online = encode_presence(
        public_view("bo", presence_of(Status::online, 499'871'297'306'631,
                                      devices({DeviceKind::mobile, DeviceKind::desktop}))));
    EXPECT_EQ(encode_update(std::array<std::string_view, 1>{online}), example("server-update"));
}

TEST(Examples, TheSnapshotIsReproduced) {
    Presence bo = presence_of(Status::away, 499'871'297'306'630,
                              devices({DeviceKind::desktop, DeviceKind::mobile}));
    bo.shown.since = WallTime::from_ms(1'789'999'980'000);
    bo.shown.custom =
        make_ref<CustomStatus>(CustomStatus{"Lunch", "🍜", WallTime::from_ms(1'790'001'800'000)});
    Presence chris = presence_of(Status::offline, 499'871'297'306'612);
    chris.last_seen = WallTime::from_ms(1'789'998'780'000);
    const std::string first = encode_presence(public_view("bo", bo));
    const std::string second = encode_presence(public_view("chris", chris));
    const std::array<std::string_view, 2> both{first, second};
    EXPECT_THAT(encode_snapshot(7, both, 1, kNow, 131'072),
                ::testing::ElementsAre(example("server-snapshot")));
}

TEST(Examples, APartOfASnapshotIsReproduced) {
    const auto encoded = [](const char* user, std::uint64_t version) {
        return encode_presence(
            public_view(user, presence_of(Status::online, version, devices({DeviceKind::web}))));
    };
    const std::string first = encoded("u1", 499'871'297'306'700);
    const std::string second = encoded("u2", 499'871'297'306'701);
    const std::array<std::string_view, 2> both{first, second};
    const std::string part = example("server-snapshot-part");
    EXPECT_THAT(encode_snapshot(17, both, 0, kNow, part.size()),
                ::testing::ElementsAre(part, ::testing::HasSubstr("u2")));
}

/// The body of a call with that one event.
std::string call_with(const WebhookEvent& event, std::string_view id) {
    return R"({"events":[)" + encode_webhook_event(event, id) + "]}";
}

TEST(Examples, WebhooksOfPeopleAreReproduced) {
    constexpr std::uint64_t kVersion = 499'871'297'306'630;
    Presence before = presence_of(Status::online, 1, devices({DeviceKind::desktop}));
    Presence after = presence_of(Status::away, kVersion, devices({DeviceKind::desktop}));
    after.shown.since = WallTime::from_ms(1'789'999'980'000);
    after.shown.custom =
        make_ref<CustomStatus>(CustomStatus{"Lunch", "🍜", WallTime::from_ms(1'790'001'800'000)});
    WebhookEvent event;
    event.user = UserId("bo");
    event.at = kNow;
    event.version = Version{kVersion};
    event.type = WebhookType::user_online;
    EXPECT_EQ(call_with(event, "evt_0002"), example("webhook-user-online"));
    event.type = WebhookType::user_offline;
    event.last_seen = WallTime::from_ms(1'789'999'999'000);
    EXPECT_EQ(call_with(event, "evt_0003"), example("webhook-user-offline"));
    event.last_seen.reset();
    event.type = WebhookType::presence_changed;
    event.before = public_view("bo", before);
    event.after = public_view("bo", after);
    EXPECT_EQ(call_with(event, "evt_0001"), example("webhook-presence-changed"));
}

TEST(Examples, WebhooksOfRoomsAndTheTestCallAreReproduced) {
    WebhookEvent event;
    event.at = kNow;
    EXPECT_EQ(call_with(event, "evt_0008"), example("webhook-test"));
    event.room = RoomId("doc-7");
    event.type = WebhookType::room_occupied;
    event.version = Version{1};
    EXPECT_EQ(call_with(event, "evt_0004"), example("webhook-room-occupied"));
    event.type = WebhookType::room_vacated;
    event.version = Version{4};
    EXPECT_EQ(call_with(event, "evt_0007"), example("webhook-room-vacated"));
    event.user = UserId("bo");
    event.type = WebhookType::room_joined;
    event.version = Version{2};
    EXPECT_EQ(call_with(event, "evt_0005"), example("webhook-room-joined"));
    event.type = WebhookType::room_left;
    event.version = Version{3};
    EXPECT_EQ(call_with(event, "evt_0006"), example("webhook-room-left"));
}

TEST(Examples, SnapshotsOfHiddenUnknownAndOwnAreReproduced) {
    const auto snapshot = [](std::uint64_t id, std::initializer_list<PresenceView> views) {
        std::vector<std::string> encoded;
        for (const PresenceView& view : views) {
            encoded.push_back(encode_presence(view));
        }
        const std::vector<std::string_view> texts(encoded.begin(), encoded.end());
        return encode_snapshot(id, texts, 0, kNow, 131'072).front();
    };
    const Presence bo = presence_of(Status::online, 499'871'297'306'630);
    Presence ana = presence_of(Status::offline, 1);
    ana.own.status = Status::invisible;
    ana.own.devices = devices({DeviceKind::desktop});
    ana.own_version = Version{499'871'297'306'801};
    ana.declared.status = DeclaredStatus::invisible;
    ana.declared.expires_at = WallTime::from_ms(1'790'003'600'000);
    EXPECT_EQ(snapshot(18, {hidden_view("hidden", &bo), hidden_view("nobody-of-that-name")}),
              example("server-snapshot-hidden"));
    EXPECT_EQ(snapshot(19, {unknown_view("bo", bo)}), example("server-snapshot-unknown"));
    EXPECT_EQ(snapshot(20, {own_view("ana", ana)}), example("server-snapshot-own"));
}

}  // namespace
}  // namespace presence::protocol
