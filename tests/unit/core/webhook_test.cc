// What receivers of webhooks are told, and how it gets into the outbox.

#include "presence/core/webhook_writer.h"
#include "presence/stores/memory/memory_outbox.h"

#include "unit/core/world.h"

#include <functional>

namespace presence {
namespace {

using testing::Client;
using testing::World;
using testing::WorldOptions;

const UserId kAnn("ann");

struct WebhookTest : ::testing::Test {
    std::shared_ptr<testing::Disk> disk = std::make_shared<testing::Disk>();
    std::unique_ptr<World> world = live();

    std::unique_ptr<World> live() {
        WorldOptions options;
        options.disk = disk;
        return std::make_unique<World>(options);
    }
    std::vector<WebhookEvent>& said() { return world->threads[0]->hooks.said; }
    std::vector<std::string> types() {
        std::vector<std::string> names;
        for (const WebhookEvent& event : said()) {
            names.emplace_back(wire_name(event.type));
        }
        return names;
    }
};

TEST_F(WebhookTest, ComingAndGoingAreToldWithTheFacesBeforeAndAfter) {
    const Client ann = world->connect("ann");
    world->run(5s);
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::busy));
    world->run(5s);
    const WallTime said_at = disk->clock.wall_now();
    world->bye(ann);
    world->run(5s);
    EXPECT_EQ(types(),
              (std::vector<std::string>{"presence.changed", "user.online", "presence.changed",
                                        "presence.changed", "user.offline"}));
    EXPECT_EQ(said()[0].before->status(), Status::offline);
    EXPECT_EQ(said()[0].after->status(), Status::online);
    EXPECT_EQ(said()[2].before->status(), Status::online);
    EXPECT_EQ(said()[2].after->status(), Status::busy);
    EXPECT_EQ(said()[3].before->status(), Status::busy);
    EXPECT_EQ(said()[4].last_seen, said_at);
    EXPECT_LT(said()[2].version, said()[3].version);
}

TEST_F(WebhookTest, OfAnErasedUserTheEndIsToldAndNothingThatWasStored) {
    const Client ann = world->connect("ann");
    CustomStatus custom;
    custom.text = "secret";
    StatusChange change;
    change.sets_custom = true;
    change.custom = make_ref<const CustomStatus>(custom);
    ASSERT_TRUE(world->wait(
        world->service(kAnn).change_status(kAnn, std::move(change), false, OverRate::refuse)));
    world->run(5s);
    ASSERT_NE(said().back().after->custom(), nullptr);
    ASSERT_TRUE(world->wait(world->service(kAnn).erase(kAnn)));
    // What it has just told is not to be lost; ends of sessions may be asked for twice.
    EXPECT_TRUE(world->threads[0]->hooks.forgotten.empty());
    world->service(kAnn).forget_events(kAnn);
    EXPECT_EQ(world->threads[0]->hooks.forgotten, std::vector<UserId>{kAnn});
    world->run(5s);
    ASSERT_GE(said().size(), 2U);
    const WebhookEvent& changed = said()[said().size() - 2];
    EXPECT_EQ(changed.type, WebhookType::presence_changed);
    EXPECT_EQ(changed.before->status(), Status::online);
    EXPECT_EQ(changed.before->custom(), nullptr);
    EXPECT_EQ(changed.after->status(), Status::offline);
    EXPECT_EQ(said().back().type, WebhookType::user_offline);
    EXPECT_FALSE(said().back().last_seen);
    (void)ann;
}

TEST_F(WebhookTest, WhatIsTakenBackWithinTheWindowIsNotTold) {
    const Client ann = world->connect("ann");
    world->run(5s);
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::busy));
    world->run(100ms);
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::away));
    world->run(100ms);
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::busy));
    world->run(5s);
    EXPECT_EQ(said().size(), 3U);
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::away));
    world->run(100ms);
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::dnd));
    world->run(5s);
    ASSERT_EQ(said().size(), 5U);
    EXPECT_EQ(said()[3].before->status(), Status::busy);
    EXPECT_EQ(said()[3].after->status(), Status::away);
    EXPECT_EQ(said()[4].before->status(), Status::away);
    EXPECT_EQ(said()[4].after->status(), Status::dnd);
    (void)ann;
}

