#include "property/rules/generators.h"

#include <rapidcheck/gtest.h>

#include <algorithm>

namespace presence::rules {
namespace {

using namespace test;

const UserId kSubject("p");
const UserId kViewer("q");

/// Two people and the rules of the house.
struct Pair {
    Profile subject = *any_profile();
    Profile viewer = *any_profile();
    PrivacyDefaults defaults = *any_defaults();
    bool subject_stored = *rc::gen::arbitrary<bool>();
    bool viewer_stored = *rc::gen::arbitrary<bool>();

    [[nodiscard]] Party the_subject() const {
        return {kSubject, subject_stored ? &subject : nullptr};
    }
    [[nodiscard]] Party the_viewer() const { return {kViewer, viewer_stored ? &viewer : nullptr}; }
    [[nodiscard]] Verdict forth() const { return judge(the_subject(), the_viewer(), defaults); }
    [[nodiscard]] Verdict back() const { return judge(the_viewer(), the_subject(), defaults); }
};

/// A verdict of each kind there is for somebody else.
Verdict verdict_of_others(bool online, bool last_seen) {
    PrivacyDefaults defaults;
    defaults.online.audience = online ? Audience::everyone : Audience::nobody;
    defaults.last_seen.audience = last_seen ? Audience::everyone : Audience::nobody;
    return judge({kSubject, nullptr}, {kViewer, nullptr}, defaults);
}

RC_GTEST_PROP(JudgeRules, WithReciprocityBothSeeEachOtherOrNeitherDoes, ()) {
    Pair pair;
    pair.defaults.reciprocity = true;
    RC_ASSERT(pair.forth() == pair.back());
}

RC_GTEST_PROP(JudgeRules, ReciprocityNeverShowsMore, ()) {
    Pair pair;
    pair.defaults.reciprocity = true;
    const Verdict mutual = pair.forth();
    pair.defaults.reciprocity = false;
    const Verdict one_way = pair.forth();
    RC_ASSERT((!mutual.online() || one_way.online()));
    RC_ASSERT((!mutual.last_seen() || one_way.last_seen()));
}

RC_GTEST_PROP(JudgeRules, ABlockHidesEverythingBothWays, ()) {
    Pair pair;
    const bool by_subject = *rc::gen::arbitrary<bool>();
    if (by_subject) {
        pair.subject_stored = true;
        pair.subject.blocks = UserSet({kViewer});
    } else {
        pair.viewer_stored = true;
        pair.viewer.blocks = UserSet({kSubject});
    }
    RC_ASSERT(pair.forth() == Verdict());
    RC_ASSERT(pair.back() == Verdict());
}

RC_GTEST_PROP(JudgeRules, LastSeenImpliesOnline, ()) {
    const Pair pair;
    RC_ASSERT((!pair.forth().last_seen() || pair.forth().online()));
    RC_ASSERT(!pair.forth().own());
    RC_ASSERT(!pair.forth().unread());
}

RC_GTEST_PROP(JudgeRules, WhoClosesBothRulesIsSeenByNobodyElse, ()) {
    Pair pair;
    pair.subject_stored = true;
    pair.subject.privacy.online = rule(Audience::nobody);
    RC_ASSERT(pair.forth() == Verdict());
    pair.defaults.reciprocity = true;
    RC_ASSERT(pair.back() == Verdict());
}

/// Judged anew by the letter of DESIGN rule 24, for both attributes.
RC_GTEST_PROP(JudgeRules, TheVerdictIsThatOfTheRuleAsWritten, ()) {
    const Pair pair;
    const auto allows = [&](const Party& s, const Party& v, bool online) {
        static const Profile kNothing;
        const Profile& of_s = s.profile != nullptr ? *s.profile : kNothing;
        const Profile& of_v = v.profile != nullptr ? *v.profile : kNothing;
        const PrivacyRule in_force = online
                                         ? of_s.privacy.online.value_or(pair.defaults.online)
                                         : of_s.privacy.last_seen.value_or(pair.defaults.last_seen);
        const bool contact = of_s.contacts.contains(v.user);
        const bool named = in_force.users.contains(v.user);
        const bool admitted =
            in_force.audience == Audience::everyone ||
            (in_force.audience == Audience::contacts && contact) ||
            (in_force.audience == Audience::contacts_except && contact && !named) ||
            (in_force.audience == Audience::only && named);
        return admitted && !of_s.blocks.contains(v.user) && !of_v.blocks.contains(s.user);
    };
    const auto sees = [&](bool online) {
        return allows(pair.the_subject(), pair.the_viewer(), online) &&
               (!pair.defaults.reciprocity ||
                allows(pair.the_viewer(), pair.the_subject(), online));
    };
    RC_ASSERT(pair.forth().online() == sees(true));
    RC_ASSERT((pair.forth().last_seen() == (sees(true) && sees(false))));
}

RC_GTEST_PROP(ExplainRules, AllChecksPassExactlyWhereTheAttributeIsGiven, ()) {
    Pair pair;
    const bool oneself = *rc::gen::inRange(0, 8) == 0;
    const Party viewer = oneself ? pair.the_subject() : pair.the_viewer();
    const Verdict verdict = judge(pair.the_subject(), viewer, pair.defaults);
    const auto checks = explain(pair.the_subject(), viewer, pair.defaults);
    const auto pass = [&](std::string_view attribute) {
        RC_ASSERT(std::ranges::any_of(
            checks, [&](const RuleCheck& check) { return check.attribute == attribute; }));
        return std::ranges::all_of(checks, [&](const RuleCheck& check) {
            return check.attribute != attribute || check.passes;
        });
    };
    RC_ASSERT(pass("online") == verdict.online());
    RC_ASSERT(pass("lastSeen") == verdict.last_seen());
    RC_ASSERT(std::ranges::none_of(
        checks, [](const RuleCheck& check) { return check.check.empty() || check.why.empty(); }));
}

/// DESIGN rule 26: what the hidden do changes no byte.
RC_GTEST_PROP(ViewRules, WhoMayNotSeeCannotTellAnyTwoPresencesApart, ()) {
    const Presence a = *any_presence();
    const Presence b = *any_presence();
    const Verdict refused = *rc::gen::element(Verdict(), verdict_unread());
    const Viewing at_one_time = *any_viewing();
    const Viewing at_another = *any_viewing();
    const auto view = view_for(kSubject, &a, refused, at_one_time);
    RC_ASSERT(equal(view, view_for(kSubject, &b, refused, at_another)));
    RC_ASSERT(equal(view, view_for(kSubject, nullptr, refused, at_another)));
    RC_ASSERT(view.version() == Version{0});
}

RC_GTEST_PROP(ViewRules, ThePublicViewDoesNotHangOnTheOwnFace, ()) {
    const Presence a = *any_presence();
    const Presence other = *any_presence();
    Presence b = a;
    b.own = other.own;
    b.own_version = other.own_version;
    b.declared = other.declared;
    b.session_declared = other.session_declared;
    b.session_declared_until = other.session_declared_until;
    const Verdict verdict =
        verdict_of_others(*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>());
    const Viewing viewing = *any_viewing();
    const auto view = view_for(kSubject, &a, verdict, viewing);
    RC_ASSERT(equal(view, view_for(kSubject, &b, verdict, viewing)));
    RC_ASSERT(view.status() != Status::invisible);
    RC_ASSERT(!view.declared());
}

/// Without the right to last seen, no time of any kind can be told from the view.
RC_GTEST_PROP(ViewRules, WhoMayNotSeeLastSeenIsToldNoTimes, ()) {
    const Presence a = *any_presence();
    Presence b = a;
    b.shown.since = *any_time();
    b.last_seen = *any_end();
    const Viewing viewing = *any_viewing();
    const Verdict verdict = verdict_of_others(true, false);
    const auto view = view_for(kSubject, &a, verdict, viewing);
    RC_ASSERT(equal(view, view_for(kSubject, &b, verdict, viewing)));
    RC_ASSERT(!view.since());
    RC_ASSERT(!view.last_seen());
}

RC_GTEST_PROP(ViewRules, EachPartOfAViewAppearsOnlyWhereItBelongs, ()) {
    const Presence presence = *any_presence();
    const Verdict verdict =
        *rc::gen::element(Verdict(), verdict_unread(), verdict_for_back_end(),
                          verdict_of_others(true, false), verdict_of_others(true, true));
    const Viewing viewing = *any_viewing();
    const auto view = view_for(kSubject, &presence, verdict, viewing);
    const bool there = view.status() != Status::offline && view.status() != Status::unknown;
    RC_ASSERT((!view.since() || view.status() == Status::away || view.status() == Status::busy ||
               view.status() == Status::dnd));
    RC_ASSERT((!view.since() || view.since()->ms() % 60'000 == 0));
    RC_ASSERT((!view.custom() || there));
    RC_ASSERT(same(view.custom(), unless_over(view.custom(), viewing.now)));
    RC_ASSERT((!view.devices() || (there && viewing.show_devices && view.devices()->bits != 0)));
    RC_ASSERT((!view.last_seen() || view.status() == Status::offline));
    RC_ASSERT(view.declared().has_value() == verdict.own());
    RC_ASSERT((!view.declared() || !view.declared()->expires_at ||
               *view.declared()->expires_at > viewing.now));
    RC_ASSERT((!viewing.store_down || view.status() == Status::unknown || verdict == Verdict()));
}

/// Whatever the seconds are, the answer is the same from a minute on: they cannot be found out by
/// asking again and again.
RC_GTEST_PROP(LastSeenRules, TheSecondsOfAMinuteCannotBeTold, ()) {
    const WallTime minute = kNow - 20s;
    const auto any_second = rc::gen::inRange<std::int64_t>(0, 60'000);
    const WallTime a = minute + Millis{*any_second};
    const WallTime b = minute + Millis{*any_second};
    const Millis edge = *rc::gen::element<Millis>(2min, 1h, 24h, 7 * 24h, 30 * 24h);
    const WallTime now = minute + edge + Millis{*rc::gen::inRange<std::int64_t>(-90'000, 90'000)};
    RC_PRE(now - minute >= 2min);
    RC_ASSERT(last_seen_view(a, now) == last_seen_view(b, now));
}

RC_GTEST_PROP(LastSeenRules, ClassesOnlyAge, ()) {
    const WallTime seen = kNow + Millis{*rc::gen::inRange<std::int64_t>(0, 60'000)};
    const Millis a{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000)};
    const Millis b{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000)};
    const auto earlier = last_seen_view(seen, seen + std::min(a, b));
    const auto later = last_seen_view(seen, seen + std::max(a, b));
    RC_ASSERT(earlier.granularity <= later.granularity);
    RC_ASSERT(later.at.has_value() == (later.granularity <= Granularity::recent));
    RC_ASSERT((!later.at || *later.at <= seen));
}

}  // namespace
}  // namespace presence::rules
