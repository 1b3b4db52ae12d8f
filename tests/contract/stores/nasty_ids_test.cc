#include "contract/nasty_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace presence::testing {

TEST(NastyIds, AreAllAllowedAndAllDifferent) {
    std::set<UserId> seen;
    for (const UserId& id : nasty_ids()) {
        EXPECT_EQ(check_id(id.text), nullptr) << id.text.view();
        EXPECT_TRUE(seen.insert(id).second) << id.text.view();
    }
}

}  // namespace presence::testing