TEST_F(WebhookTest, FO047OfOneWhoIsInvisibleNothingIsToldAfterTheFirstOffline) {
    const Client ann = world->connect("ann");
    world->run(5s);
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::invisible));
    world->run(5s);
    const std::size_t told = said().size();
    EXPECT_EQ(types().back(), "user.offline");
    const Client more = world->connect("ann");
    world->run(5s);
    world->bye(more);
    world->run(5s);
    world->bye(ann);
    world->run(5s);
    EXPECT_EQ(said().size(), told);
}

TEST_F(WebhookTest, AfterARestartWhoReturnsIsNotToldAndWhoDoesNotIsToldOnce) {
    const Client ann = world->connect("ann");
    const Client bob = world->connect("bob");
    world->run(61s);
    world.reset();
    disk->clock.pass(1s);
    world = live();
    world->run(3s);
    (void)world->resume(ann);
    world->run(30s);
    ASSERT_EQ(types(), (std::vector<std::string>{"presence.changed", "user.offline"}));
    EXPECT_EQ(said()[1].user, UserId("bob"));
    (void)bob;
}

struct WebhookWriterTest : ::testing::Test {
    testing::VirtualClock clock;
    testing::VirtualScheduler scheduler{clock};
    SeededRandom random{1};
    MemoryOutboxState state{clock};
    MemoryOutbox outbox{state};
    Limits limits;
    CoreCounters counters;
    WebhookWriter writer{scheduler, random, outbox, &encode, limits, counters};

    static std::string encode(const WebhookEvent& event, std::string_view /*id*/) {
        const bool is_test = event.type == WebhookType::test;
        return (is_test ? "" : std::string(wire_name(event.type)) + " ") + event.user.text;
    }
    void note(const char* user) {
        WebhookEvent event;
        event.user = UserId(user);
        writer.note(std::move(event));
    }
    std::vector<std::string> written(const char* target = "t") {
        OutboxClaim claim{.target = target, .new_ids = {target}, .most_events = 1000};
        const auto batches = testing::run_until_complete(scheduler, outbox.claim(std::move(claim)));
        return batches->empty() ? std::vector<std::string>() : batches->front().bodies;
    }
};

TEST_F(WebhookWriterTest, WithoutReceiversNothingIsWanted) {
    EXPECT_FALSE(writer.wanted());
    note("ann");
    EXPECT_EQ(writer.queued(), 0U);
}

TEST_F(WebhookWriterTest, AnErasureTakesWhatWaitsButForTheLastWords) {
    writer.set_targets({"t"});
    const auto say = [&](WebhookType type, const char* user, const char* room,
                         std::optional<WallTime> last_seen = std::nullopt) {
        WebhookEvent event;
        event.type = type;
        event.user = UserId(user);
        event.room = RoomId(room);
        event.last_seen = last_seen;
        writer.note(std::move(event));
    };
    using enum WebhookType;
    say(user_online, "ann", "");
    say(room_left, "ann", "hall");
    say(room_joined, "ann", "hall");
    say(room_left, "ann", "hall");
    say(room_left, "ann", "den");
    say(room_joined, "ann", "den");
    say(room_joined, "bob", "den");
    say(user_offline, "ann", "", clock.wall_now());
    say(user_offline, "ann", "");
    writer.forget(UserId("ann"));
    EXPECT_EQ(writer.queued(), 3U);
    scheduler.advance(100ms);
    std::vector<std::string> left = written("t");
    std::ranges::sort(left);
    EXPECT_EQ(left,
              (std::vector<std::string>{"room.joined bob", "room.left ann", "user.offline ann"}));
}

