#pragma once

#include "presence/ports/profile_store.h"

#include "contract/nasty_ids.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// What every ProfileStore promises. An `Adapter` has
///   ProfileStore& store(int thread)  two objects, 0 and 1, on the same profiles
///   T run(Task<T>)                   runs a call to its end
///   void set_unavailable(bool)       writes fail while set
///   void reopen()                    stops and starts the process, where profiles survive that
template <class Adapter>
class ProfileStoreContract : public ::testing::Test {
protected:
    static constexpr WallTime kDay = WallTime::from_ms(1'735'689'600'000);
    static constexpr std::size_t kLimit = 1000;

    static WallTime at(std::int64_t seconds) { return kDay + Millis{seconds * 1000}; }
    static UserSet set_of(std::initializer_list<const char*> users) {
        std::vector<UserId> ids;
        for (const char* user : users) {
            ids.emplace_back(user);
        }
        return UserSet(std::move(ids));
    }
    static UserSetChange adding(UserSet users) { return {std::nullopt, std::move(users), {}}; }
    static UserSetChange removing(UserSet users) { return {std::nullopt, {}, std::move(users)}; }
    static UserSetChange replacing(UserSet users) { return {std::move(users), {}, {}}; }
    static DeclaredState declared(std::uint64_t revision) {
        return {DeclaredStatus::busy, at(60),
                make_ref<CustomStatus>(
                    CustomStatus{"In a \"meeting\"\n\xF0\x9F\x98\x80", "\xF0\x9F\x93\x85", at(90)}),
                revision};
    }

    ProfileStore& store(int thread = 0) { return adapter_.store(thread); }
    ProfileRef load(const UserId& user, int thread = 1) {
        return adapter_.run(store(thread).load({user})).value().at(0);
    }
    /// What is stored, or an empty profile: a broken store shall fail the test, not crash it.
    Profile loaded(const UserId& user, int thread = 1) {
        const ProfileRef profile = load(user, thread);
        return profile ? *profile : Profile();
    }
    ProfileChange contacts(const UserId& user, UserSetChange change) {
        return adapter_.run(store().change_contacts(user, std::move(change), kLimit)).value();
    }
    ProfileChange blocks(const UserId& user, UserSetChange change) {
        return adapter_.run(store().change_blocks(user, std::move(change), kLimit)).value();
    }
    ProfileChange privacy(const UserId& user, PrivacySettings settings) {
        return adapter_.run(store().save_privacy(user, std::move(settings))).value();
    }
    void last_seen(const UserId& user, std::optional<WallTime> seen, std::uint64_t version,
                   WallTime written) {
        ASSERT_TRUE(adapter_.run(store().save_last_seen(
            {{user, seen, Version{version}, Version{version + 1}, written}})));
    }

    Adapter adapter_;
    const UserId ada_{"ada"};
    const UserId bob_{"bob"};
};

}  // namespace presence::testing
