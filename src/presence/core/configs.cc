#include "presence/core/configs.h"

#include <string>

namespace presence {

namespace {

constexpr Millis kLeastInterval{100};
constexpr Millis kMostInterval{3'600'000};
constexpr Millis kMostGrace{3'600'000};

std::string in_ms(Millis duration) {
    return std::to_string(duration.count()) + " ms";
}

Error refused(const char* key, Millis value, const std::string& bound) {
    return {ErrorCode::bad_request, std::string(key) + " is " + in_ms(value) + ", " + bound};
}

}  // namespace

Result<bool> HeartbeatConfig::validate() const {
    if (interval < kLeastInterval) {
        return refused("heartbeat.interval", interval, "least is " + in_ms(kLeastInterval));
    }
    if (interval > kMostInterval) {
        return refused("heartbeat.interval", interval, "most is " + in_ms(kMostInterval));
    }
    if (ttl < 3 * interval) {
        return refused("heartbeat.ttl", ttl, "least is three intervals, " + in_ms(3 * interval));
    }
    if (grace < Millis{0}) {
        return refused("heartbeat.grace", grace, "least is 0 ms");
    }
    if (grace > kMostGrace) {
        return refused("heartbeat.grace", grace, "most is " + in_ms(kMostGrace));
    }
    return true;
}

}  // namespace presence
