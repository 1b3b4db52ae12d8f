#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <string>

namespace presence {

/// Devices that live by HTTP and were thrown out by a back end: their next heartbeats are refused
/// for a while, as there is no connection on which they could be told to stop. One thread.
class RefusedDevices {
public:
    /// At that many those that are over are forgotten, and if that is not enough all: a device that
    /// is then let in again is a lesser harm than memory without bound.
    static constexpr std::size_t kMost = 10'000;

    void refuse(const UserId& user, const SessionId& device, MonoTime until, MonoTime now) {
        if (until_.size() >= kMost) {
            erase_if(until_, [now](const auto& entry) { return entry.second <= now; });
            if (until_.size() >= kMost) {
                until_.clear();
            }
        }
        until_[key_of(user, device)] = until;
    }

    [[nodiscard]] bool holds(const UserId& user, const SessionId& device, MonoTime now) {
        if (until_.empty()) {
            return false;
        }
        const auto found = until_.find(key_of(user, device));
        if (found == until_.end()) {
            return false;
        }
        if (found->second > now) {
            return true;
        }
        until_.erase(found);
        return false;
    }

    /// It has understood.
    void forget(const UserId& user, const SessionId& device) { until_.erase(key_of(user, device)); }

    [[nodiscard]] std::size_t size() const noexcept { return until_.size(); }

private:
    /// Ids hold no zero character.
    static std::string key_of(const UserId& user, const SessionId& device) {
        return user.text + '\0' + device.text;
    }

    boost::unordered_flat_map<std::string, MonoTime> until_;
};

}  // namespace presence
