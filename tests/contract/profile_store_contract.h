#pragma once

#include "contract/profile_store_fixture.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

TYPED_TEST_SUITE_P(ProfileStoreContract);

TYPED_TEST_P(ProfileStoreContract, LoadsInTheOrderOfTheQuestionAndNullForTheUnknown) {
    this->contacts(this->ada_, this->adding(this->set_of({"x"})));
    this->blocks(this->bob_, this->adding(this->set_of({"y"})));
    this->adapter_.reopen();
    const auto loaded =
        this->adapter_.run(this->store().load({this->bob_, UserId("?"), this->ada_, this->bob_}));
    ASSERT_EQ(loaded->size(), 4U);
    EXPECT_EQ(loaded->at(0)->blocks, this->set_of({"y"}));
    EXPECT_EQ(loaded->at(1), nullptr);
    EXPECT_EQ(loaded->at(2)->contacts, this->set_of({"x"}));
    EXPECT_EQ(loaded->at(3)->blocks, this->set_of({"y"}));
    EXPECT_TRUE(this->adapter_.run(this->store().load({}))->empty());
}

TYPED_TEST_P(ProfileStoreContract, LoadsAThousandUsersAtOnce) {
    constexpr int kUsers = 1000;
    std::vector<LastSeenRow> rows;
    std::vector<UserId> users;
    for (int i = 0; i < kUsers; ++i) {
        users.emplace_back("user " + std::to_string(i));
        rows.push_back({users.back(), this->at(i), Version{1}, Version{1}, this->at(i)});
    }
    ASSERT_TRUE(this->adapter_.run(this->store().save_last_seen(rows)));
    this->adapter_.reopen();
    const auto loaded = this->adapter_.run(this->store(1).load(users));
    for (int i = 0; i < kUsers; ++i) {
        EXPECT_EQ(loaded->at(static_cast<std::size_t>(i))->last_seen, this->at(i));
    }
}

TYPED_TEST_P(ProfileStoreContract, WhatWasDeclaredIsKeptWhole) {
    EXPECT_TRUE(
        this->adapter_.run(this->store().save_declared(this->ada_, this->declared(3))).value());
    this->adapter_.reopen();
    EXPECT_EQ(this->loaded(this->ada_).declared, this->declared(3));
    EXPECT_EQ(this->loaded(this->ada_).revision, 0U);  // No matter of privacy.
    const DeclaredState plain{DeclaredStatus::automatic, std::nullopt, nullptr, 4};
    EXPECT_TRUE(this->adapter_.run(this->store().save_declared(this->ada_, plain)).value());
    this->adapter_.reopen();
    EXPECT_EQ(this->loaded(this->ada_).declared, plain);
}

TYPED_TEST_P(ProfileStoreContract, EmptyTextIsNotTheSameAsNoCustomStatus) {
    const DeclaredState empty{DeclaredStatus::dnd, std::nullopt,
                              make_ref<CustomStatus>(CustomStatus{"", "x", std::nullopt}), 1};
    EXPECT_TRUE(this->adapter_.run(this->store().save_declared(this->ada_, empty)).value());
    this->adapter_.reopen();
    EXPECT_EQ(this->loaded(this->ada_).declared, empty);
}

TYPED_TEST_P(ProfileStoreContract, ADeclarationThatIsNotNewerIsRefused) {
    ASSERT_TRUE(
        this->adapter_.run(this->store().save_declared(this->ada_, this->declared(3))).value());
    for (const std::uint64_t revision : {3U, 2U, 0U}) {
        DeclaredState older{DeclaredStatus::away, std::nullopt, nullptr, revision};
        EXPECT_FALSE(this->adapter_.run(this->store(1).save_declared(this->ada_, older)).value());
    }
    EXPECT_EQ(this->loaded(this->ada_).declared, this->declared(3));
    EXPECT_FALSE(
        this->adapter_.run(this->store().save_declared(this->bob_, this->declared(0))).value());
    EXPECT_EQ(this->load(this->bob_), nullptr);
}

