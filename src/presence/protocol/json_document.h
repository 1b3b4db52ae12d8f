#pragma once

#include "presence/base/result.h"

#include <simdjson.h>

#include <optional>
#include <string_view>

namespace presence::protocol {

/// One JSON text, parsed by the calling thread's parser. At most one is alive on a thread; views
/// and elements that it gave out end with it.
class JsonDocument {
public:
    /// @retval ErrorCode::bad_request  Not JSON, not UTF-8, or nested over 32 levels.
    [[nodiscard]] static Result<JsonDocument> parse(std::string_view text);

    [[nodiscard]] simdjson::dom::element root() const noexcept { return root_; }

    /// The bytes of the value of the `index`th member of the root object, as they were sent.
    /// Nothing where a receiver might read them in another way than this server did, or not at
    /// all: they hold half of a surrogate pair, -0, or a number beyond a double.
    [[nodiscard]] std::optional<std::string_view> sent_value(std::size_t index) const;

private:
    JsonDocument(std::string_view sent, std::string_view parsed, simdjson::dom::element root)
        : sent_(sent), parsed_(parsed), root_(root) {}

    std::string_view sent_;
    std::string_view parsed_;  ///< `sent_`, or its repaired copy, which has the same positions.
    simdjson::dom::element root_;
};

}  // namespace presence::protocol
