#pragma once

#include "presence/ports/profile_store.h"
#include "presence/ports/webhook_outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// What an erasure promises of webhooks where profiles and outbox stand in one database: nothing
/// that the user had set is left, in events, batches or dead letters, nor where the user was; the
/// word of the end is, and that they left a room where receivers may know them to be; and so is
/// what is told of others.
template <class Life>
void expect_an_erasure_to_take_the_events(Life& life, WebhookOutbox& outbox,
                                          ProfileStore& profiles) {
    constexpr const char* kTarget = "https://one.example/hook";
    const auto changed = [](const std::string& user, const std::string& text) {
        return R"({"id":"1","type":"presence.changed","userId":")" + user +
               R"(","after":{"customStatus":{"text":")" + text + R"("}}})";
    };
    const auto claim = [&](const std::string& name) {
        OutboxClaim asked{.target = kTarget, .new_ids = {name}, .most_events = 100};
        return life.run(outbox.claim(std::move(asked))).value();
    };
    const std::string of_ann = changed("ann", R"(\"userId\":\"bob\")");
    const std::string of_bob = changed("bob", "stays");
    const std::string last = R"({"id":"2","type":"user.offline","userId":"ann","at":1})";
    const std::string older = R"({"id":"3","type":"user.offline","userId":"ann","lastSeenAt":1})";
    const std::string ann = subject_of(UserId("ann"));
    const std::string bob = subject_of(UserId("bob"));
    // A dead letter of both, one of ann alone, a batch of ann that waits, and events in none.
    ASSERT_TRUE(life.run(outbox.append({{kTarget, ann, of_ann}, {kTarget, bob, of_bob}})));
    ASSERT_EQ(claim("a").size(), 1U);
    ASSERT_TRUE(life.run(outbox.give_up("a", "gone")));
    ASSERT_TRUE(life.run(outbox.append({{kTarget, ann, of_ann}})));
    ASSERT_EQ(claim("b").size(), 1U);
    ASSERT_TRUE(life.run(outbox.give_up("b", "gone")));
    ASSERT_TRUE(life.run(outbox.append({{kTarget, ann, of_ann}})));
    ASSERT_EQ(claim("c").size(), 1U);
    const auto in_room = [](const char* type, const char* user) {
        return R"({"id":"4","type":"room.)" + std::string(type) + R"(","userId":")" + user +
               R"(","room":"r"})";
    };
    const std::string hall = subject_of(RoomId("hall"));
    const std::string den = subject_of(RoomId("den"));
    const std::string occupied = R"({"id":"5","type":"room.occupied","room":"den"})";
    ASSERT_TRUE(life.run(outbox.append({{kTarget, ann, older},
                                        {kTarget, ann, last},
                                        {kTarget, bob, of_bob},
                                        {kTarget, hall, in_room("left", "ann")},
                                        {kTarget, hall, in_room("joined", "ann")},
                                        {kTarget, hall, in_room("left", "ann")},
                                        {kTarget, hall, in_room("joined", "bob")},
                                        {kTarget, den, occupied},
                                        {kTarget, den, in_room("left", "ann")},
                                        {kTarget, den, in_room("joined", "ann")}})));

    ASSERT_TRUE(life.run(profiles.erase(UserId("ann"), WallTime::from_ms(1'000))));

    const DeadLetters dead = life.run(outbox.dead_letters(std::nullopt, 10)).value();
    ASSERT_EQ(dead.letters.size(), 1U);
    EXPECT_EQ(dead.letters[0].bodies, std::vector<std::string>{of_bob});
    EXPECT_EQ(life.run(outbox.counts()).value().waiting, 5U);
    const std::vector<OutboxBatch> batches = claim("d");
    ASSERT_EQ(batches.size(), 1U);
    EXPECT_EQ(batches[0].bodies, (std::vector<std::string>{last, of_bob, in_room("left", "ann"),
                                                           in_room("joined", "bob"), occupied}));
}

}  // namespace presence::testing
