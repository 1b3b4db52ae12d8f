#pragma once

#include "presence/ports/last_seen_spool.h"

#include "contract/nasty_ids.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence::testing {

[[nodiscard]] inline bool same_row(const LastSeenRow& a, const LastSeenRow& b) {
    return a.user == b.user && a.last_seen == b.last_seen && a.own_version == b.own_version &&
           a.shown_version == b.shown_version && a.written_at == b.written_at;
}

/// What every LastSeenSpool promises. An `Adapter` has
///   LastSeenSpool& spool()      the one of this life
///   T run(Task<T>)              runs a call to its end
///   void restart()              ends this life as a crash would, and begins the next
///   void set_limit_reached()    no more fits in from now on
template <class Adapter>
class LastSeenSpoolContract : public ::testing::Test {
protected:
    static LastSeenRow row(std::int64_t number) {
        return {UserId("user " + std::to_string(number)),
                number % 3 == 0 ? std::nullopt
                                : std::optional(WallTime::from_ms(1'735'689'600'000 + number)),
                Version{static_cast<std::uint64_t>(number) << 33U}, Version{7},
                WallTime::from_ms(1'735'689'600'500 + number)};
    }
    static std::vector<LastSeenRow> rows(std::int64_t from, std::int64_t to) {
        std::vector<LastSeenRow> made;
        for (std::int64_t i = from; i < to; ++i) {
            made.push_back(row(i));
        }
        return made;
    }
    LastSeenSpool& spool() { return adapter_.spool(); }
    bool append(std::vector<LastSeenRow> made) {
        return adapter_.run(spool().append(std::move(made))).has_value();
    }
    std::vector<LastSeenRow> oldest(std::size_t most) {
        return adapter_.run(spool().oldest(most)).value();
    }
    void drop(std::size_t count) { EXPECT_TRUE(adapter_.run(spool().drop(count))); }
    void expect_rows(const std::vector<LastSeenRow>& found, std::int64_t from, std::int64_t to) {
        const std::vector<LastSeenRow> wanted = rows(from, to);
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            EXPECT_TRUE(same_row(found[i], wanted[i])) << i;
        }
    }

    Adapter adapter_;
};

TYPED_TEST_SUITE_P(LastSeenSpoolContract);

TYPED_TEST_P(LastSeenSpoolContract, GivesRowsInTheOrderInWhichTheyCameUntilTheyAreDropped) {
    EXPECT_TRUE(this->oldest(10).empty());
    EXPECT_TRUE(this->append(this->rows(0, 3)));
    EXPECT_TRUE(this->append(this->rows(3, 10)));
    EXPECT_EQ(this->spool().waiting(), 10U);
    this->expect_rows(this->oldest(4), 0, 4);
    this->expect_rows(this->oldest(4), 0, 4);
    this->drop(4);
    EXPECT_TRUE(this->append(this->rows(10, 12)));
    this->expect_rows(this->oldest(100), 4, 12);
    this->drop(8);
    EXPECT_EQ(this->spool().waiting(), 0U);
    EXPECT_TRUE(this->oldest(10).empty());
    EXPECT_TRUE(this->append(this->rows(12, 13)));
    this->expect_rows(this->oldest(10), 12, 13);
}

TYPED_TEST_P(LastSeenSpoolContract, WhatWasAppendedOutlivesACrash) {
    EXPECT_TRUE(this->append(this->rows(0, 5000)));
    this->adapter_.restart();
    EXPECT_EQ(this->spool().waiting(), 5000U);
    std::int64_t taken = 0;
    while (this->spool().waiting() > 0) {
        const std::vector<LastSeenRow> found = this->oldest(1000);
        ASSERT_FALSE(found.empty());
        const auto count = static_cast<std::int64_t>(found.size());
        this->expect_rows(found, taken, taken + count);
        this->drop(found.size());
        taken += count;
    }
    EXPECT_EQ(taken, 5000);
    this->adapter_.restart();
    EXPECT_EQ(this->spool().waiting(), 0U);
}

TYPED_TEST_P(LastSeenSpoolContract, AFullSpoolRefusesABatchWholeAndGoesOnOnceEmptied) {
    EXPECT_TRUE(this->append(this->rows(0, 2)));
    this->adapter_.set_limit_reached();
    const auto refused = this->adapter_.run(this->spool().append(this->rows(2, 4)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
    this->expect_rows(this->oldest(10), 0, 2);
    this->drop(2);
    EXPECT_TRUE(this->append(this->rows(2, 4)));
}

TYPED_TEST_P(LastSeenSpoolContract, FO_069_FO_071_IdsComeBackByteForByte) {
    std::vector<LastSeenRow> made;
    for (const UserId& id : nasty_ids()) {
        made.push_back(this->row(1));
        made.back().user = id;
    }
    EXPECT_TRUE(this->append(made));
    this->adapter_.restart();
    const std::vector<LastSeenRow> found = this->oldest(1000);
    ASSERT_EQ(found.size(), made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_TRUE(same_row(found[i], made[i])) << made[i].user.text.view();
    }
}

REGISTER_TYPED_TEST_SUITE_P(LastSeenSpoolContract,
                            GivesRowsInTheOrderInWhichTheyCameUntilTheyAreDropped,
                            WhatWasAppendedOutlivesACrash,
                            AFullSpoolRefusesABatchWholeAndGoesOnOnceEmptied,
                            FO_069_FO_071_IdsComeBackByteForByte);

}  // namespace presence::testing
