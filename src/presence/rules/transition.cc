#include "presence/rules/transition.h"

#include "presence/rules/version.h"

#include <algorithm>

namespace presence::rules {

namespace {

/// What is left of a declaration at `now`.
DeclaredState in_force(DeclaredState declared, WallTime now) {
    if (declared.status == DeclaredStatus::automatic ||
        (declared.expires_at && *declared.expires_at <= now)) {
        declared.status = DeclaredStatus::automatic;
        declared.expires_at.reset();
    }
    declared.custom = unless_over(declared.custom, now);
    return declared;
}

/// The revision orders writes; nobody is shown it.
bool shows_the_same(const DeclaredState& a, const DeclaredState& b) {
    return a.status == b.status && a.expires_at == b.expires_at && same(a.custom, b.custom);
}

Face succeed(const Face& before, Face merged, WallTime now) {
    merged.since = merged.status == before.status ? before.since : now;
    return merged;
}

/// The later of what was known and the last sign of life. One that nobody noted moves nothing: a
/// date made up would be told to people as if it were true.
std::optional<WallTime> last_seen_after(const std::optional<WallTime>& before,
                                        const TransitionFacts& facts) {
    if (facts.sign_of_life == WallTime{}) {
        return before;
    }
    const WallTime seen = std::min(facts.sign_of_life, facts.now);
    return before ? std::max(*before, seen) : seen;
}

}  // namespace

Transition advance(const Presence& before, const Merged& merged, const DeclaredState& declared,
                   const TransitionFacts& facts) {
    Transition transition{.after = before};
    Presence& after = transition.after;
    after.own = succeed(before.own, merged.own, facts.now);
    after.shown = succeed(before.shown, merged.shown, facts.now);
    after.declared = in_force(declared, facts.now);
    after.session_declared = merged.session_declared;
    after.session_declared_until = merged.session_declared_until;

    const bool was_there = before.shown.status != Status::offline;
    const bool is_there = after.shown.status != Status::offline;
    transition.ended = was_there && !is_there;
    if (transition.ended) {
        after.last_seen = last_seen_after(before.last_seen, facts);
    }

    transition.shown_changed = !(after.shown == before.shown);
    if (transition.shown_changed) {
        after.shown_version = next_version(before.shown_version, facts.floors.shown);
    }
    transition.own_changed = !(after.own == before.own) ||
                             !shows_the_same(after.declared, before.declared) ||
                             after.session_declared != before.session_declared ||
                             after.session_declared_until != before.session_declared_until;
    if (transition.own_changed) {
        after.own_version = next_version(before.own_version, facts.floors.own);
    }
    return transition;
}

}  // namespace presence::rules
