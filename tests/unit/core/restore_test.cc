// A process that was killed and started again (DESIGN rule 19; RULINGS 34).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using testing::WorldOptions;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

/// One life after the other on the same disk.
struct RestoreTest : ::testing::Test {
    std::shared_ptr<testing::Disk> disk = std::make_shared<testing::Disk>();
    std::unique_ptr<World> world = live();

    std::unique_ptr<World> live() {
        WorldOptions options;
        options.disk = disk;
        return std::make_unique<World>(options);
    }
    /// kill -9: nothing is written any more. Then some time, then the next life.
    void crash(Millis away = 1s) {
        world.reset();
        disk->clock.pass(away);
        world = live();
    }
};

TEST_F(RestoreTest, WhoWasOnlineIsUnknownUntilTheGraceIsOverAndThenOfflineOnce) {
    const Client ann = world->connect("ann");
    world->run(61s);
    const WallTime crashed_at = disk->clock.wall_now();
    crash();
    const MonoTime ready_at = disk->clock.now();
    EXPECT_EQ(world->look("bob", "ann").status, Status::unknown);

    const Client bob = world->connect("bob");
    EXPECT_EQ(world->watch(bob, {"ann"})[0].status, Status::unknown);
    world->run_to(ready_at + 10s - 1ms);
    EXPECT_TRUE(world->told(bob).empty());
    world->run_to(ready_at + 10s + 200ms);
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::offline});
    world->run(60s);
    EXPECT_EQ(world->told(bob).size(), 1U);

    const std::optional<WallTime> last_seen = world->stored_last_seen("ann");
    ASSERT_TRUE(last_seen);
    EXPECT_LE(*last_seen, crashed_at);
    EXPECT_GE(*last_seen, crashed_at - 5s);
    EXPECT_EQ(disk->journal.open.size(), 1U);  // The watcher.
    (void)ann;
}

TEST_F(RestoreTest, FO091ADatabaseThatIsAwayAtTheStartLosesNobody) {
    const Client ann = world->connect("ann");
    world->run(61s);
    const WallTime crashed_at = disk->clock.wall_now();
    disk->profiles.faults().set_unavailable(true);
    crash();
    world->run(5min);
    EXPECT_EQ(world->shard().restorer.waiting(), 1U);
    EXPECT_EQ(disk->journal.open.size(), 1U);
    disk->profiles.faults().set_unavailable(false);
    world->run(1s);
    EXPECT_EQ(world->shard().restorer.waiting(), 0U);
    EXPECT_EQ(world->look("bob", "ann").status, Status::unknown);
    world->run(12s);
    EXPECT_EQ(world->look("bob", "ann").status, Status::offline);
    const std::optional<WallTime> last_seen = world->stored_last_seen("ann");
    ASSERT_TRUE(last_seen);
    EXPECT_LE(*last_seen, crashed_at);
    EXPECT_GE(*last_seen, crashed_at - 5s);
    EXPECT_TRUE(disk->journal.open.empty());
    (void)ann;
}

TEST_F(RestoreTest, WhoReturnsIsNeverShownOffline) {
    const Client ann = world->connect("ann");
    world->run(61s);
    const Version before = world->look("bob", "ann").version;
    crash();
    const Client bob = world->connect("bob");
    world->watch(bob, {"ann"});
    world->run(5s);
    const Client back = world->resume(ann);
    EXPECT_TRUE(back->resumed);
    EXPECT_EQ(back->id, ann->id);
    world->run(60s);
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::online});
    EXPECT_GT(world->told(bob)[0].version, before);
    EXPECT_FALSE(world->stored_last_seen("ann"));
}

TEST_F(RestoreTest, WhoReturnsOnANewSessionIsNeverShownOffline) {
    (void)world->connect("ann");
    world->run(61s);
    crash();
    const Client bob = world->connect("bob");
    world->watch(bob, {"ann"});
    (void)world->connect("ann");
    world->run(60s);
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::online});
}

TEST_F(RestoreTest, ADeviceThatOnlyObservesDoesNotMakeTheMissingOneCertain) {
    (void)world->connect("ann");
    world->run(61s);
    crash();
    const Client bob = world->connect("bob");
    world->watch(bob, {"ann"});
    (void)world->connect("ann", {.observe = true});
    world->run(5s);
    EXPECT_EQ(world->look("bob", "ann").status, Status::unknown);
    world->run(10s);
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::offline});
}

TEST_F(RestoreTest, AnInvisibleIsOfflineAsBeforeAndNotUnknown) {
    (void)world->connect("ann");
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::invisible));
    world->run(61s);
    const auto before = world->look("bob", "ann");
    crash();
    const auto after = world->look("bob", "ann");
    EXPECT_EQ(after.status, Status::offline);
    EXPECT_EQ(after.version, before.version);
    const Client bob = world->connect("bob");
    world->watch(bob, {"ann"});
    world->run(5s);
    (void)world->connect("ann");
    world->run(60s);
    EXPECT_TRUE(world->told(bob).empty());
    EXPECT_EQ(world->look("ann", "ann").status, Status::invisible);
}

