#include "presence/api/poll_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

namespace presence::api {

namespace {

constexpr std::size_t kDigits = 12;
constexpr HeldMark kMask = (HeldMark{1} << 48U) - 1;
/// Says how marks are made: another release may make others.
constexpr char kForm = '1';

}  // namespace

HeldMark mark_of(const UserId& viewer, const PresenceView& view) {
    // Lengths stand before texts, so that no two views run into the same bytes.
    std::string told = fmt::format(
        "{}:{}:{}:{}:{}:{}:{}:{}", viewer.text.size(), viewer.text, view.user().text.size(),
        view.user().text, wire_name(view.status()), view.version().value,
        view.since() ? view.since()->ms() : -1, view.devices() ? int{view.devices()->bits} : -1);
    told += view.last_seen() ? ":seen" : ":";
    if (const CustomStatusRef& custom = view.custom()) {
        told +=
            fmt::format(":{}:{}:{}:{}:{}", custom->text.size(), custom->text, custom->emoji.size(),
                        custom->emoji, custom->expires_at ? custom->expires_at->ms() : -1);
    }
    if (const auto& declared = view.declared()) {
        told +=
            fmt::format(":declared:{}:{}:{}", wire_name(declared->status), declared->session_scope,
                        declared->expires_at ? declared->expires_at->ms() : -1);
    }
    return std::hash<std::string_view>{}(told)&kMask;
}

PollCursor PollCursor::parse(std::string_view text, std::size_t most) {
    PollCursor cursor;
    if (text.empty() || text.front() != kForm || (text.size() - 1) % kDigits != 0 ||
        (text.size() - 1) / kDigits > most) {
        return cursor;
    }
    for (text.remove_prefix(1); !text.empty(); text.remove_prefix(kDigits)) {
        HeldMark mark = 0;
        const char* const last = text.data() + kDigits;
        const auto [end, error] = std::from_chars(text.data(), last, mark, 16);
        if (error != std::errc{} || end != last) {
            return {};
        }
        cursor.marks_.push_back(mark);
    }
    std::ranges::sort(cursor.marks_);
    return cursor;
}

std::string PollCursor::encode(std::vector<HeldMark> marks) {
    std::ranges::sort(marks);  // In an order that tells nothing.
    std::string text(1, kForm);
    text.reserve(1 + marks.size() * kDigits);
    for (const HeldMark mark : marks) {
        fmt::format_to(std::back_inserter(text), "{:012x}", mark);
    }
    return text;
}

bool PollCursor::holds(HeldMark mark) const {
    return std::ranges::binary_search(marks_, mark);
}

}  // namespace presence::api
