#include "presence/rules/transition.h"

#include "unit/rules/people.h"

#include <gtest/gtest.h>

namespace presence::rules {
namespace {

using test::for_all;
using test::kNow;
using test::words;

Merged visible(Status status) {
    Merged merged;
    merged.own.status = status;
    merged.shown.status = status;
    return merged;
}

Merged hidden() {
    Merged merged;
    merged.own.status = Status::invisible;
    return merged;
}

TransitionFacts at(WallTime now) {
    return {.now = now, .floors = {0, 0}, .sign_of_life = now};
}

/// Somebody seen online a minute ago, by way of the rule itself.
Presence online_before() {
    return advance({}, visible(Status::online), {}, at(kNow - 1min)).after;
}

TEST(Advance, NothingHappensToWhoWasNeverThere) {
    const Transition none =
        advance({}, {}, {}, {.now = kNow, .floors = {77, 77}, .sign_of_life = kNow});
    EXPECT_FALSE(none.shown_changed);
    EXPECT_FALSE(none.own_changed);
    EXPECT_FALSE(none.ended);
    EXPECT_EQ(none.after.shown_version, Version{0});
    EXPECT_EQ(none.after.own_version, Version{0});
    EXPECT_EQ(none.after.last_seen, std::nullopt);
}

TEST(Advance, TheFirstSessionBeginsThePresence) {
    const Transition begin = advance({}, visible(Status::online), {},
                                     {.now = kNow, .floors = {77, 77}, .sign_of_life = kNow});
    EXPECT_FALSE(begin.ended);
    EXPECT_TRUE(begin.shown_changed);
    EXPECT_TRUE(begin.own_changed);
    EXPECT_EQ(begin.after.shown_version, Version{77});
    EXPECT_EQ(begin.after.own_version, Version{77});
    EXPECT_EQ(begin.after.last_seen, std::nullopt);
}

TEST(Advance, ARepeatChangesNothing) {
    const Presence before = online_before();
    const Transition repeat = advance(before, visible(Status::online), {}, at(kNow));
    EXPECT_FALSE(repeat.shown_changed);
    EXPECT_FALSE(repeat.own_changed);
    EXPECT_EQ(repeat.after.shown_version, before.shown_version);
    EXPECT_EQ(repeat.after.own_version, before.own_version);
    EXPECT_EQ(repeat.after.shown.since, before.shown.since);
}

TEST(Advance, AChangeOfStatusGrowsBothVersionsByOneAndBeginsAnew) {
    const Presence before = online_before();
    const Transition change = advance(before, visible(Status::busy), {}, at(kNow));
    EXPECT_TRUE(change.shown_changed);
    EXPECT_FALSE(change.ended);
    EXPECT_EQ(change.after.shown_version.value, before.shown_version.value + 1);
    EXPECT_EQ(change.after.own_version.value, before.own_version.value + 1);
    EXPECT_EQ(change.after.shown.since, kNow);
    EXPECT_EQ(change.after.own.since, kNow);
}

TEST(Advance, AChangeOfWordsOrDevicesKeepsTheBeginningOfTheStatus) {
    const Presence before = online_before();
    Merged merged = visible(Status::online);
    merged.own.custom = merged.shown.custom = words("tea");
    const Transition tea = advance(before, merged, {}, at(kNow));
    EXPECT_TRUE(tea.shown_changed);
    EXPECT_EQ(tea.after.shown.since, kNow - 1min);

    merged.own.devices.insert(DeviceKind::tablet);
    merged.shown.devices.insert(DeviceKind::tablet);
    const Transition tablet = advance(tea.after, merged, {}, at(kNow + 1s));
    EXPECT_TRUE(tablet.shown_changed);
    EXPECT_EQ(tablet.after.shown.since, kNow - 1min);
}

TEST(Advance, GoingOfflineEndsThePresenceAtTheSignOfLife) {
    const Transition end =
        advance(online_before(), {}, {}, {.now = kNow, .sign_of_life = kNow - 40s});
    EXPECT_TRUE(end.ended);
    EXPECT_EQ(end.after.last_seen, kNow - 40s);
}

/// FO-016: neither the beginning of the session nor the moment of the sweep.
TEST(Advance, Fo016LastSeenIsTheLastBeatOfASilentDeath) {
    const WallTime last_beat = kNow - 100s;
    const Transition end =
        advance(online_before(), {}, {}, {.now = kNow, .sign_of_life = last_beat});
    EXPECT_EQ(end.after.last_seen, last_beat);
}

TEST(Advance, LastSeenIsNeverBeyondNow) {
    const Transition end =
        advance(online_before(), {}, {}, {.now = kNow, .sign_of_life = kNow + 1h});
    EXPECT_EQ(end.after.last_seen, kNow);
}

TEST(Advance, LastSeenNeverGoesBackwards) {
    Presence before = online_before();
    before.last_seen = kNow - 10s;
    const Transition end = advance(before, {}, {}, {.now = kNow, .sign_of_life = kNow - 50s});
    EXPECT_EQ(end.after.last_seen, kNow - 10s);
}

/// FO-020: no date is made up.
TEST(Advance, Fo020WithoutASignOfLifeLastSeenStaysAsItWas) {
    EXPECT_EQ(advance(online_before(), {}, {}, {.now = kNow, .sign_of_life = {}}).after.last_seen,
              std::nullopt);
}

TEST(Advance, LastSeenDoesNotMoveWhileThePresenceGoesOn) {
    Presence before = online_before();
    before.last_seen = kNow - 24h;
    EXPECT_EQ(advance(before, visible(Status::away), {}, at(kNow)).after.last_seen, kNow - 24h);
}

TEST(Advance, GoingInvisibleIsAnEndToTheOthersAndNoneToTheUser) {
    const Presence before = online_before();
    const Transition hide = advance(before, hidden(), for_all(DeclaredStatus::invisible), at(kNow));
    EXPECT_TRUE(hide.ended);
    EXPECT_TRUE(hide.shown_changed);
    EXPECT_TRUE(hide.own_changed);
    EXPECT_EQ(hide.after.shown.status, Status::offline);
    EXPECT_EQ(hide.after.own.status, Status::invisible);
    EXPECT_EQ(hide.after.last_seen, kNow);
}

/// FO-049, FO-048: after the first offline there is silence, whatever the hidden do.
TEST(Advance, Fo049WhatTheInvisibleDoIsNeverTold) {
    const DeclaredState declared = for_all(DeclaredStatus::invisible);
    const Presence gone = advance(online_before(), hidden(), declared, at(kNow)).after;

    Merged busy = hidden();
    busy.own.custom = words("secret");
    busy.own.devices.insert(DeviceKind::mobile);
    const Transition change = advance(gone, busy, declared, at(kNow + 1h));
    EXPECT_TRUE(change.own_changed);
    EXPECT_FALSE(change.shown_changed);

    const Transition leave = advance(change.after, {}, declared, at(kNow + 2h));
    EXPECT_TRUE(leave.own_changed);
    EXPECT_FALSE(leave.shown_changed);
    EXPECT_FALSE(leave.ended);

    const Transition back = advance(leave.after, hidden(), declared, at(kNow + 3h));
    EXPECT_FALSE(back.shown_changed);
    EXPECT_EQ(back.after.shown, gone.shown);
    EXPECT_EQ(back.after.shown.since, gone.shown.since);
    EXPECT_EQ(back.after.shown_version, gone.shown_version);
    EXPECT_EQ(back.after.last_seen, gone.last_seen);
}

TEST(Advance, WhoCameInInvisibleKeepsTheLastSeenOfBefore) {
    Presence before;
    before.last_seen = kNow - 48h;
    const DeclaredState declared = for_all(DeclaredStatus::invisible);
    const Presence in = advance(before, hidden(), declared, at(kNow)).after;
    const Presence out = advance(in, {}, declared, at(kNow + 1h)).after;
    EXPECT_EQ(out.last_seen, kNow - 48h);
    EXPECT_EQ(out.shown_version, Version{0});
}

TEST(Advance, ComingOutOfInvisibilityBeginsThePresence) {
    const DeclaredState declared = for_all(DeclaredStatus::invisible);
    const Presence in = advance({}, hidden(), declared, at(kNow)).after;
    const Transition out = advance(in, visible(Status::online), {}, at(kNow + 1h));
    EXPECT_TRUE(out.shown_changed);
}

TEST(Advance, ADeclarationWithoutEffectOnTheFaceIsNewsToTheUserAlone) {
    const Presence before = online_before();
    const Transition declare = advance(before, visible(Status::online),
                                       for_all(DeclaredStatus::online, kNow + 1h), at(kNow));
    EXPECT_FALSE(declare.shown_changed);
    EXPECT_TRUE(declare.own_changed);
    EXPECT_EQ(declare.after.shown_version, before.shown_version);
    EXPECT_EQ(declare.after.own_version.value, before.own_version.value + 1);

    const Transition later = advance(declare.after, visible(Status::online),
                                     for_all(DeclaredStatus::online, kNow + 2h), at(kNow));
    EXPECT_TRUE(later.own_changed);
}

TEST(Advance, ADeclarationMadeWhileOfflineIsNewsToTheUserAlone) {
    DeclaredState declared;
    declared.custom = words("back on Monday");
    const Transition declare = advance({}, {}, declared, at(kNow));
    EXPECT_TRUE(declare.own_changed);
    EXPECT_FALSE(declare.shown_changed);
}

TEST(Advance, ARevisionAloneIsNoNews) {
    DeclaredState declared;
    declared.revision = 5;
    const Transition same = advance(online_before(), visible(Status::online), declared, at(kNow));
    EXPECT_FALSE(same.own_changed);
    EXPECT_EQ(same.after.declared.revision, 5U);
}

TEST(Advance, ADeclarationOfTheDecidingSessionIsNewsToTheUserAlone) {
    Merged merged = visible(Status::online);
    merged.session_declared = DeclaredStatus::online;
    const Transition change = advance(online_before(), merged, {}, at(kNow));
    EXPECT_TRUE(change.own_changed);
    EXPECT_FALSE(change.shown_changed);
}

TEST(Advance, AnotherEndOfWhatTheDecidingSessionSaidIsNewsToTheUserAlone) {
    Merged merged = visible(Status::online);
    merged.session_declared = DeclaredStatus::online;
    const Presence before = advance(online_before(), merged, {}, at(kNow)).after;
    merged.session_declared_until = kNow + 1h;
    const Transition change = advance(before, merged, {}, at(kNow));
    EXPECT_TRUE(change.own_changed);
    EXPECT_FALSE(change.shown_changed);
    EXPECT_EQ(change.after.session_declared_until, kNow + 1h);
}

TEST(Advance, TheLapseOfADeclarationIsNewsToTheUserEvenWhereNoFaceChanges) {
    DeclaredState declared = for_all(DeclaredStatus::online, kNow);
    declared.custom = words("tea", kNow);
    declared.revision = 3;
    const Presence before = advance({}, visible(Status::online), declared, at(kNow - 1min)).after;
    EXPECT_EQ(before.declared, declared);

    const Transition lapse = advance(before, visible(Status::online), declared, at(kNow));
    EXPECT_TRUE(lapse.own_changed);
    EXPECT_FALSE(lapse.shown_changed);
    EXPECT_EQ(lapse.after.declared.status, DeclaredStatus::automatic);
    EXPECT_EQ(lapse.after.declared.expires_at, std::nullopt);
    EXPECT_EQ(lapse.after.declared.custom, nullptr);
    EXPECT_EQ(lapse.after.declared.revision, 3U);

    EXPECT_FALSE(
        advance(lapse.after, visible(Status::online), declared, at(kNow + 1s)).own_changed);
}

TEST(Advance, TheFloorLiftsOnlyTheVersionsThatGrow) {
    const Presence before = online_before();
    Merged merged = visible(Status::online);
    merged.session_declared = DeclaredStatus::online;
    const Transition change =
        advance(before, merged, {}, {.now = kNow, .floors = {900, 900}, .sign_of_life = kNow});
    EXPECT_EQ(change.after.own_version, Version{900});
    EXPECT_EQ(change.after.shown_version, before.shown_version);
}

}  // namespace
}  // namespace presence::rules
