#include "presence/auth/api_keys.h"

#include "presence/auth/key.h"

#include <optional>

namespace presence::auth {

namespace {

constexpr std::string_view kHashPrefix = "sha256:";

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
        return static_cast<unsigned>(c - 'a' + 10);
    }
    if (c >= 'A' && c <= 'F') {
        return static_cast<unsigned>(c - 'A' + 10);
    }
    return std::nullopt;
}

std::optional<std::string> hash_of_hex(std::string_view hex) {
    std::string hash;
    if (hex.size() != 64) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const auto high = hex_digit(hex[i]);
        const auto low = hex_digit(hex[i + 1]);
        if (!high || !low) {
            return std::nullopt;
        }
        hash += static_cast<char>(*high << 4 | *low);
    }
    return hash;
}

}  // namespace

Result<ApiKeys> ApiKeys::make(const std::vector<std::string>& keys) {
    const auto refused = [](std::string message) {
        return Error{.code = ErrorCode::bad_request, .message = std::move(message)};
    };
    ApiKeys made;
    for (const std::string_view key : keys) {
        if (key.empty()) {
            return refused("auth.api_keys holds an empty key");
        }
        if (!key.starts_with(kHashPrefix)) {
            made.hashes_.push_back(sha256(key));
            continue;
        }
        auto hash = hash_of_hex(key.substr(kHashPrefix.size()));
        if (!hash) {
            return refused("auth.api_keys holds a sha256: that is not 64 hexadecimal digits");
        }
        made.hashes_.push_back(*std::move(hash));
    }
    return made;
}

bool ApiKeys::matches(std::string_view presented) const {
    const std::string hash = sha256(presented);
    bool found = false;
    for (const std::string& known : hashes_) {
        found = equal_in_constant_time(hash, known) || found;
    }
    return found && !presented.empty();
}

}  // namespace presence::auth
