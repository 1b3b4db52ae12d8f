#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace presence::sim {

/// Empty: it is not there, or no text.
inline std::string text_of(const simdjson::dom::element& message, const char* field) {
    std::string_view text;
    return message[field].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

/// 0: it is not there, or no number.
inline std::uint64_t number_of(const simdjson::dom::element& message, const char* field) {
    std::uint64_t number = 0;
    return message[field].get(number) == simdjson::SUCCESS ? number : 0;
}

}  // namespace presence::sim
