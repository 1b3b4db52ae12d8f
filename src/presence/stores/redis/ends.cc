#include "presence/stores/redis/ends.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace presence::redis {

namespace {

std::uint64_t next_number(std::string_view& rest) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    rest.remove_prefix(rest.starts_with(' ') ? 1 : 0);
    return error == std::errc{} ? value : 0;
}

}  // namespace

std::string encode_end(const LastSeenRow& row) {
    return fmt::format("{} {} {} {}", row.last_seen.value_or(WallTime{}).ms(),
                       row.own_version.value, row.shown_version.value, row.written_at.ms());
}

LastSeenRow decode_end(std::string_view user, std::string_view line) {
    LastSeenRow row;
    row.user = UserId(user);
    const auto seen = static_cast<std::int64_t>(next_number(line));
    if (seen > 0) {
        row.last_seen = WallTime::from_ms(seen);
    }
    row.own_version = Version{next_number(line)};
    row.shown_version = Version{next_number(line)};
    row.written_at = WallTime::from_ms(static_cast<std::int64_t>(next_number(line)));
    return row;
}

}  // namespace presence::redis
