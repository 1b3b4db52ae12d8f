// What a thread knows of a room, by itself.

#include "presence/core/room_replica.h"

#include "presence/rules/visibility.h"

#include <gtest/gtest.h>

namespace presence::testing {

namespace {

constexpr NodeId kNode{1};

RoomStatement statement(const RoomId& room, std::uint64_t sequence) {
    RoomStatement said;
    said.node = kNode;
    said.room = room;
    said.sequence = sequence;
    said.listed = true;
    said.members = 1;
    return said;
}

RoomMember member(const char* user) {
    RoomMember made;
    made.user = UserId(user);
    return made;
}

RoomSubject::PresenceRef seen_online() {
    auto presence = std::make_shared<Presence>();
    presence->shown.status = presence->own.status = Status::online;
    presence->shown_version = presence->own_version = Version{1};
    return presence;
}

TEST(RoomReplica, WhatALookFoundOfOneWhoLeftIsNotTakenForWhoCameInTheSamePlace) {
    RoomSubjects subjects;
    RoomReplica replica(RoomId("hall"), subjects);
    RoomStatement first = statement(replica.room(), 1);
    first.full = true;
    first.present = {member("ann")};
    replica.apply(first);
    std::uint32_t slot_of_ann = 0;
    ASSERT_TRUE(replica.find_slot(UserId("ann"), slot_of_ann));

    RoomViewer joiner;
    joiner.connection = 7;
    joiner.user = UserId("bob");
    const std::uint64_t looked_at = replica.additions();
    const Verdict sees = rules::judge({UserId("ann"), nullptr}, {joiner.user, nullptr}, {});
    ASSERT_TRUE(sees.online());
    joiner.sees.set(slot_of_ann, sees);

    RoomStatement second = statement(replica.room(), 2);
    second.gone = {UserId("ann")};
    replica.apply(second);
    replica.tidy();
    RoomStatement third = statement(replica.room(), 3);
    third.present = {member("hidden")};
    replica.apply(third);
    std::uint32_t slot = 0;
    ASSERT_TRUE(replica.find_slot(UserId("hidden"), slot));
    ASSERT_EQ(slot, slot_of_ann);
    replica.member(slot).subject->take_shown(seen_online());

    const RoomViewer& placed = replica.add_viewer(std::move(joiner), looked_at);
    EXPECT_TRUE(replica.list_for(placed).empty());
    replica.remove_viewer(7);
}

}  // namespace

}  // namespace presence::testing
