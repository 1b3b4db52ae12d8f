#include "presence/auth/mint_token.h"

#include "presence/auth/base64url.h"
#include "presence/auth/key.h"

#include <fmt/format.h>

namespace presence::auth {

namespace {

/// A user id as a JSON string. It holds no control characters, and is valid UTF-8: check_id.
std::string json_string(std::string_view id) {
    std::string json = "\"";
    for (const char c : id) {
        if (c == '"' || c == '\\') {
            json += '\\';
        }
        json += c;
    }
    return json + "\"";
}

}  // namespace

Result<std::string> mint_token(const UserId& user, Millis ttl, std::string_view secret,
                               WallTime now) {
    const auto refused = [](std::string message) {
        return Error{.code = ErrorCode::bad_request, .message = std::move(message)};
    };
    if (const char* wrong = check_id(user.text)) {
        return refused(fmt::format("the user id {}", wrong));
    }
    if (ttl < Millis{1'000}) {
        return refused("the ttl is under 1 s");
    }
    if (secret.empty()) {
        return refused("there is no secret to sign with");
    }
    const std::int64_t issued = now.ms() / 1000;
    const std::string payload =
        fmt::format(R"({{"sub":{},"iat":{}.{:03},"exp":{}}})", json_string(user.text), issued,
                    now.ms() % 1000, (now + ttl).ms() / 1000);
    std::string token = encode_base64url(R"({"alg":"HS256","typ":"JWT"})");
    token += '.';
    token += encode_base64url(payload);
    const std::string signature = encode_base64url(hmac_sha256(secret, token));
    return token + "." + signature;
}

}  // namespace presence::auth
