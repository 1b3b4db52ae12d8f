#include "presence/protocol/json_writer.h"

#include <array>
#include <charconv>

namespace presence::protocol {

namespace {

void append_escape(std::string& out, char c) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    switch (c) {
        case '"':
            out.append("\\\"");
            return;
        case '\\':
            out.append("\\\\");
            return;
        case '\b':
            out.append("\\b");
            return;
        case '\f':
            out.append("\\f");
            return;
        case '\n':
            out.append("\\n");
            return;
        case '\r':
            out.append("\\r");
            return;
        case '\t':
            out.append("\\t");
            return;
        default:
            out.append("\\u00");
            out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
            out.push_back(kHex[static_cast<unsigned char>(c) & 0xF]);
    }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            out.append(text, plain, i - plain);
            append_escape(out, text[i]);
            plain = i + 1;
        }
    }
    out.append(text, plain);
    out.push_back('"');
}

void append_integer(std::string& out, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    static_cast<void>(error);  // 24 characters hold any 64-bit integer.
    out.append(digits.data(), end);
}

ObjectWriter& ObjectWriter::name(std::string_view name) {
    out_.append(first_ ? "\"" : ",\"").append(name).append("\":");
    first_ = false;
    return *this;
}

ObjectWriter& ObjectWriter::text(std::string_view member, std::string_view value) {
    name(member);
    append_json_string(out_, value);
    return *this;
}

ObjectWriter& ObjectWriter::integer(std::string_view member, std::int64_t value) {
    name(member);
    append_integer(out_, value);
    return *this;
}

ObjectWriter& ObjectWriter::boolean(std::string_view member, bool value) {
    return raw(member, value ? "true" : "false");
}

ObjectWriter& ObjectWriter::raw(std::string_view member, std::string_view json) {
    name(member);
    out_.append(json);
    return *this;
}

}  // namespace presence::protocol
