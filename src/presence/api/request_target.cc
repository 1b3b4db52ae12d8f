#include "presence/api/request_target.h"

#include <algorithm>

namespace presence::api {

namespace {

constexpr int kNoDigit = -1;

int digit_of(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return kNoDigit;
}

enum class Plus { itself, space };

std::optional<std::string> decode(std::string_view text, Plus plus) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            if (i + 2 >= text.size()) {
                return std::nullopt;
            }
            const int high = digit_of(text[i + 1]);
            const int low = digit_of(text[i + 2]);
            if (high == kNoDigit || low == kNoDigit) {
                return std::nullopt;
            }
            decoded.push_back(static_cast<char>(high * 16 + low));
            i += 2;
        } else {
            decoded.push_back(text[i] == '+' && plus == Plus::space ? ' ' : text[i]);
        }
    }
    return decoded;
}

struct Parameter {
    std::string_view name;
    std::string_view value;
};

/// Takes the first parameter off `query`.
Parameter next_parameter(std::string_view& query) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
        return {one, {}};
    }
    return {one.substr(0, equals), one.substr(equals + 1)};
}

}  // namespace

std::vector<std::string_view> split_path(std::string_view path) {
    std::vector<std::string_view> pieces;
    while (path.starts_with('/')) {
        path.remove_prefix(1);
        const std::size_t end = std::min(path.find('/'), path.size());
        pieces.push_back(path.substr(0, end));
        path.remove_prefix(end);
    }
    return path.empty() ? pieces : std::vector<std::string_view>{};
}

std::optional<std::string> decode_segment(std::string_view segment) {
    return decode(segment, Plus::itself);
}

Result<std::optional<std::string>> query_value(std::string_view query, std::string_view name) {
    std::optional<std::string> found;
    while (!query.empty()) {
        const Parameter parameter = next_parameter(query);
        if (decode(parameter.name, Plus::space) != name) {
            continue;
        }
        std::optional<std::string> value = decode(parameter.value, Plus::space);
        if (found || !value) {
            return Error{ErrorCode::bad_request,
                         std::string(name) + (value ? " is given twice" : " is badly encoded"), 0,
                         0};
        }
        found = std::move(value);
    }
    return found;
}

bool has_parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        if (decode(next_parameter(query).name, Plus::space) == name) {
            return true;
        }
    }
    return false;
}

}  // namespace presence::api