TEST_F(RestoreTest, OneWhoOnlyObservedIsOfflineAsBefore) {
    (void)world->connect("ann", {.observe = true});
    world->run(61s);
    crash();
    EXPECT_EQ(world->look("bob", "ann").status, Status::offline);
    world->run(60s);
    EXPECT_FALSE(world->stored_last_seen("ann"));
}

TEST_F(RestoreTest, AStatusOfASessionAndItsDeviceComeBack) {
    const Client ann = world->connect("ann", {.kind = DeviceKind::tablet});
    ASSERT_TRUE(world->declare_on(ann, DeclaredStatus::busy));
    world->run(5s);
    crash();
    const Client back = world->resume(ann, {.kind = std::nullopt});
    ASSERT_TRUE(back->resumed);
    EXPECT_EQ(world->look("bob", "ann").status, Status::busy);
    EXPECT_TRUE(world->look("bob", "ann").devices->contains(DeviceKind::tablet));
}

TEST_F(RestoreTest, FO103AStatusForAllDevicesComesBackWithItsEnd) {
    const WallTime end = disk->clock.wall_now() + 168h;
    (void)world->connect("ann");
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::dnd, end));
    world->run(5s);
    crash(1h);
    world->run(20s);
    EXPECT_EQ(world->look("bob", "ann").status, Status::offline);
    (void)world->connect("ann");
    EXPECT_EQ(world->look("bob", "ann").status, Status::dnd);
    EXPECT_EQ(world->stored("ann")->declared.expires_at, end);
}

TEST_F(RestoreTest, AStatusThatEndedWhileNobodyRanIsOver) {
    (void)world->connect("ann");
    ASSERT_TRUE(world->declare(kAnn, DeclaredStatus::dnd, disk->clock.wall_now() + 60s));
    world->run(5s);
    crash(120s);
    (void)world->connect("ann");
    EXPECT_EQ(world->look("bob", "ann").status, Status::online);
}

TEST_F(RestoreTest, WhoWasInGraceKeepsTheTimeOfTheClose) {
    const Client ann = world->connect("ann");
    world->run(60s);
    const WallTime closed_at = disk->clock.wall_now();
    world->lose(ann, true);
    world->run(3s);
    crash();
    world->run(15s);
    EXPECT_EQ(world->stored_last_seen("ann"), closed_at);
}

TEST_F(RestoreTest, ACrashRightAfterAGoodbyeDoesNotLoseItsTime) {
    for (const Millis until : {Millis{100}, Millis{400}, Millis{700}, Millis{990}, Millis{1100},
                               Millis{1400}, Millis{2500}}) {
        const UserId user("user" + std::to_string(until.count()));
        const Client one = world->connect(user);
        world->run(61s);
        const WallTime said_at = disk->clock.wall_now();
        world->bye(one);
        world->run(until);
        const WallTime crashed_at = disk->clock.wall_now();
        crash();
        world->run(15s);
        const std::optional<WallTime> last_seen =
            world->stored_last_seen(std::string(user.text).c_str());
        ASSERT_TRUE(last_seen) << until.count();
        EXPECT_GE(*last_seen, said_at - 5s);
        EXPECT_LE(*last_seen, crashed_at);
    }
}

TEST_F(RestoreTest, AKickOfAMissingSessionEndsItWhereItWasLastAlive) {
    const Client ann = world->connect("ann");
    world->run(61s);
    const WallTime crashed_at = disk->clock.wall_now();
    crash(30s);
    Result<bool> kicked = world->wait(world->service(kAnn).kick(kAnn, ann->id));
    ASSERT_TRUE(kicked.has_value());
    EXPECT_TRUE(*kicked);
    world->run(3s);
    ASSERT_TRUE(world->stored_last_seen("ann"));
    EXPECT_LE(*world->stored_last_seen("ann"), crashed_at);
}

TEST_F(RestoreTest, OneOnlineDeviceOfSeveralThatReturnsIsEnough) {
    const Client phone = world->connect("ann", {.kind = DeviceKind::mobile});
    (void)world->connect("ann", {.kind = DeviceKind::desktop});
    world->run(61s);
    crash();
    const Client bob = world->connect("bob");
    world->watch(bob, {"ann"});
    world->run(2s);
    (void)world->resume(phone, {.kind = std::nullopt});
    world->run(60s);
    for (const auto& told : world->told(bob)) {
        EXPECT_EQ(told.status, Status::online);
    }
    EXPECT_FALSE(world->told(bob).back().devices->contains(DeviceKind::desktop));
}

