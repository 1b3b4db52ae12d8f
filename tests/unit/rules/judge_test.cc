#include "presence/rules/visibility.h"

#include "unit/rules/people.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace presence::rules {
namespace {

using test::rule;

const UserId kAda("ada");
const UserId kBob("bob");

PrivacyDefaults open_to_all() {
    PrivacyDefaults defaults;
    defaults.last_seen = rule(Audience::everyone);
    return defaults;
}

PrivacyDefaults one_way() {
    PrivacyDefaults defaults = open_to_all();
    defaults.reciprocity = false;
    return defaults;
}

Profile with_online(PrivacyRule online) {
    Profile profile;
    profile.privacy.online = std::move(online);
    return profile;
}

Profile with_last_seen(PrivacyRule last_seen) {
    Profile profile;
    profile.privacy.last_seen = std::move(last_seen);
    return profile;
}

/// Ada is looked at, Bob looks.
Verdict seen(const Profile* ada, const Profile* bob, const PrivacyDefaults& defaults) {
    return judge({kAda, ada}, {kBob, bob}, defaults);
}

TEST(Judge, EveryoneSeesThemselvesWhateverTheirRulesSay) {
    Profile shy = with_online(rule(Audience::nobody));
    shy.privacy.last_seen = rule(Audience::nobody);
    shy.blocks = UserSet({kAda});
    const Verdict verdict = judge({kAda, &shy}, {kAda, &shy}, {});
    EXPECT_TRUE(verdict.own());
    EXPECT_TRUE(verdict.online());
    EXPECT_TRUE(verdict.last_seen());
    EXPECT_FALSE(verdict.unread());
}

TEST(Judge, ABackEndSeesTheOwnFaceAndWhatWasNotReadShowsNothing) {
    EXPECT_TRUE(verdict_for_back_end().own());
    EXPECT_TRUE(verdict_for_back_end().last_seen());
    EXPECT_TRUE(verdict_unread().unread());
    EXPECT_FALSE(verdict_unread().online());
    EXPECT_FALSE(verdict_unread().last_seen());
    EXPECT_FALSE(verdict_unread().own());
}

TEST(Judge, WithoutAnyRuleTheDefaultsAreInForce) {
    const Verdict usual = seen(nullptr, nullptr, {});
    EXPECT_TRUE(usual.online());
    EXPECT_FALSE(usual.last_seen());
    EXPECT_FALSE(usual.own());
    EXPECT_TRUE(seen(nullptr, nullptr, open_to_all()).last_seen());

    PrivacyDefaults closed;
    closed.online = rule(Audience::nobody);
    EXPECT_EQ(seen(nullptr, nullptr, closed), Verdict());
}

TEST(Judge, ContactsAreThoseOfTheSubject) {
    Profile ada = with_online(rule(Audience::contacts));
    EXPECT_FALSE(seen(&ada, nullptr, one_way()).online());
    ada.contacts = UserSet({kBob});
    EXPECT_TRUE(seen(&ada, nullptr, one_way()).online());

    Profile stranger = with_online(rule(Audience::contacts));
    Profile bob;
    bob.contacts = UserSet({kAda});
    EXPECT_FALSE(seen(&stranger, &bob, one_way()).online());
}

TEST(Judge, ContactsExceptLeavesOutTheExceptions) {
    Profile ada = with_online(rule(Audience::contacts_except, {kBob}));
    ada.contacts = UserSet({kBob, UserId("eve")});
    EXPECT_FALSE(seen(&ada, nullptr, one_way()).online());
    EXPECT_TRUE(judge({kAda, &ada}, {UserId("eve"), nullptr}, one_way()).online());
    EXPECT_FALSE(judge({kAda, &ada}, {UserId("stranger"), nullptr}, one_way()).online());
}

TEST(Judge, OnlyAdmitsThoseWhoAreNamedAndNobodyAdmitsNobody) {
    Profile ada = with_online(rule(Audience::only, {kBob}));
    ada.contacts = UserSet({UserId("eve")});
    EXPECT_TRUE(seen(&ada, nullptr, one_way()).online());
    EXPECT_FALSE(judge({kAda, &ada}, {UserId("eve"), nullptr}, one_way()).online());

    Profile closed = with_online(rule(Audience::nobody, {kBob}));
    closed.contacts = UserSet({kBob});
    EXPECT_FALSE(seen(&closed, nullptr, one_way()).online());
}

TEST(Judge, ARuleThatIsNotUnderstoodAdmitsNobody) {
    Profile ada = with_online({static_cast<Audience>(99), UserSet({kBob})});
    ada.contacts = UserSet({kBob});
    EXPECT_EQ(seen(&ada, nullptr, one_way()), Verdict());
}

TEST(Judge, ABlockEitherWayHidesBothAttributes) {
    Profile blocks_bob;
    blocks_bob.blocks = UserSet({kBob});
    Profile blocks_ada;
    blocks_ada.blocks = UserSet({kAda});
    for (const PrivacyDefaults& defaults : {open_to_all(), one_way()}) {
        EXPECT_EQ(seen(&blocks_bob, nullptr, defaults), Verdict());
        EXPECT_EQ(seen(nullptr, &blocks_ada, defaults), Verdict());
        EXPECT_TRUE(seen(&blocks_ada, nullptr, defaults).last_seen());
    }
}

/// FO-056: hiding costs seeing, for each attribute by itself.
TEST(Judge, Fo056WhoHidesLastSeenLosesThatOfOthersAndNothingElse) {
    const Profile bob = with_last_seen(rule(Audience::nobody));
    const Verdict verdict = seen(nullptr, &bob, open_to_all());
    EXPECT_TRUE(verdict.online());
    EXPECT_FALSE(verdict.last_seen());
    EXPECT_TRUE(seen(nullptr, &bob, one_way()).last_seen());
}

TEST(Judge, Fo056WhoHidesFromOneLosesThatOneAlone) {
    Profile bob = with_online(rule(Audience::contacts_except, {kAda}));
    bob.contacts = UserSet({kAda, UserId("eve")});
    EXPECT_EQ(seen(nullptr, &bob, open_to_all()), Verdict());
    EXPECT_TRUE(judge({UserId("eve"), nullptr}, {kBob, &bob}, open_to_all()).online());
}

TEST(Judge, LastSeenIsGivenOnlyToWhoMayAlsoSeeOnline) {
    Profile ada = with_online(rule(Audience::nobody));
    ada.privacy.last_seen = rule(Audience::everyone);
    EXPECT_EQ(seen(&ada, nullptr, open_to_all()), Verdict());

    const Profile bob = with_online(rule(Audience::nobody));
    EXPECT_FALSE(seen(nullptr, &bob, open_to_all()).last_seen());
}

bool passes(const std::vector<RuleCheck>& checks, std::string_view attribute) {
    return std::ranges::all_of(checks, [&](const RuleCheck& check) {
        return check.attribute != attribute || check.passes;
    });
}

const RuleCheck* named(const std::vector<RuleCheck>& checks, std::string_view attribute,
                       std::string_view check) {
    const auto found = std::ranges::find_if(checks, [&](const RuleCheck& candidate) {
        return candidate.attribute == attribute && candidate.check == check;
    });
    return found == checks.end() ? nullptr : &*found;
}

TEST(Explain, NamesTheCheckThatFailed) {
    Profile ada = with_online(rule(Audience::contacts));
    const auto checks = explain({kAda, &ada}, {kBob, nullptr}, {});
    EXPECT_FALSE(passes(checks, "online"));
    const RuleCheck* failed = named(checks, "online", "subject's rule is contacts");
    ASSERT_NE(failed, nullptr);
    EXPECT_FALSE(failed->passes);
    EXPECT_EQ(failed->why, "\"bob\" is no contact");
    const RuleCheck* block = named(checks, "online", "subject blocks viewer");
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(block->passes);
    EXPECT_EQ(block->why, "\"ada\" has not blocked \"bob\"");
    const RuleCheck* implied = named(checks, "lastSeen", "viewer may see online");
    ASSERT_NE(implied, nullptr);
    EXPECT_FALSE(implied->passes);
}

TEST(Explain, NamesTheRuleOfTheViewerOnlyWhereHidingCostsSeeing) {
    const auto mutual = explain({kAda, nullptr}, {kBob, nullptr}, open_to_all());
    EXPECT_NE(named(mutual, "online", "viewer's rule is everyone, and hiding costs seeing"),
              nullptr);
    EXPECT_EQ(mutual.size(), 9U);
    EXPECT_EQ(explain({kAda, nullptr}, {kBob, nullptr}, one_way()).size(), 7U);
}

TEST(Explain, SaysOfOneselfThatAllIsSeen) {
    const auto checks = explain({kAda, nullptr}, {kAda, nullptr}, {});
    ASSERT_EQ(checks.size(), 2U);
    EXPECT_TRUE(passes(checks, "online"));
    EXPECT_TRUE(passes(checks, "lastSeen"));
}

TEST(Explain, TellsAnExceptionFromAStranger) {
    Profile ada = with_online(rule(Audience::contacts_except, {kBob}));
    ada.contacts = UserSet({kBob});
    const auto why = [&](const UserId& viewer) {
        const auto checks = explain({kAda, &ada}, {viewer, nullptr}, one_way());
        const RuleCheck* check = named(checks, "online", "subject's rule is contactsExcept");
        return check == nullptr ? "" : check->why;
    };
    EXPECT_EQ(why(kBob), "\"bob\" is a contact, but an exception");
    EXPECT_EQ(why(UserId("eve")), "\"eve\" is no contact");
}

}  // namespace
}  // namespace presence::rules