TYPED_TEST_P(ProfileStoreContract, RulesAreSetOneByOneAndTheRevisionGrowsWithEachChange) {
    PrivacySettings online;
    online.online = PrivacyRule{Audience::only, this->set_of({"x", "y"})};
    PrivacySettings last_seen;
    last_seen.last_seen = PrivacyRule{Audience::contacts_except, this->set_of({"z"})};
    const ProfileChange first = this->privacy(this->ada_, online);
    const ProfileChange second = this->privacy(this->ada_, last_seen);
    EXPECT_TRUE(first.changed);
    EXPECT_EQ(first.revision, 1U);
    EXPECT_TRUE(second.changed);
    EXPECT_EQ(second.revision, 2U);
    this->adapter_.reopen();
    const Profile profile = this->loaded(this->ada_);
    EXPECT_EQ(profile.privacy.online, online.online);
    EXPECT_EQ(profile.privacy.last_seen, last_seen.last_seen);
    EXPECT_EQ(profile.revision, 2U);
    EXPECT_TRUE(profile.contacts.empty());
    EXPECT_TRUE(profile.blocks.empty());
}

TYPED_TEST_P(ProfileStoreContract, EveryAudienceComesBackAsItWas) {
    for (const Audience audience : {Audience::everyone, Audience::contacts,
                                    Audience::contacts_except, Audience::only, Audience::nobody}) {
        const PrivacySettings both{PrivacyRule{audience, {}},
                                   PrivacyRule{audience, this->set_of({"x"})}};
        EXPECT_TRUE(this->privacy(this->ada_, both).changed);
        EXPECT_EQ(this->loaded(this->ada_).privacy, both);
    }
}

TYPED_TEST_P(ProfileStoreContract, WhatAlreadyStandsIsNoChange) {
    PrivacySettings rules;
    rules.online = PrivacyRule{Audience::only, this->set_of({"x"})};
    EXPECT_FALSE(this->privacy(this->ada_, {}).changed);
    EXPECT_EQ(this->load(this->ada_), nullptr);
    EXPECT_EQ(this->privacy(this->ada_, rules).revision, 1U);
    EXPECT_EQ(this->contacts(this->ada_, this->adding(this->set_of({"a", "b"}))).revision, 2U);
    EXPECT_EQ(this->blocks(this->ada_, this->adding(this->set_of({"a"}))).revision, 3U);

    const std::vector<ProfileChange> repeats{
        this->privacy(this->ada_, rules),
        this->privacy(this->ada_, {}),
        this->contacts(this->ada_, this->adding(this->set_of({"b"}))),
        this->contacts(this->ada_, this->replacing(this->set_of({"b", "a"}))),
        this->contacts(this->ada_, this->removing(this->set_of({"c"}))),
        this->contacts(this->ada_, {}),
        this->blocks(this->ada_, this->adding(this->set_of({"a"}))),
    };
    for (const ProfileChange& repeat : repeats) {
        EXPECT_FALSE(repeat.changed);
        EXPECT_EQ(repeat.revision, 3U);
    }
    EXPECT_FALSE(this->contacts(this->bob_, this->removing(this->set_of({"c"}))).changed);
    EXPECT_EQ(this->load(this->bob_), nullptr);
}

TYPED_TEST_P(ProfileStoreContract, ContactsAndBlocksAreAddedRemovedAndReplaced) {
    this->contacts(this->ada_, this->adding(this->set_of({"a", "b"})));
    this->contacts(this->ada_, this->adding(this->set_of({"c"})));
    this->contacts(this->ada_, this->removing(this->set_of({"a", "x"})));
    this->blocks(this->ada_, this->replacing(this->set_of({"p", "q"})));
    this->blocks(this->ada_, this->replacing(this->set_of({"q", "r"})));
    this->adapter_.reopen();
    EXPECT_EQ(this->loaded(this->ada_).contacts, this->set_of({"b", "c"}));
    EXPECT_EQ(this->loaded(this->ada_).blocks, this->set_of({"q", "r"}));
    this->contacts(this->ada_, this->replacing({}));
    EXPECT_TRUE(this->loaded(this->ada_).contacts.empty());
    EXPECT_EQ(this->loaded(this->ada_).blocks, this->set_of({"q", "r"}));
    EXPECT_EQ(this->loaded(this->ada_).revision, 6U);
}