TEST_F(WebhookWriterTest, EachReceiverGetsEachEventInOrder) {
    writer.set_targets({"t", "u"});
    for (const char* user : {"ann", "bob", "ann"}) {
        note(user);
    }
    scheduler.advance(100ms);
    EXPECT_EQ(written("t"), (std::vector<std::string>{"ann", "bob", "ann"}));
    EXPECT_EQ(written("u"), (std::vector<std::string>{"ann", "bob", "ann"}));
    EXPECT_EQ(counters.webhooks_noted, 3U);
}

TEST_F(WebhookWriterTest, WhatTheOutboxDoesNotTakeIsWrittenLaterInOrder) {
    writer.set_targets({"t"});
    state.faults.set_unavailable(true);
    note("ann");
    scheduler.advance(5s);
    note("bob");
    EXPECT_EQ(writer.queued(), 2U);
    state.faults.set_unavailable(false);
    scheduler.advance(1s);
    EXPECT_EQ(writer.queued(), 0U);
    EXPECT_EQ(written(), (std::vector<std::string>{"ann", "bob"}));
}

TEST_F(WebhookWriterTest, WhatIsQueuedOfOneWhoIsErasedIsNotWritten) {
    writer.set_targets({"t"});
    state.faults.set_unavailable(true);
    note("ann");
    note("bob");
    scheduler.advance(5s);
    writer.forget(kAnn);
    EXPECT_EQ(writer.queued(), 1U);
    note("ann");  // The word of the end.
    state.faults.set_unavailable(false);
    scheduler.advance(1s);
    EXPECT_EQ(written(), (std::vector<std::string>{"bob", "ann"}));
}

/// Takes nothing, and lets something happen while it is asked to.
struct ForgetfulOutbox final : WebhookOutbox {
    Task<Result<bool>> append(std::vector<OutboxEvent>) override {
        while_asked();
        co_return no();
    }
    Task<Result<std::vector<OutboxBatch>>> claim(OutboxClaim) override { co_return no(); }
    Task<Result<bool>> delivered(std::string) override { co_return no(); }
    Task<Result<bool>> retry(std::string, Millis) override { co_return no(); }
    Task<Result<bool>> give_up(std::string, std::string) override { co_return no(); }
    Task<Result<bool>> forget(std::string) override { co_return no(); }
    Task<Result<DeadLetters>> dead_letters(std::optional<std::int64_t>, std::size_t) override {
        co_return no();
    }
    Task<Result<OutboxCounts>> counts() override { co_return no(); }
    static Error no() { return {ErrorCode::unavailable, "no outbox", 0, 0}; }
    std::function<void()> while_asked;
};

TEST_F(WebhookWriterTest, WhatIsOnItsWayWhenItsUserIsErasedDoesNotComeBack) {
    ForgetfulOutbox failing;
    WebhookWriter late(
        scheduler, random, failing,
        [](const WebhookEvent& event, std::string_view) { return std::string(event.user.text); },
        limits, counters);
    late.set_targets({"t"});
    for (const char* user : {"ann", "bob"}) {
        WebhookEvent event;
        event.user = UserId(user);
        late.note(std::move(event));
    }
    failing.while_asked = [&] { late.forget(kAnn); };
    EXPECT_FALSE(testing::run_until_complete(scheduler, late.flush()));
    EXPECT_EQ(late.queued(), 1U);
}

TEST_F(WebhookWriterTest, OverItsLimitAndWithAFullOutboxEventsAreCountedAsLost) {
    writer.set_targets({"t", "u"});
    limits.webhook_queue = 4;
    state.faults.set_unavailable(true);
    for (const char* user : {"a", "b", "c"}) {
        note(user);
    }
    EXPECT_EQ(writer.queued(), 4U);
    EXPECT_EQ(counters.webhooks_lost, 1U);
    state.faults.set_unavailable(false);
    scheduler.advance(2s);
    writer.set_outbox_full(true);
    note("d");
    EXPECT_EQ(writer.queued(), 0U);
    EXPECT_EQ(counters.webhooks_lost, 2U);
    writer.set_outbox_full(false);
    note("e");
    EXPECT_EQ(writer.queued(), 2U);
}

}  // namespace
}  // namespace presence
