#pragma once

#include "presence/base/ref.h"
#include "presence/base/time.h"

#include <optional>
#include <string>
#include <utility>

namespace presence {

/// Words and an emoji that a person shows beside the status, with an end if they gave one.
struct CustomStatus : Counted<CustomStatus> {
    CustomStatus() = default;
    CustomStatus(std::string the_text, std::string the_emoji, std::optional<WallTime> until)
        : text(std::move(the_text)), emoji(std::move(the_emoji)), expires_at(until) {}

    std::string text;   ///< Empty: none. At most 100 code points and 1,024 bytes.
    std::string emoji;  ///< Empty: none. At most 16 code points and 64 bytes.
    std::optional<WallTime> expires_at;

    friend bool operator==(const CustomStatus& a, const CustomStatus& b) {
        return a.text == b.text && a.emoji == b.emoji && a.expires_at == b.expires_at;
    }
};

/// Null: none. Shared, as most users have none and records are copied at each change.
using CustomStatusRef = Ref<const CustomStatus>;

[[nodiscard]] inline bool same(const CustomStatusRef& a, const CustomStatusRef& b) {
    return a == b || (a && b && *a == *b);
}

/// `custom` while it lasts, else null.
[[nodiscard]] inline CustomStatusRef unless_over(const CustomStatusRef& custom, WallTime now) {
    return custom && custom->expires_at && *custom->expires_at <= now ? nullptr : custom;
}

}  // namespace presence
