#pragma once

#include "presence/base/ids.h"

#include <string>
#include <string_view>

namespace presence {

/// Canaries are users that nodes make up to measure themselves by (core/canaries.h). Their names
/// begin with a character that check_id refuses, so nobody can claim, watch or ask for one; what
/// counts people, remembers them or tells of them leaves canaries out.
inline constexpr char kCanaryMark = '\x01';

[[nodiscard]] inline bool is_canary(const UserId& user) noexcept {
    const std::string_view name(user.text);
    return !name.empty() && name.front() == kCanaryMark;
}

[[nodiscard]] inline UserId canary_named(std::string_view name) {
    return UserId(kCanaryMark + std::string(name));
}

}  // namespace presence
