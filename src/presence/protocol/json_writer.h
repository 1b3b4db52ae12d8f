#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace presence::protocol {

/// Adds `text` as a JSON string: UTF-8 as it is, escapes only where JSON demands them.
void append_json_string(std::string& out, std::string_view text);
void append_integer(std::string& out, std::int64_t value);

/// Writes one JSON object, member by member in the order of the calls, without white space. Names
/// are words of the protocol and need no escapes.
class ObjectWriter {
public:
    /// Opens the object. `out` outlives this.
    explicit ObjectWriter(std::string& out) : out_(out) { out_.push_back('{'); }

    /// Adds the name alone; the value is written into out() by the caller.
    ObjectWriter& name(std::string_view name);
    ObjectWriter& text(std::string_view name, std::string_view value);
    ObjectWriter& integer(std::string_view name, std::int64_t value);
    ObjectWriter& boolean(std::string_view name, bool value);
    /// @param json  One whole JSON value.
    ObjectWriter& raw(std::string_view name, std::string_view json);
    void close() { out_.push_back('}'); }

    [[nodiscard]] std::string& out() noexcept { return out_; }

private:
    std::string& out_;
    bool first_ = true;
};

}  // namespace presence::protocol
