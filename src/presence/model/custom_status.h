#pragma once

#include "presence/base/time.h"

#include <memory>
#include <optional>
#include <string>

namespace presence {

/// Words and an emoji that a person shows beside the status, with an end if they gave one.
struct CustomStatus {
    std::string text;   ///< Empty: none. At most 100 code points and 1,024 bytes.
    std::string emoji;  ///< Empty: none. At most 16 code points and 64 bytes.
    std::optional<WallTime> expires_at;

    friend bool operator==(const CustomStatus&, const CustomStatus&) = default;
};

/// Null: none. Shared, as most users have none and records are copied at each change.
using CustomStatusRef = std::shared_ptr<const CustomStatus>;

[[nodiscard]] inline bool same(const CustomStatusRef& a, const CustomStatusRef& b) {
    return a == b || (a && b && *a == *b);
}

/// `custom` while it lasts, else null.
[[nodiscard]] inline CustomStatusRef unless_over(const CustomStatusRef& custom, WallTime now) {
    return custom && custom->expires_at && *custom->expires_at <= now ? nullptr : custom;
}

}  // namespace presence
