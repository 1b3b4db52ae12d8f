#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace presence::app {

/// `30s`, `1500ms`, `10m`, `1h`, `2d`; a bare number is refused, as nobody can tell its unit.
[[nodiscard]] Result<Millis> parse_duration(std::string_view text);
[[nodiscard]] std::string show_duration(Millis duration);

[[nodiscard]] Result<std::uint64_t> parse_number(std::string_view text);
[[nodiscard]] Result<double> parse_real(std::string_view text);
[[nodiscard]] Result<bool> parse_flag(std::string_view text);

/// Whether `url` is meant to name a PostgreSQL; whether it names one well is another question.
[[nodiscard]] inline bool is_postgres(std::string_view url) {
    return url.starts_with("postgres");
}

/// The text itself, or the first line of the file that `file:PATH` names.
[[nodiscard]] Result<std::string> read_secret(std::string_view text);

}  // namespace presence::app
