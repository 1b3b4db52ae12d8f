#pragma once

#include "presence/ports/session_journal.h"

#include "contract/nasty_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// What every SessionJournal promises. An `Adapter` has
///   SessionJournal& journal()   the one of this life
///   T run(Task<T>)              runs a call to its end
///   void restart()              ends this life and begins the next on what the journal kept
///   void set_unavailable(bool)  writes fail while set
template <class Adapter>
class SessionJournalContract : public ::testing::Test {
protected:
    static constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
    static constexpr WallTime kNow = WallTime::from_ms(1'735'689'600'123);

    static Session session(const char* id, std::uint64_t epoch = 1) {
        Session made;
        made.id = SessionId(id);
        made.epoch = Epoch{epoch};
        made.connected_at = kNow;
        return made;
    }
    static Session full_session() {
        Session made = session("0123456789abcdefghijkl", 1'735'689'600'999);
        for (std::size_t i = 0; i < made.resume_hash.size(); ++i) {
            made.resume_hash.at(i) = static_cast<std::uint8_t>(i * 17);  // 0 and 255 included.
        }
        made.device = {DeviceKind::tablet, "Ada's \"tablet\"\n\xF0\x9F\x98\x80"};
        made.grace_until = kNow + Millis{10'000};
        made.closed_at = kNow + Millis{5};
        made.beats_until = kNow + Millis{100'000};
        made.custom =
            make_ref<CustomStatus>(CustomStatus{"tea", "\xF0\x9F\x8D\xB5", kNow + Millis{60'000}});
        made.declared_until = kNow + Millis{30'000};
        made.active_rank = 4'000'000'000U;
        made.declared = DeclaredStatus::dnd;
        made.counts = false;
        made.idle = true;
        return made;
    }

    JournalStart start(std::uint64_t floor = 0) {
        return adapter_.run(adapter_.journal().start(floor)).value();
    }
    Result<bool> write(std::vector<JournalEntry> entries, WallTime alive = kNow,
                       std::uint64_t floor = 0) {
        return adapter_.run(adapter_.journal().write(std::move(entries), alive, floor));
    }
    JournalStart restart(std::uint64_t floor = 0) {
        adapter_.restart();
        return start(floor);
    }
    static bool same_session(const Session& a, const Session& b) {
        Session compared = a;  // Session compares `custom` by its address.
        compared.custom = b.custom;
        return same(a.custom, b.custom) && compared == b;
    }

    Adapter adapter_;
    const UserId ada_{"ada"};
    const UserId bob_{"bob"};
};

TYPED_TEST_SUITE_P(SessionJournalContract);

TYPED_TEST_P(SessionJournalContract, TheFirstLifeFindsNothing) {
    const JournalStart first = this->start();
    EXPECT_TRUE(first.open.empty());
    EXPECT_EQ(first.last_alive, std::nullopt);
    EXPECT_EQ(first.version_floor, this->kStep);
}

TYPED_TEST_P(SessionJournalContract, ASessionComesBackWhole) {
    static_cast<void>(this->start());
    const Session full = this->full_session();
    const Session plain = this->session("plain");
    ASSERT_TRUE(this->write({{this->ada_, full.id, full}, {this->bob_, plain.id, plain}}));
    const JournalStart next = this->restart();
    ASSERT_EQ(next.open.size(), 2U);
    EXPECT_EQ(next.open[0].user, this->ada_);
    EXPECT_TRUE(this->same_session(next.open[0].session, full));
    EXPECT_EQ(next.open[1].user, this->bob_);
    EXPECT_TRUE(this->same_session(next.open[1].session, plain));
    EXPECT_EQ(next.last_alive, this->kNow);
}

TYPED_TEST_P(SessionJournalContract, EveryDeviceAndStatusComesBackAsItWas) {
    static_cast<void>(this->start());
    std::vector<JournalEntry> entries;
    for (int i = 0; i < kDeviceKinds; ++i) {
        Session one = this->session(std::to_string(i).c_str());
        one.device.kind = static_cast<DeviceKind>(i);
        one.declared = static_cast<DeclaredStatus>(i);  // As many of both.
        entries.push_back({this->ada_, one.id, one});
    }
    ASSERT_TRUE(this->write(entries));
    const JournalStart next = this->restart();
    ASSERT_EQ(next.open.size(), entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        EXPECT_TRUE(this->same_session(next.open[i].session, *entries[i].session)) << i;
    }
}

TYPED_TEST_P(SessionJournalContract, TheLastEntryOfASessionCounts) {
    static_cast<void>(this->start());
    ASSERT_TRUE(this->write({{this->ada_, SessionId("one"), this->session("one", 1)},
                             {this->ada_, SessionId("two"), this->session("two", 2)},
                             {this->ada_, SessionId("one"), this->session("one", 3)},
                             {this->ada_, SessionId("two"), std::nullopt},
                             {this->bob_, SessionId("gone"), this->session("gone")}}));
    ASSERT_TRUE(this->write({{this->bob_, SessionId("gone"), std::nullopt},
                             {this->bob_, SessionId("never there"), std::nullopt}}));
    const JournalStart next = this->restart();
    ASSERT_EQ(next.open.size(), 1U);
    EXPECT_TRUE(this->same_session(next.open[0].session, this->session("one", 3)));
}

TYPED_TEST_P(SessionJournalContract, WhatIsOpenStaysUntilAnEntryEndsIt) {
    static_cast<void>(this->start());
    ASSERT_TRUE(this->write({{this->ada_, SessionId("one"), this->session("one")}}));
    EXPECT_EQ(this->restart().open.size(), 1U);
    EXPECT_EQ(this->restart().open.size(), 1U);  // That life crashed before it decided.
    ASSERT_TRUE(this->write({{this->ada_, SessionId("one"), std::nullopt}}));
    EXPECT_TRUE(this->restart().open.empty());
}

TYPED_TEST_P(SessionJournalContract, SessionsOfDifferentUsersDoNotMeet) {
    static_cast<void>(this->start());
    ASSERT_TRUE(this->write({{this->ada_, SessionId("s"), this->session("s", 1)},
                             {this->bob_, SessionId("s"), this->session("s", 2)}}));
    ASSERT_TRUE(this->write({{this->ada_, SessionId("s"), std::nullopt}}));
    const JournalStart next = this->restart();
    ASSERT_EQ(next.open.size(), 1U);
    EXPECT_EQ(next.open[0].user, this->bob_);
}

TYPED_TEST_P(SessionJournalContract, AnEmptyBatchSaysThatTheNodeIsAlive) {
    static_cast<void>(this->start());
    ASSERT_TRUE(this->write({}, this->kNow));
    ASSERT_TRUE(this->write({}, this->kNow + Millis{1000}));
    EXPECT_EQ(this->restart().last_alive, this->kNow + Millis{1000});
    // The wall clock was set back: what it says now is what can be compared with.
    ASSERT_TRUE(this->write({}, this->kNow - Millis{5000}));
    EXPECT_EQ(this->restart().last_alive, this->kNow - Millis{5000});
}

TYPED_TEST_P(SessionJournalContract, TheVersionFloorGrowsWithEachLife) {
    EXPECT_EQ(this->start(1000).version_floor, 1000 + this->kStep);
    EXPECT_EQ(this->restart(0).version_floor, 1000 + 2 * this->kStep);
    const std::uint64_t high = std::uint64_t{1} << 50;
    ASSERT_TRUE(this->write({}, this->kNow, high));
    ASSERT_TRUE(this->write({}, this->kNow, 5));  // Raises only.
    EXPECT_EQ(this->restart(7).version_floor, high + this->kStep);
    EXPECT_EQ(this->restart(2 * high).version_floor, 2 * high + this->kStep);
    EXPECT_EQ(this->start().version_floor, 2 * high + 2 * this->kStep);
}

TYPED_TEST_P(SessionJournalContract, UnavailableChangesNothingAndHealsByItself) {
    static_cast<void>(this->start());
    this->adapter_.set_unavailable(true);
    const auto refused = this->write({{this->ada_, SessionId("one"), this->session("one")}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    const auto started = this->adapter_.run(this->adapter_.journal().start(0));
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::unavailable);
    this->adapter_.set_unavailable(false);
    ASSERT_TRUE(this->write({{this->bob_, SessionId("two"), this->session("two")}}));
    const JournalStart next = this->restart();
    ASSERT_EQ(next.open.size(), 1U);
    EXPECT_EQ(next.open[0].user, this->bob_);
    EXPECT_EQ(next.version_floor, 2 * this->kStep);
}

TYPED_TEST_P(SessionJournalContract, FO_069_FO_071_IdsAreComparedByteForByte) {
    static_cast<void>(this->start());
    std::vector<UserId> ids = nasty_ids();
    std::vector<JournalEntry> entries;
    for (const UserId& id : ids) {
        entries.push_back({id, SessionId("s"), this->session("s")});
    }
    ASSERT_TRUE(this->write(entries));
    JournalStart next = this->restart();
    std::sort(ids.begin(), ids.end());
    ASSERT_EQ(next.open.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(next.open[i].user, ids[i]);
    }
}

REGISTER_TYPED_TEST_SUITE_P(SessionJournalContract, TheFirstLifeFindsNothing,
                            ASessionComesBackWhole, EveryDeviceAndStatusComesBackAsItWas,
                            TheLastEntryOfASessionCounts, WhatIsOpenStaysUntilAnEntryEndsIt,
                            SessionsOfDifferentUsersDoNotMeet, AnEmptyBatchSaysThatTheNodeIsAlive,
                            TheVersionFloorGrowsWithEachLife,
                            UnavailableChangesNothingAndHealsByItself,
                            FO_069_FO_071_IdsAreComparedByteForByte);

}  // namespace presence::testing
