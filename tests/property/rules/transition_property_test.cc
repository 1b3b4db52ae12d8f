#include "presence/rules/version.h"

#include "property/rules/generators.h"

#include <rapidcheck/gtest.h>

namespace presence::rules {
namespace {

using namespace test;

/// One more thing that happens to a person, at `now`.
struct Step {
    Presence before;
    Merged merged;
    DeclaredState declared;
    TransitionFacts facts;
};

Step any_step(const Presence& before, WallTime now) {
    Step step{.before = before, .merged = {}, .declared = *any_declared(), .facts = {}};
    step.merged = merge(step.declared, *any_sessions(), *any_merge_config(), now);
    step.facts = {.now = now,
                  .floors = {.own = *rc::gen::inRange<std::uint64_t>(0, 50),
                             .shown = *rc::gen::inRange<std::uint64_t>(0, 50)},
                  .sign_of_life = *any_time()};
    return step;
}

/// Runs a life of up to `most` steps and shows each to `look`.
template <class Look>
void live(int most, Look look) {
    Presence presence;
    WallTime now = kNow - 150s;
    const int steps = *rc::gen::inRange(1, most + 1);
    for (int i = 0; i < steps; ++i) {
        const Step step = any_step(presence, now);
        const Transition transition = advance(step.before, step.merged, step.declared, step.facts);
        look(step, transition);
        presence = transition.after;
        now = now + Millis{*rc::gen::inRange<std::int64_t>(0, 40'000)};
    }
}

RC_GTEST_PROP(TransitionRules, AVersionGrowsExactlyWithItsFace, ()) {
    live(12, [](const Step& step, const Transition& t) {
        const auto& before = step.before;
        RC_ASSERT(t.shown_changed == !(before.shown == t.after.shown));
        RC_ASSERT((t.after.shown_version > before.shown_version) == t.shown_changed);
        RC_ASSERT((t.after.own_version > before.own_version) == t.own_changed);
        RC_ASSERT((t.shown_changed || t.after.shown_version == before.shown_version));
        RC_ASSERT((t.own_changed || t.after.own_version == before.own_version));
        RC_ASSERT((!t.shown_changed || t.after.shown_version.value >= step.facts.floors.shown));
        RC_ASSERT((!t.own_changed || t.after.own_version.value >= step.facts.floors.own));
    });
}

RC_GTEST_PROP(TransitionRules, WhatTheOthersSeeChangesTheUserSeesToo, ()) {
    live(12,
         [](const Step&, const Transition& t) { RC_ASSERT((!t.shown_changed || t.own_changed)); });
}

RC_GTEST_PROP(TransitionRules, LastSeenMovesOnlyAtAnEndNeverBackNeverBeyondNow, ()) {
    live(12, [](const Step& step, const Transition& t) {
        RC_ASSERT((t.ended || t.after.last_seen == step.before.last_seen));
        if (t.after.last_seen) {
            RC_ASSERT(*t.after.last_seen <= step.facts.now);
            RC_ASSERT((!step.before.last_seen || *t.after.last_seen >= *step.before.last_seen));
        }
        RC_ASSERT((!t.ended || t.after.last_seen));
    });
}

RC_GTEST_PROP(TransitionRules, TheStatusBeganWhenItChanged, ()) {
    live(12, [](const Step& step, const Transition& t) {
        const auto check = [&](const Face& before, const Face& after) {
            RC_ASSERT(after.since ==
                      (before.status == after.status ? before.since : step.facts.now));
        };
        check(step.before.own, t.after.own);
        check(step.before.shown, t.after.shown);
    });
}

RC_GTEST_PROP(TransitionRules, ToSettleTwiceIsToSettleOnce, ()) {
    live(12, [](const Step& step, const Transition& t) {
        const Transition again = advance(t.after, step.merged, step.declared, step.facts);
        RC_ASSERT(!again.shown_changed);
        RC_ASSERT(!again.own_changed);
        RC_ASSERT(!again.ended);
        RC_ASSERT(again.after.last_seen == t.after.last_seen);
    });
}

/// DESIGN rule 18: the public half of a presence is the same whatever the invisible do.
RC_GTEST_PROP(TransitionRules, TheInvisibleLeaveNoTrace, ()) {
    Presence gone;
    gone.last_seen = *any_end();
    gone.shown_version = Version{*rc::gen::inRange<std::uint64_t>(0, 50)};
    Presence hiding = gone;
    WallTime now = kNow;
    for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
        Step step = any_step(hiding, now);
        step.declared.status = DeclaredStatus::invisible;
        step.declared.expires_at.reset();
        step.merged = merge(step.declared, *any_sessions(), *any_merge_config(), now);
        const Transition t = advance(step.before, step.merged, step.declared, step.facts);
        RC_ASSERT((!t.shown_changed && !t.ended));
        hiding = t.after;
        now = now + 10s;
    }
    RC_ASSERT(hiding.shown == gone.shown);
    RC_ASSERT(hiding.shown.since == gone.shown.since);
    RC_ASSERT(hiding.shown_version == gone.shown_version);
    RC_ASSERT(hiding.last_seen == gone.last_seen);
}

RC_GTEST_PROP(VersionRules, FloorsNeverFallAndStayBelow2To53, ()) {
    const auto any_ms = rc::gen::inRange<std::int64_t>(0, 5'300'000'000'000);
    const WallTime a = WallTime::from_ms(*any_ms);
    const WallTime b = WallTime::from_ms(*any_ms);
    RC_ASSERT(
        (a <= b ? version_floor(a) <= version_floor(b) : version_floor(a) >= version_floor(b)));
    RC_ASSERT(version_floor(a) < (std::uint64_t{1} << 53));
    RC_ASSERT((a <= b ? version_floor_of_moment(a) <= version_floor_of_moment(b)
                      : version_floor_of_moment(a) >= version_floor_of_moment(b)));
    RC_ASSERT(version_floor_of_moment(a) >= version_floor(a));
    const std::uint64_t next_hour = version_floor(a + 1h);
    RC_ASSERT(version_floor_of_moment(a) < next_hour || next_hour == 0);  // Before 2020.
}

RC_GTEST_PROP(VersionRules, TheNextIsAboveThePreviousAndNotBelowTheFloor, ()) {
    const Version previous{*rc::gen::inRange<std::uint64_t>(0, 1'000)};
    const auto floor = *rc::gen::inRange<std::uint64_t>(0, 1'000);
    const Version next = next_version(previous, floor);
    RC_ASSERT(next > previous);
    RC_ASSERT(next.value >= floor);
    RC_ASSERT((next.value == previous.value + 1 || next.value == floor));
}

}  // namespace
}  // namespace presence::rules
