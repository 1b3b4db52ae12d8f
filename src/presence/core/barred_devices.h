#pragma once

#include "presence/model/presence.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace presence {

/// Devices of one user that are refused at a time; over it those thrown out first are let in again,
/// which is a lesser harm than a record without bound.
inline constexpr std::size_t kMostBarred = 20;

[[nodiscard]] inline bool is_barred(const BarredDevicesRef& barred, const SessionId& session,
                                    WallTime now) {
    return barred && std::ranges::any_of(*barred, [&](const BarredDevice& one) {
               return one.session == session && one.until > now;
           });
}

/// Those of `barred` without `session`, and without those whose time is over.
[[nodiscard]] inline BarredDevicesRef allowing(const BarredDevicesRef& barred,
                                               const SessionId& session, WallTime now) {
    std::vector<BarredDevice> left;
    for (const BarredDevice& one : barred ? *barred : std::vector<BarredDevice>{}) {
        if (one.until > now && !(one.session == session)) {
            left.push_back(one);
        }
    }
    return left.empty() ? nullptr
                        : std::make_shared<const std::vector<BarredDevice>>(std::move(left));
}

[[nodiscard]] inline BarredDevicesRef barring(const BarredDevicesRef& barred, BarredDevice device,
                                              WallTime now) {
    const BarredDevicesRef others = allowing(barred, device.session, now);
    std::vector<BarredDevice> all = others ? *others : std::vector<BarredDevice>{};
    if (all.size() >= kMostBarred) {
        all.erase(all.begin());
    }
    all.push_back(std::move(device));
    return std::make_shared<const std::vector<BarredDevice>>(std::move(all));
}

}  // namespace presence
