#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::postgres {

/// The values of a statement, from $1 on, in PostgreSQL's binary format: nothing is quoted, no
/// text is cut at a zero, and no setting of the server (time zone, style of dates) plays a part.
class Parameters {
public:
    Parameters& text(std::string_view value);
    Parameters& null_text();
    Parameters& integer(std::int64_t value);
    Parameters& maybe(std::optional<std::int64_t> value);
    Parameters& time(std::optional<WallTime> value);
    Parameters& bytes(std::string_view value);
    Parameters& texts(std::span<const std::string_view> values);
    Parameters& users(std::span<const UserId> users);
    Parameters& integers(std::span<const std::optional<std::int64_t>> values);

    // As libpq takes them; until the next change.
    [[nodiscard]] int count() const { return static_cast<int>(types_.size()); }
    [[nodiscard]] const std::vector<unsigned>& types() const { return types_; }
    [[nodiscard]] std::vector<const char*> values() const;
    [[nodiscard]] std::vector<int> lengths() const;

private:
    void add(unsigned type, std::optional<std::string> value);

    std::vector<unsigned> types_;
    std::vector<std::optional<std::string>> values_;
};

/// A text[] as the server sent it, in the binary format.
/// @return Empty where the bytes are no array of one dimension without nulls.
[[nodiscard]] std::vector<std::string_view> read_texts(std::string_view bytes);

[[nodiscard]] std::int64_t read_integer(std::string_view bytes);

}  // namespace presence::postgres