TYPED_TEST_P(ProfileStoreContract, ASetOverTheLimitIsRefusedWhole) {
    constexpr std::size_t kMost = 3;
    const auto add = [&](UserSet users) {
        return this->adapter_.run(
            this->store().change_blocks(this->ada_, this->adding(std::move(users)), kMost));
    };
    EXPECT_TRUE(add(this->set_of({"a", "b", "c"})));
    const auto refused = add(this->set_of({"c", "d"}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(refused.error().limit, 3);
    const Profile profile = this->loaded(this->ada_);
    EXPECT_EQ(profile.blocks, this->set_of({"a", "b", "c"}));
    EXPECT_EQ(profile.revision, 1U);
    // A limit that was lowered since lets the set shrink.
    EXPECT_TRUE(this->adapter_.run(
        this->store().change_blocks(this->ada_, this->removing(this->set_of({"a"})), 1)));
}

TYPED_TEST_P(ProfileStoreContract, ARevocationNeverMovesBack) {
    const auto revoke = [&](WallTime before) {
        return this->adapter_.run(this->store().revoke(this->ada_, before)).value();
    };
    const ProfileChange first = revoke(this->at(10));
    EXPECT_TRUE(first.changed);
    EXPECT_EQ(first.revision, 1U);
    EXPECT_FALSE(revoke(this->at(10)).changed);
    EXPECT_FALSE(revoke(this->at(5)).changed);
    EXPECT_EQ(revoke(this->at(20)).revision, 2U);
    this->adapter_.reopen();
    EXPECT_EQ(this->loaded(this->ada_).revoked_before, this->at(20));
}

TYPED_TEST_P(ProfileStoreContract, LastSeenAndVersionsOnlyGrow) {
    this->last_seen(this->bob_, std::nullopt, 7, this->at(1));
    EXPECT_EQ(this->loaded(this->bob_).last_seen, std::nullopt);
    EXPECT_EQ(this->loaded(this->bob_).own_version, Version{7});
    this->last_seen(this->ada_, this->at(100), 50, this->at(101));
    this->last_seen(this->ada_, this->at(90), 60, this->at(102));
    this->last_seen(this->ada_, std::nullopt, 40, this->at(103));
    this->adapter_.reopen();
    const Profile profile = this->loaded(this->ada_);
    EXPECT_EQ(profile.last_seen, this->at(100));
    EXPECT_EQ(profile.own_version, Version{60});
    EXPECT_EQ(profile.shown_version, Version{61});
    EXPECT_EQ(profile.revision, 0U);
    this->last_seen(this->ada_, this->at(110), 70, this->at(110));
    EXPECT_EQ(this->loaded(this->ada_).last_seen, this->at(110));
}

TYPED_TEST_P(ProfileStoreContract, OneBatchMayHoldAUserTwice) {
    ASSERT_TRUE(this->adapter_.run(this->store().save_last_seen(
        {{this->ada_, this->at(5), Version{2}, Version{2}, this->at(5)},
         {this->bob_, this->at(6), Version{1}, Version{1}, this->at(6)},
         {this->ada_, this->at(4), Version{3}, Version{1}, this->at(7)}})));
    EXPECT_EQ(this->loaded(this->ada_).last_seen, this->at(5));
    EXPECT_EQ(this->loaded(this->ada_).own_version, Version{3});
    EXPECT_EQ(this->loaded(this->ada_).shown_version, Version{2});
    EXPECT_EQ(this->loaded(this->bob_).last_seen, this->at(6));
}

TYPED_TEST_P(ProfileStoreContract, AnErasureForgetsAllButItsMarks) {
    this->adapter_.run(this->store().save_declared(this->ada_, this->declared(3))).value();
    this->privacy(this->ada_, {PrivacyRule{Audience::only, this->set_of({"x"})},
                               PrivacyRule{Audience::everyone, {}}});
    this->contacts(this->ada_, this->adding(this->set_of({"c"})));
    this->blocks(this->ada_, this->adding(this->set_of({"d"})));
    ASSERT_TRUE(this->adapter_.run(this->store().revoke(this->ada_, this->at(30))));
    this->last_seen(this->ada_, this->at(40), 50, this->at(41));
    const std::uint64_t revision = this->loaded(this->ada_).revision;

    EXPECT_TRUE(this->adapter_.run(this->store().erase(this->ada_, this->at(100)))->empty());
    this->adapter_.reopen();
    const ProfileRef left = this->load(this->ada_);
    ASSERT_NE(left, nullptr);
    EXPECT_EQ(left->declared.status, DeclaredStatus::automatic);
    EXPECT_EQ(left->declared.expires_at, std::nullopt);
    EXPECT_EQ(left->declared.custom, nullptr);
    EXPECT_EQ(left->privacy, PrivacySettings());
    EXPECT_TRUE(left->contacts.empty());
    EXPECT_TRUE(left->blocks.empty());
    EXPECT_EQ(left->last_seen, std::nullopt);
    EXPECT_EQ(left->own_version, Version{50});
    EXPECT_EQ(left->shown_version, Version{51});
    EXPECT_EQ(left->revoked_before, this->at(30));
    EXPECT_GT(left->revision, revision);
}

TYPED_TEST_P(ProfileStoreContract, AnErasureTakesTheUserOutOfOthersListsAndSaysOfWhom) {
    this->contacts(UserId("in contacts"), this->adding(this->set_of({"ada", "bob"})));
    this->blocks(UserId("in blocks"), this->adding(this->set_of({"ada", "bob"})));
    PrivacySettings online;
    online.online = PrivacyRule{Audience::only, this->set_of({"ada"})};
    this->privacy(UserId("in online"), online);
    PrivacySettings last_seen;
    last_seen.last_seen = PrivacyRule{Audience::contacts_except, this->set_of({"ada", "bob"})};
    this->privacy(UserId("in last seen"), last_seen);
    this->contacts(UserId("not named"), this->adding(this->set_of({"adam", "Ada"})));
    this->contacts(this->ada_, this->adding(this->set_of({"ada"})));

    const auto named = this->adapter_.run(this->store(1).erase(this->ada_, this->at(1)));
    EXPECT_EQ(*named, (std::vector<UserId>{UserId("in blocks"), UserId("in contacts"),
                                           UserId("in last seen"), UserId("in online")}));
    this->adapter_.reopen();
    EXPECT_EQ(this->loaded(UserId("in contacts")).contacts, this->set_of({"bob"}));
    EXPECT_EQ(this->loaded(UserId("in contacts")).revision, 2U);
    EXPECT_EQ(this->loaded(UserId("in blocks")).blocks, this->set_of({"bob"}));
    const Profile only = this->loaded(UserId("in online"));
    EXPECT_EQ(only.privacy.online, (PrivacyRule{Audience::only, {}}));
    EXPECT_EQ(only.revision, 2U);
    EXPECT_EQ(this->loaded(UserId("in last seen")).privacy.last_seen,
              (PrivacyRule{Audience::contacts_except, this->set_of({"bob"})}));
    EXPECT_EQ(this->loaded(UserId("not named")).revision, 1U);
    EXPECT_EQ(this->loaded(UserId("not named")).contacts, this->set_of({"adam", "Ada"}));
}

TYPED_TEST_P(ProfileStoreContract, RowsOlderThanAnErasureAreDroppedAndLaterOnesAreTaken) {
    // Erased before anything was stored: what is still on its way is dropped all the same.
    ASSERT_TRUE(this->adapter_.run(this->store().erase(this->ada_, this->at(100))));
    this->adapter_.reopen();
    this->last_seen(this->ada_, this->at(98), 7, this->at(99));
    this->last_seen(this->ada_, this->at(99), 7, this->at(100));
    EXPECT_EQ(this->loaded(this->ada_).last_seen, std::nullopt);
    EXPECT_EQ(this->loaded(this->ada_).own_version, Version{7});  // Versions never go back.
    // The mark does not move back either.
    ASSERT_TRUE(this->adapter_.run(this->store().erase(this->ada_, this->at(50))));
    this->last_seen(this->ada_, this->at(98), 7, this->at(99));
    EXPECT_EQ(this->loaded(this->ada_).last_seen, std::nullopt);

    this->last_seen(this->ada_, this->at(101), 8, this->at(102));
    this->adapter_.reopen();
    EXPECT_EQ(this->loaded(this->ada_).last_seen, this->at(101));
}

TYPED_TEST_P(ProfileStoreContract, ADeclarationUnderWayDuringAnErasureDoesNotComeBack) {
    ASSERT_TRUE(
        this->adapter_.run(this->store().save_declared(this->ada_, this->declared(3))).value());
    ASSERT_TRUE(this->adapter_.run(this->store().erase(this->ada_, this->at(100))));
    EXPECT_FALSE(
        this->adapter_.run(this->store(1).save_declared(this->ada_, this->declared(4))).value());
    const std::uint64_t next = this->loaded(this->ada_).declared.revision + 1;
    EXPECT_TRUE(
        this->adapter_.run(this->store().save_declared(this->ada_, this->declared(next))).value());
    EXPECT_EQ(this->loaded(this->ada_).declared, this->declared(next));
}

TYPED_TEST_P(ProfileStoreContract, UnavailableChangesNothingAndHealsByItself) {
    this->contacts(this->ada_, this->adding(this->set_of({"a"})));
    this->adapter_.set_unavailable(true);
    const auto refused = this->adapter_.run(
        this->store().change_contacts(this->ada_, this->adding(this->set_of({"b"})), 10));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    const auto lost = this->adapter_.run(
        this->store().save_last_seen({{this->ada_, this->at(1), {}, {}, this->at(1)}}));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::unavailable);
    this->adapter_.set_unavailable(false);
    EXPECT_EQ(this->loaded(this->ada_).contacts, this->set_of({"a"}));
    EXPECT_EQ(this->loaded(this->ada_).last_seen, std::nullopt);
    EXPECT_TRUE(this->contacts(this->ada_, this->adding(this->set_of({"b"}))).changed);
}

TYPED_TEST_P(ProfileStoreContract, FO_069_FO_071_IdsAreComparedByteForByte) {
    const std::vector<UserId> ids = nasty_ids();
    const UserSet all(ids);
    std::int64_t second = 0;
    for (const UserId& id : ids) {
        ++second;
        this->last_seen(id, this->at(second), static_cast<std::uint64_t>(second), this->at(second));
        this->contacts(id, this->adding(UserSet({id})));
    }
    this->blocks(this->bob_, this->adding(all));
    this->adapter_.reopen();
    const auto loaded = this->adapter_.run(this->store(1).load(ids));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ASSERT_NE(loaded->at(i), nullptr) << ids[i].text.view();
        EXPECT_EQ(loaded->at(i)->last_seen, this->at(static_cast<std::int64_t>(i) + 1));
        EXPECT_EQ(loaded->at(i)->contacts, UserSet({ids[i]})) << ids[i].text.view();
    }
    EXPECT_EQ(this->loaded(this->bob_).blocks, all);
    // Erasing one of them touches no other.
    const auto named = this->adapter_.run(this->store().erase(ids[0], this->at(1000)));
    EXPECT_EQ(*named, std::vector<UserId>{this->bob_});
    EXPECT_EQ(this->loaded(this->bob_).blocks.size(), all.size() - 1);
    EXPECT_EQ(this->loaded(ids[1]).contacts, UserSet({ids[1]}));
}

REGISTER_TYPED_TEST_SUITE_P(
    ProfileStoreContract, LoadsInTheOrderOfTheQuestionAndNullForTheUnknown,
    LoadsAThousandUsersAtOnce, WhatWasDeclaredIsKeptWhole, EmptyTextIsNotTheSameAsNoCustomStatus,
    ADeclarationThatIsNotNewerIsRefused, RulesAreSetOneByOneAndTheRevisionGrowsWithEachChange,
    EveryAudienceComesBackAsItWas, WhatAlreadyStandsIsNoChange,
    ContactsAndBlocksAreAddedRemovedAndReplaced, ASetOverTheLimitIsRefusedWhole,
    ARevocationNeverMovesBack, LastSeenAndVersionsOnlyGrow, OneBatchMayHoldAUserTwice,
    AnErasureForgetsAllButItsMarks, AnErasureTakesTheUserOutOfOthersListsAndSaysOfWhom,
    RowsOlderThanAnErasureAreDroppedAndLaterOnesAreTaken,
    ADeclarationUnderWayDuringAnErasureDoesNotComeBack, UnavailableChangesNothingAndHealsByItself,
    FO_069_FO_071_IdsAreComparedByteForByte);

}  // namespace presence::testing
