#include "property/rules/generators.h"

#include <rapidcheck/gtest.h>

#include <algorithm>

namespace presence::rules {
namespace {

using namespace test;

bool alike(const Merged& a, const Merged& b) {
    return a.own == b.own && a.shown == b.shown && a.session_declared == b.session_declared &&
           a.session_declared_until == b.session_declared_until;
}

RC_GTEST_PROP(MergeRules, TheOrderOfSessionsMeansNothing, ()) {
    const auto sessions = *any_sessions();
    const auto declared = *any_declared();
    const auto config = *any_merge_config();
    auto shuffled = sessions;
    for (std::size_t i = shuffled.size(); i > 1; --i) {
        std::swap(shuffled[i - 1], shuffled[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    RC_ASSERT(
        alike(merge(declared, sessions, config, kNow), merge(declared, shuffled, config, kNow)));
}

RC_GTEST_PROP(MergeRules, ASessionThatDoesNotCountNeverMatters, ()) {
    auto sessions = *any_sessions();
    const auto declared = *any_declared();
    const auto config = *any_merge_config();
    const Merged without = merge(declared, sessions, config, kNow);
    const auto next = next_change(declared, sessions, kNow);
    Session observer = *any_session("z");
    observer.counts = false;
    sessions.push_back(observer);
    RC_ASSERT(alike(merge(declared, sessions, config, kNow), without));
    RC_ASSERT(next_change(declared, sessions, kNow) == next);
}

/// The status is that of one of the sessions, and none of them is preferred to it.
RC_GTEST_PROP(MergeRules, ThePolicyPicksThePreferredOfTheSessions, ()) {
    auto sessions = *any_sessions();
    if (*rc::gen::arbitrary<bool>()) {
        // Most are online otherwise, and would hide the rest of the order.
        for (Session& session : sessions) {
            session.declared =
                *rc::gen::element(DeclaredStatus::away, DeclaredStatus::busy, DeclaredStatus::dnd);
            session.declared_until.reset();
        }
    }
    const bool available = *rc::gen::arbitrary<bool>();
    const std::vector order =
        available ? std::vector{Status::online, Status::busy, Status::away, Status::dnd}
                  : std::vector{Status::dnd, Status::busy, Status::online, Status::away};
    const MergeConfig config{
        available ? MergePolicy::most_available : MergePolicy::least_interruptible, true};
    Status expected = Status::offline;
    for (const Status status : order) {
        if (std::ranges::any_of(sessions,
                                [&](const Session& s) { return status_of(s, kNow) == status; })) {
            expected = status;
            break;
        }
    }
    RC_ASSERT(merge({}, sessions, config, kNow).shown.status == expected);
}

RC_GTEST_PROP(MergeRules, MostRecentIsTheStatusOfTheSessionActiveLast, ()) {
    auto sessions = *any_sessions();
    Session latest = *any_session("m");
    latest.counts = true;
    latest.active_rank = 100;
    sessions.push_back(latest);
    const Merged merged = merge({}, sessions, {MergePolicy::most_recent, true}, kNow);
    RC_ASSERT(merged.shown.status == status_of(latest, kNow));
}

RC_GTEST_PROP(MergeRules, OnlineExactlyWhileSomeSessionCounts, ()) {
    const auto sessions = *any_sessions();
    const auto merged = merge(*any_declared(), sessions, *any_merge_config(), kNow);
    const bool any = std::ranges::any_of(sessions, &Session::counts);
    RC_ASSERT((merged.own.status != Status::offline) == any);
}

RC_GTEST_PROP(MergeRules, ThePublicFaceNeverShowsThatSomebodyIsInvisible, ()) {
    const auto merged = merge(*any_declared(), *any_sessions(), *any_merge_config(), kNow);
    RC_ASSERT(merged.shown.status != Status::invisible);
    RC_ASSERT(merged.shown.status != Status::unknown);
    if (merged.own.status == Status::invisible) {
        RC_ASSERT(merged.shown == Face{});
    } else {
        RC_ASSERT(merged.shown == merged.own);
    }
}

RC_GTEST_PROP(MergeRules, NothingThatIsOverIsShown, ()) {
    const auto merged = merge(*any_declared(), *any_sessions(), *any_merge_config(), kNow);
    RC_ASSERT(same(merged.own.custom, unless_over(merged.own.custom, kNow)));
}

/// The end of a user-scope status: from then on it is as if it had never been declared.
RC_GTEST_PROP(MergeRules, ALapsedStatusCountsAsNone, ()) {
    const auto sessions = *any_sessions();
    const auto config = *any_merge_config();
    auto declared = *any_declared();
    declared.expires_at = kNow;
    auto undeclared = declared;
    undeclared.status = DeclaredStatus::automatic;
    RC_ASSERT(
        alike(merge(declared, sessions, config, kNow), merge(undeclared, sessions, config, kNow)));
}

RC_GTEST_PROP(MergeRules, ALapsedStatusOfASessionCountsAsNone, ()) {
    auto sessions = *any_sessions();
    const auto declared = *any_declared();
    const auto config = *any_merge_config();
    for (Session& session : sessions) {
        session.declared_until = kNow;
    }
    auto silent = sessions;
    for (Session& session : silent) {
        session.declared = DeclaredStatus::automatic;
    }
    RC_ASSERT(
        alike(merge(declared, sessions, config, kNow), merge(declared, silent, config, kNow)));
}

/// Until the next change that was announced, the answer stands; so one timer is enough.
RC_GTEST_PROP(MergeRules, NothingChangesBeforeTheNextChange, ()) {
    const auto sessions = *any_sessions();
    const auto declared = *any_declared();
    const auto config = *any_merge_config();
    const auto next = next_change(declared, sessions, kNow);
    const WallTime later = kNow + Millis{*rc::gen::inRange<std::int64_t>(0, 200'000)};
    RC_PRE((!next || later < *next));
    RC_ASSERT((!next || *next > kNow));
    RC_ASSERT(
        alike(merge(declared, sessions, config, kNow), merge(declared, sessions, config, later)));
}

}  // namespace
}  // namespace presence::rules
