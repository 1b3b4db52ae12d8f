#include "presence/api/request_target.h"

#include <boost/unordered/unordered_flat_set.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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

Error refusal(std::string_view name, std::string_view what) {
    return {ErrorCode::bad_request, fmt::format("{} {}", name, what), 0, 0};
}

/// As it stands in the query.
Result<std::optional<std::string_view>> raw_value(std::string_view query, std::string_view name) {
    std::optional<std::string_view> found;
    while (!query.empty()) {
        const Parameter parameter = next_parameter(query);
        if (decode(parameter.name, Plus::space) != name) {
            continue;
        }
        if (found) {
            return refusal(name, "is given twice");
        }
        found = parameter.value;
    }
    return found;
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
    const Result<std::optional<std::string_view>> raw = raw_value(query, name);
    if (!raw) {
        return raw.error();
    }
    if (!*raw) {
        return std::optional<std::string>();
    }
    std::optional<std::string> value = decode(**raw, Plus::space);
    if (!value) {
        return refusal(name, "is badly encoded");
    }
    return value;
}

Result<std::vector<UserId>> query_users(std::string_view query, std::string_view name,
                                        std::size_t most) {
    const Result<std::optional<std::string_view>> raw = raw_value(query, name);
    if (!raw) {
        return raw.error();
    }
    if (!*raw) {
        return refusal(name, "is needed");
    }
    const auto given = static_cast<std::size_t>(std::ranges::count(**raw, ',')) + 1;
    if (given > most) {
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("{} holds {} entries, most is {}", name, given, most), 0,
                     static_cast<std::int64_t>(most)};
    }
    std::vector<UserId> users;
    boost::unordered_flat_set<std::string> seen;
    std::size_t index = 0;
    for (std::string_view rest = **raw;; ++index) {
        const std::string_view piece = rest.substr(0, rest.find(','));
        std::optional<std::string> id = decode(piece, Plus::space);
        const char* const fault = id ? check_id(*id) : "is badly encoded";
        if (fault != nullptr) {
            return refusal(fmt::format("{}[{}]", name, index), fault);
        }
        if (seen.insert(*id).second) {
            users.emplace_back(std::move(*id));
        }
        if (piece.size() == rest.size()) {
            return users;
        }
        rest.remove_prefix(piece.size() + 1);
    }
}

Result<std::optional<std::int64_t>> query_integer(std::string_view query, std::string_view name,
                                                  std::int64_t least, std::int64_t most) {
    const Result<std::optional<std::string>> text = query_value(query, name);
    if (!text) {
        return text.error();
    }
    if (!*text) {
        return std::optional<std::int64_t>();
    }
    std::int64_t value = 0;
    const char* const last = (*text)->data() + (*text)->size();
    const auto [end, error] = std::from_chars((*text)->data(), last, value);
    if (error != std::errc{} || end != last || value < least || value > most) {
        return refusal(name, fmt::format("must be a whole number from {} to {}", least, most));
    }
    return std::optional(value);
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