TEST_F(RestoreTest, WhoLeftBeforeIsNotBroughtBack) {
    const Client ann = world->connect("ann");
    world->run(10s);
    world->bye(ann);
    world->run(3s);
    crash();
    EXPECT_EQ(world->look("bob", "ann").status, Status::offline);
    EXPECT_EQ(world->service(kAnn).session_count(), 0U);
}

TEST_F(RestoreTest, ASessionThatGoesIdleAfterTheRestartIsAwayAsAnyOther) {
    const Client ann = world->connect("ann", {.active = true});
    world->run(61s);
    crash();
    (void)world->resume(ann);
    world->run(11min);
    EXPECT_EQ(world->look("bob", "ann").status, Status::away);
}

struct JournalTest : ::testing::Test {
    testing::VirtualClock clock;
    testing::VirtualScheduler scheduler{clock};
    MemoryJournalState state;
    MemoryJournal journal{state, &scheduler};
    Limits limits;
    CoreCounters counters;
    JournalWriter writer{scheduler, clock, journal, limits, counters};

    static JournalEntry line(const char* user, const char* id, bool open) {
        JournalEntry entry{UserId(user), SessionId(id), std::nullopt};
        if (open) {
            entry.session = Session{};
            entry.session->id = SessionId(id);
        }
        return entry;
    }
};

TEST_F(JournalTest, LinesAreWrittenWithinAQuarterOfASecondInTheirOrder) {
    writer.start();
    writer.note(line("ann", "one", true));
    writer.note(line("ann", "one", false));
    writer.note(line("bob", "two", true));
    scheduler.advance(250ms);
    EXPECT_EQ(state.open.size(), 1U);
    EXPECT_EQ(counters.journal_written, 3U);
}

TEST_F(JournalTest, ASignOfLifeIsWrittenEveryOtherSecondAlsoWhenNothingHappens) {
    writer.start();
    for (int i = 0; i < 50; ++i) {
        scheduler.advance(1s);
        if (i > 3) {
            ASSERT_TRUE(state.last_alive);
            EXPECT_LE(clock.wall_now() - *state.last_alive, 2500ms);
        }
    }
}

TEST_F(JournalTest, AnOutageLosesNothingAndKeepsTheOrder) {
    writer.start();
    state.faults.set_unavailable(true);
    writer.note(line("ann", "one", true));
    scheduler.advance(1s);
    writer.note(line("ann", "one", false));
    writer.note(line("bob", "two", true));
    scheduler.advance(60s);
    EXPECT_EQ(writer.queued(), 3U);
    EXPECT_TRUE(state.open.empty());
    state.faults.set_unavailable(false);
    scheduler.advance(1s);
    EXPECT_EQ(writer.queued(), 0U);
    ASSERT_EQ(state.open.size(), 1U);
    EXPECT_EQ(state.open.begin()->first.second, SessionId("two"));
}

TEST_F(JournalTest, ManyLinesAreWrittenInSeveralBatchesAndThoseOfAFailureStayInOrder) {
    writer.start();
    for (int i = 0; i < 25'000; ++i) {
        writer.note(line("ann", std::to_string(i).c_str(), true));
        writer.note(line("ann", std::to_string(i).c_str(), i < 24'990));
    }
    state.faults.set_unavailable(true);
    scheduler.advance(3s);
    EXPECT_EQ(writer.queued(), 50'000U);
    EXPECT_LE(counters.journal_failures, 4U);
    state.faults.set_unavailable(false);
    scheduler.advance(1s);
    EXPECT_EQ(writer.queued(), 0U);
    EXPECT_EQ(counters.journal_written, 50'000U);
    EXPECT_EQ(state.open.size(), 24'990U);
}

TEST_F(JournalTest, ItIsFullAtItsLimitAlsoForTheOtherThreads) {
    limits.journal_queue = 5;
    writer.start();
    ThreadJournal other(scheduler, scheduler, writer, limits);
    state.faults.set_unavailable(true);
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(other.full()) << i;
        other.note(line("ann", std::to_string(i).c_str(), true));
        scheduler.advance(100ms);
    }
    EXPECT_TRUE(writer.full());
    EXPECT_TRUE(other.full());
    state.faults.set_unavailable(false);
    scheduler.advance(1s);
    EXPECT_FALSE(writer.full());
    EXPECT_FALSE(other.full());
}

TEST_F(JournalTest, OtherThreadsHandTheirLinesOverInOrderAndSoon) {
    writer.start();
    ThreadJournal other(scheduler, scheduler, writer, limits);
    other.note(line("ann", "one", true));
    other.note(line("ann", "one", false));
    other.note(line("ann", "two", true));
    scheduler.advance(300ms);
    ASSERT_EQ(state.open.size(), 1U);
    EXPECT_EQ(state.open.begin()->first.second, SessionId("two"));
}

}  // namespace
}  // namespace presence
