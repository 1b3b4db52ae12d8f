// What holds for whatever people do and in whatever order (DESIGN rules 2, 13, 14, 16 to 23, 26).

#include "property/core/story.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace presence {
namespace {

using testing::Actor;
using testing::any_script;
using testing::Client;
using testing::Deed;
using testing::Told;
using testing::World;
using testing::WorldOptions;

constexpr std::array kPeople{"ann", "carl", "dora"};

/// The promise of rule 2, for every moment of the last heartbeat and every ttl.
RC_GTEST_PROP(FlowProperties, SilenceEndsASessionInThePromisedHalfSecond, ()) {
    WorldOptions options;
    HeartbeatConfig& heartbeat = options.config.heartbeat;
    heartbeat.interval = Millis{*rc::gen::inRange(200, 30'000)};
    heartbeat.ttl = 3 * heartbeat.interval + Millis{*rc::gen::inRange(0, 20'000)};
    World world(options);
    world.run(Millis{*rc::gen::inRange(0, 200)});
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    const int beats = *rc::gen::inRange(0, 5);
    for (int i = 0; i < beats; ++i) {
        world.run(Millis{*rc::gen::inRange<std::int64_t>(0, heartbeat.ttl.count())});
        world.service(ann->user).heartbeat(ann->session, world.clock.now());
    }
    const MonoTime last = world.clock.now();
    const WallTime last_wall = world.clock.wall_now();
    world.run_to(last + heartbeat.ttl - 1ms);
    RC_ASSERT(world.is_open(ann));
    world.run_to(last + heartbeat.ttl + 500ms);
    RC_ASSERT(!world.is_open(ann));
    RC_ASSERT(world.look("bob", "ann").status == Status::offline);
    world.run(1500ms);
    RC_ASSERT(world.stored_last_seen("ann") == last_wall);
}

/// @param held  What the snapshot said.
void expect_truth(World& world, const Client& bob, std::map<std::string, Told> held) {
    for (const Told& told : world.told(bob)) {
        Told& before = held[std::string(told.user.text)];
        // Lost sight is version 0; else versions never go back while there is sight.
        if (told.version > Version{0} && before.version > Version{0}) {
            RC_ASSERT(told.version >= before.version);
        }
        before = told;
        RC_LOG() << "told at " << told << "\n";
    }
    for (const char* user : kPeople) {
        const Told fresh = world.look("bob", user);
        const Told& last = held[user];
        RC_LOG() << "fresh look at " << fresh << "\n";
        RC_ASSERT(last.status == fresh.status);
        RC_ASSERT(last.text == fresh.text);
        RC_ASSERT(last.devices == fresh.devices);
    }
}

void expect_empty(World& world) {
    for (const auto& thread : world.threads) {
        RC_ASSERT(thread->shard.service.session_count() == 0U);
        RC_ASSERT(thread->shard.service.user_count() == 0U);
        RC_ASSERT(thread->shard.watches.index().edge_count() == 0U);
        RC_ASSERT(thread->shard.last_seen.queued() == 0U);
    }
    RC_ASSERT(world.disk->journal.open.empty());
    for (std::size_t index = 0; index < world.threads.size(); ++index) {
        RC_ASSERT(world.bus.subscribed_users(index) == 0U);
    }
}

/// Watchers end with what a fresh look would show them, versions grow, and nothing stays behind.
RC_GTEST_PROP(FlowProperties, WatchersEndWithTheTruthAndNothingStaysBehind, ()) {
    WorldOptions options;
    options.threads = *rc::gen::inRange<std::size_t>(1, 4);
    World world(options);
    const Client bob = world.connect("bob");
    const std::vector<Deed> script = *any_script(kPeople.size() + 2);
    std::vector<Actor> actors;
    for (const char* user : kPeople) {
        actors.emplace_back(world, UserId(user));
    }
    std::map<std::string, Told> held;
    for (const Told& told : world.watch(bob, {"ann", "carl", "dora"})) {
        held[std::string(told.user.text)] = told;
    }
    bool takes = true;
    for (const Deed& deed : script) {
        if (deed.who < actors.size()) {
            actors[deed.who].act(deed.dice);
        } else if (deed.who == actors.size()) {
            takes = deed.dice % 3 != 0;
            world.set_takes(bob, takes);
        } else {
            const char* user = kPeople[deed.dice % kPeople.size()];
            world.change_blocks(user, "bob", deed.dice % 2 == 0);
        }
        world.run(deed.then);
    }
    world.set_takes(bob, true);
    // What falls silent, is lost or has an end comes to it; then a second in which nobody ends.
    world.run(150s);
    std::size_t heard = 0;
    do {
        heard = world.told(bob).size();
        world.run(2s);
    } while (world.told(bob).size() > heard);

    expect_truth(world, bob, held);
    for (Actor& actor : actors) {
        actor.leave();
    }
    world.bye(bob);
    world.run(400s);
    expect_empty(world);
}

/// Nobody is told of one person more often than once a second, nor twice of the same.
RC_GTEST_PROP(FlowProperties, NewsOfOnePersonComeAtMostOnceASecondAndEachIsNew, ()) {
    World world;
    const Client bob = world.connect("bob");
    world.watch(bob, {"ann"});
    Actor ann(world, UserId("ann"));
    for (const Deed& deed : *any_script(1)) {
        ann.act(deed.dice);
        world.run(deed.then);
    }
    world.run(3s);
    const std::vector<Told>& told = world.told(bob);
    for (std::size_t i = 1; i < told.size(); ++i) {
        RC_ASSERT(told[i].at - told[i - 1].at >= 1s);
        RC_ASSERT(told[i].version > told[i - 1].version);
        const bool offline_twice =
            told[i].status == Status::offline && told[i - 1].status == Status::offline;
        RC_ASSERT(!offline_twice);
    }
}

/// Last seen never goes backwards and never lies beyond now, whatever the wall clock does.
RC_GTEST_PROP(FlowProperties, LastSeenNeverGoesBackwardsNorBeyondNow, ()) {
    World world;
    Actor ann(world, UserId("ann"));
    std::optional<WallTime> before;
    WallTime latest = world.clock.wall_now();
    for (const Deed& deed : *any_script(2)) {
        if (deed.who == 0) {
            ann.act(deed.dice);
        } else if (deed.dice % 4 == 0) {
            world.clock.step_wall(Millis{static_cast<std::int64_t>(deed.dice % 600'000) - 300'000});
        }
        latest = std::max(latest, world.clock.wall_now());
        world.run(deed.then);
        latest = std::max(latest, world.clock.wall_now());
        const std::optional<WallTime> stored = world.stored_last_seen("ann");
        RC_ASSERT(!before || (stored && *stored >= *before));
        RC_ASSERT(!stored || *stored <= latest);
        before = stored;
        const Told seen = world.look_as_back_end("ann");
        if (seen.last_seen && seen.last_seen->at) {
            RC_ASSERT(*seen.last_seen->at <= world.clock.wall_now());
        }
    }
}

/// How the one whom Bob may not see is hidden.
enum class Hiding { blocked, rule, invisible };

std::string transcript(const std::vector<Deed>& script, std::size_t threads, Hiding hiding,
                       bool hidden_acts) {
    WorldOptions options;
    options.threads = threads;
    World world(options);
    const UserId hidden("hidden");
    if (hiding == Hiding::blocked) {
        world.change_blocks("hidden", "bob", true);
    } else if (hiding == Hiding::rule) {
        world.set_online_rule("hidden", Audience::nobody);
    } else {
        (void)world.declare(hidden, DeclaredStatus::invisible);
    }
    const Client bob = world.connect("bob");
    Actor ann(world, UserId("ann"));
    Actor secret(world, hidden);
    std::string written;
    const auto note = [&](const std::vector<Told>& snapshot) {
        for (const Told& told : snapshot) {
            written += "snapshot " + told.line() + "\n";
        }
    };
    note(world.watch(bob, {"ann", "hidden", "nobody"}));
    for (const Deed& deed : script) {
        if (deed.who == 0) {
            ann.act(deed.dice);
        } else if (deed.who == 1) {
            const bool would_show =
                hiding == Hiding::invisible && (deed.dice % 12 == 6 || deed.dice % 12 == 7);
            if (hidden_acts && !would_show) {
                secret.act(deed.dice);
            }
        } else if (deed.who == 2) {
            world.set_takes(bob, deed.dice % 2 == 0);
        } else {
            note(world.watch(bob, {"hidden", "ann"}));
            written += world.look("bob", "hidden").line() + "\n";
        }
        world.run(deed.then);
    }
    world.set_takes(bob, true);
    world.run(3s);
    for (const Told& told : world.told(bob)) {
        written += std::to_string(told.at.since_start.count()) + " " + told.line() + "\n";
    }
    return written;
}

/// What one who may not see is told, and when, does not depend on what the hidden one does.
RC_GTEST_PROP(Noninterference, WhatOneMayNotSeeLeavesNoTraceInWhatOneIsTold, ()) {
    const auto hiding = static_cast<Hiding>(*rc::gen::inRange(0, 3));
    const std::size_t threads = *rc::gen::inRange<std::size_t>(1, 3);
    const std::vector<Deed> script = *any_script(4);
    RC_ASSERT(transcript(script, threads, hiding, true) ==
              transcript(script, threads, hiding, false));
}

}  // namespace
}  // namespace presence
