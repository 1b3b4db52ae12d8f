#include "presence/core/configs.h"

#include <gtest/gtest.h>

#include <string>

namespace presence {
namespace {

std::string refusal(const HeartbeatConfig& config) {
    const Result<bool> result = config.validate();
    return result ? "" : result.error().message;
}

TEST(HeartbeatConfig, TheDefaultsAreAccepted) {
    EXPECT_EQ(refusal({}), "");
}

TEST(HeartbeatConfig, ATtlOfThreeIntervalsIsTheLeast) {
    EXPECT_EQ(refusal({.interval = 30s, .ttl = 90s}), "");
    EXPECT_EQ(refusal({.interval = 30s, .ttl = 89'999ms}),
              "heartbeat.ttl is 89999 ms, least is three intervals, 90000 ms");
    EXPECT_EQ(refusal({.interval = 30s, .ttl = 60s}),
              "heartbeat.ttl is 60000 ms, least is three intervals, 90000 ms");
}

TEST(HeartbeatConfig, TheIntervalIsBoundedOnBothSides) {
    EXPECT_EQ(refusal({.interval = 100ms}), "");
    EXPECT_EQ(refusal({.interval = 99ms}), "heartbeat.interval is 99 ms, least is 100 ms");
    EXPECT_EQ(refusal({.interval = -1s}), "heartbeat.interval is -1000 ms, least is 100 ms");
    EXPECT_EQ(refusal({.interval = 1h, .ttl = 3h}), "");
    EXPECT_EQ(refusal({.interval = 1h + 1ms, .ttl = 4h}),
              "heartbeat.interval is 3600001 ms, most is 3600000 ms");
}

TEST(HeartbeatConfig, TheGraceIsBoundedOnBothSides) {
    EXPECT_EQ(refusal({.grace = 0ms}), "");
    EXPECT_EQ(refusal({.grace = -1ms}), "heartbeat.grace is -1 ms, least is 0 ms");
    EXPECT_EQ(refusal({.grace = 1h}), "");
    EXPECT_EQ(refusal({.grace = 1h + 1ms}), "heartbeat.grace is 3600001 ms, most is 3600000 ms");
}

TEST(HeartbeatConfig, ARefusalIsTheCallersMistake) {
    const Result<bool> result = HeartbeatConfig{.ttl = 1s}.validate();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::bad_request);
}

}  // namespace
}  // namespace presence
