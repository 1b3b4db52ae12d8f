// Rooms over HTTP: what a look at one costs.

#include "unit/api/api_world.h"

namespace presence::api::testing {
namespace {

class RoomCalls : public ApiWorld {};

TEST_F(RoomCalls, CountAsLooksAtAHundredHoweverShortThePage) {
    limits.lookups_burst = 250;
    limits.lookups_per_second = 100;
    EXPECT_EQ(call_as("v", "GET", "/v1/rooms/hall?limit=1").status, 200);
    EXPECT_EQ(call_as("v", "GET", "/v1/rooms/hall?limit=1").status, 200);
    EXPECT_EQ(call_as("v", "GET", "/v1/rooms/hall?limit=1").code(), "rateLimited");
    pass(Millis{1000});
    EXPECT_EQ(call_as("v", "GET", "/v1/rooms/hall?limit=1").status, 200);
    EXPECT_EQ(call("GET", "/v1/rooms/hall?limit=1").status, 200);
}

}  // namespace
}  // namespace presence::api::testing
