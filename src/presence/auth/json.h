#pragma once

#include <simdjson.h>

#include <memory>
#include <string>

namespace presence::auth {

/// Parses JSON of foreign origin with a bound on its depth. One object a thread; what it gave is
/// valid until its next parse.
class JsonReader {
public:
    /// @param text  Room for simdjson to read beyond its end is added, hence not const.
    /// @return Whether `text` is one JSON object; it is then in `object`.
    [[nodiscard]] bool parse_object(std::string& text, simdjson::dom::object& object);

private:
    std::unique_ptr<simdjson::dom::parser> parser_;
};

}  // namespace presence::auth
