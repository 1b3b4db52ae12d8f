#pragma once

#include "presence/base/time.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace presence::log {

/// Which of many alike records are written: a storm of one event must neither fill the disk nor
/// hide the others. Of each event so many in a second; how many were left out is said once, when
/// that second is over. Not for several threads at once.
class RepeatLimit {
public:
    /// Whether one more record of `event` is written.
    /// @param most  Of that event, in the second that began with its first record.
    [[nodiscard]] bool admit(std::string_view event, std::size_t most, MonoTime now);

    struct LeftOut {
        std::string event;
        std::uint64_t count = 0;
    };
    /// What was left out in seconds that are over, each once.
    [[nodiscard]] std::vector<LeftOut> take(MonoTime now);
    /// Whether take() may have something to say, now or later.
    [[nodiscard]] bool holds_any() const noexcept { return left_out_ > 0; }

private:
    /// Events are words of the program, some hundred; beyond that something is wrong, and they go
    /// through as they come.
    static constexpr std::size_t kMostEvents = 1'000;
    static constexpr Millis kSecond{1'000};

    struct Second {
        MonoTime began;
        std::size_t written = 0;
        std::uint64_t left_out = 0;
    };
    std::map<std::string, Second, std::less<>> seconds_;
    std::vector<LeftOut> over_;   ///< Of seconds that ended with a new one of the same event.
    std::uint64_t left_out_ = 0;  ///< That were not told of yet.
};

}  // namespace presence::log
