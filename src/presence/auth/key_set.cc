#include "presence/auth/key_set.h"

#include "presence/auth/base64url.h"
#include "presence/auth/json.h"
#include "presence/auth/limits.h"
#include "presence/base/log.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace presence::auth {

namespace {

Error refused(std::string message) {
    return Error{.code = ErrorCode::bad_request, .message = std::move(message)};
}

/// A text member, or empty if it is not there or no text.
std::string_view text_of(const simdjson::dom::object& object, std::string_view name) {
    std::string_view text;
    return object[name].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// A member that holds bytes in base64url; empty if it is not there or no base64url.
std::string bytes_of(const simdjson::dom::object& object, std::string_view name) {
    std::string bytes;
    static_cast<void>(decode_base64url(text_of(object, name), bytes));
    return bytes;
}

Result<Key> read_key(const simdjson::dom::object& jwk, bool allow_secrets) {
    const std::string_view kind = text_of(jwk, "kty");
    const std::string_view use = text_of(jwk, "use");
    const std::string_view algorithm = text_of(jwk, "alg");
    std::string id(text_of(jwk, "kid"));
    if (!use.empty() && use != "sig") {
        return refused("is not for signatures");
    }
    const auto is_for = [&](std::string_view name) {
        return algorithm.empty() || algorithm == name;
    };
    if (kind == "RSA" && is_for("RS256")) {
        return Key::from_rsa(bytes_of(jwk, "n"), bytes_of(jwk, "e"), std::move(id));
    }
    if (kind == "EC" && text_of(jwk, "crv") == "P-256" && is_for("ES256")) {
        return Key::from_p256(bytes_of(jwk, "x"), bytes_of(jwk, "y"), std::move(id));
    }
    if (kind == "OKP" && text_of(jwk, "crv") == "Ed25519" && is_for("EdDSA")) {
        return Key::from_ed25519(bytes_of(jwk, "x"), std::move(id));
    }
    if (kind == "oct" && is_for("HS256")) {
        const std::string secret = bytes_of(jwk, "k");
        if (!allow_secrets || secret.empty()) {
            return refused(allow_secrets ? "is an empty secret"
                                         : "is a shared secret, which only a file may hold");
        }
        return Key::from_secret(secret, std::move(id));
    }
    return refused("is of a kind that is not understood");
}

}  // namespace

bool KeySet::names(std::string_view id) const noexcept {
    return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return key.id() == id; });
}

KeySet::Answer KeySet::check(Algorithm algorithm, std::string_view id, std::string_view signed_text,
                             std::string_view signature) const {
    std::size_t tried = 0;
    for (const Key& key : keys_) {
        const bool fits = id.empty() || key.id().empty() || key.id() == id;
        if (key.algorithm() != algorithm || !fits) {
            continue;
        }
        if (++tried > kMaxKeysTried) {
            break;
        }
        if (key.verifies(signed_text, signature)) {
            return Answer::good;
        }
    }
    return tried == 0 ? Answer::no_key : Answer::bad;
}

Result<KeySet> parse_key_set(std::string_view json, bool allow_secrets) {
    JsonReader reader;
    std::string text(json);
    simdjson::dom::object root;
    simdjson::dom::array members;
    if (json.size() > kMaxKeySetBytes) {
        return refused("is longer than 1 MiB");
    }
    if (!reader.parse_object(text, root) || root["keys"].get(members) != simdjson::SUCCESS) {
        return refused("is no JSON Web Key Set");
    }
    KeySet keys;
    std::size_t position = 0;
    for (const simdjson::dom::element member : members) {
        simdjson::dom::object jwk;
        if (keys.size() == kMaxKeys) {
            log::warning("key_set_too_long", "keys beyond the first {} are ignored", kMaxKeys);
            break;
        }
        auto key = member.get(jwk) == simdjson::SUCCESS ? read_key(jwk, allow_secrets)
                                                        : Result<Key>(refused("is no object"));
        if (key) {
            keys.add(*std::move(key));
        } else {
            log::warning("key_ignored", "key {} of the set {}", position, key.error().message);
        }
        ++position;
    }
    return keys;
}

Result<KeySet> read_key_file(const std::string& path, bool is_key_set) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) {
        return refused(path + " cannot be read");
    }
    if (is_key_set) {
        auto keys = parse_key_set(text, true);
        if (!keys) {
            return refused(path + " " + keys.error().message);
        }
        return keys;
    }
    auto keys = Key::from_pem(text);
    if (!keys) {
        return refused(path + " " + keys.error().message);
    }
    return KeySet(*std::move(keys));
}

}  // namespace presence::auth
