#include "fleet.h"

#include <gtest/gtest.h>

namespace presence::bench {
namespace {

TEST(StoreUse, CountsWhatNodesSentApartFromProbesAndFromCallsInScripts) {
    const std::map<std::string, double> before{{"evalsha", 100}, {"get", 30}, {"mget", 5}};
    const std::map<std::string, double> after{{"evalsha", 150}, {"get", 50},      {"mget", 8},
                                              {"set", 40},      {"spublish", 20}, {"info", 7}};

    const StoreUse use = store_use(before, after);

    EXPECT_EQ(use.probes, 20);             // The only scripts that GET.
    EXPECT_EQ(use.commands, 50 + 3 - 20);  // Those of nodes, without the probes.
    EXPECT_EQ(use.inner, 20 + 40 + 20);
}

TEST(StoreUse, IsNothingWhereNothingGrew) {
    const std::map<std::string, double> calls{{"evalsha", 100}, {"get", 30}};

    EXPECT_EQ(store_use(calls, calls).commands, 0);
    EXPECT_EQ(store_use(calls, calls).inner, 0);
}

}  // namespace
}  // namespace presence::bench
