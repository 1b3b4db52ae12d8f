#include "presence/base/repeat_limit.h"

#include <utility>

namespace presence::log {

bool RepeatLimit::admit(std::string_view event, std::size_t most, MonoTime now) {
    auto found = seconds_.find(event);
    if (found == seconds_.end()) {
        if (seconds_.size() >= kMostEvents) {
            return true;
        }
        found = seconds_.emplace(std::string(event), Second{now}).first;
    }
    Second& second = found->second;
    if (now - second.began >= kSecond) {
        if (second.left_out > 0) {
            over_.push_back({found->first, second.left_out});
        }
        second = {now};
    }
    if (second.written < most) {
        ++second.written;
        return true;
    }
    ++second.left_out;
    ++left_out_;
    return false;
}

std::vector<RepeatLimit::LeftOut> RepeatLimit::take(MonoTime now) {
    std::vector<LeftOut> all = std::exchange(over_, {});
    for (auto& [event, second] : seconds_) {
        if (second.left_out > 0 && now - second.began >= kSecond) {
            all.push_back({event, std::exchange(second.left_out, 0)});
        }
    }
    for (const LeftOut& one : all) {
        left_out_ -= one.count;
    }
    return all;
}

}  // namespace presence::log
