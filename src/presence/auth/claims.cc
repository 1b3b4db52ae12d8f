#include "presence/auth/claims.h"

#include "presence/auth/base64url.h"
#include "presence/auth/json.h"
#include "presence/auth/limits.h"

#include <algorithm>
#include <cmath>

namespace presence::auth {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

/// The last moment that counts as one, the end of the year 9999: what lies beyond is a mistake of
/// units or an attack on arithmetic.
constexpr std::int64_t kLastSecond = 253'402'300'799;

JsonReader& reader() {
    thread_local JsonReader instance;
    return instance;
}

/// Seconds since the epoch, whole ones.
bool read_seconds(const element& value, std::optional<WallTime>& time) {
    std::int64_t seconds = 0;
    if (value.type() != simdjson::dom::element_type::INT64 ||
        value.get(seconds) != simdjson::SUCCESS || seconds < 0 || seconds > kLastSecond) {
        return false;
    }
    time = WallTime::from_ms(seconds * 1000);
    return true;
}

/// The same, where issuers write fractions; kept to the millisecond.
bool read_fine_seconds(const element& value, std::optional<WallTime>& time) {
    double seconds = 0;
    if (value.type() != simdjson::dom::element_type::DOUBLE) {
        return read_seconds(value, time);
    }
    if (value.get(seconds) != simdjson::SUCCESS ||
        !(seconds >= 0 && seconds <= static_cast<double>(kLastSecond))) {
        return false;
    }
    time = WallTime::from_ms(static_cast<std::int64_t>(std::floor(seconds * 1000)));
    return true;
}

/// The same, cut to the second.
bool read_whole_seconds(const element& value, std::optional<WallTime>& time) {
    if (!read_fine_seconds(value, time)) {
        return false;
    }
    time = WallTime::from_ms(time->ms() - time->ms() % 1000);
    return true;
}

bool read_room_patterns(const element& value, TokenRights& rights) {
    simdjson::dom::array patterns;
    if (value.get(patterns) != simdjson::SUCCESS || patterns.size() > kMaxRoomPatterns) {
        return false;
    }
    rights.rooms.emplace();
    for (const element pattern : patterns) {
        std::string_view text;
        if (pattern.get(text) != simdjson::SUCCESS || text.empty() ||
            text.size() > kMaxRoomPatternBytes) {
            return false;
        }
        rights.rooms->emplace_back(text);
    }
    return true;
}

/// A right can only be taken away, also by one of two members of the same name.
bool narrow(const element& value, bool& right) {
    bool given = false;
    if (value.get(given) != simdjson::SUCCESS) {
        return false;
    }
    right = right && given;
    return true;
}

/// The claim `presence`. What it does not name is not narrowed; what it names in a wrong way
/// refuses the token, as it would otherwise widen what the issuer meant to narrow.
bool read_rights(const element& value, TokenRights& rights) {
    object members;
    if (value.get(members) != simdjson::SUCCESS) {
        return false;
    }
    for (const auto& [name, member] : members) {
        bool good = true;
        if (name == "rooms") {
            good = !rights.rooms && read_room_patterns(member, rights);
        } else if (name == "watch") {
            good = narrow(member, rights.watch);
        } else if (name == "status") {
            good = narrow(member, rights.status);
        } else if (name == "privacy") {
            good = narrow(member, rights.privacy);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

/// `aud` is one text or a list of texts.
bool read_audiences(const element& value, std::vector<std::string_view>& audiences) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
        audiences.push_back(text);
        return true;
    }
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) {
        return false;
    }
    for (const element member : list) {
        if (member.get(text) != simdjson::SUCCESS) {
            return false;
        }
        audiences.push_back(text);
    }
    return true;
}

/// The claims as they stand in the payload, each of its right type.
struct RawClaims {
    std::optional<std::string_view> subject;
    std::optional<std::string_view> issuer;
    std::vector<std::string_view> audiences;
    std::optional<WallTime> expires_at;
    std::optional<WallTime> not_before;
    std::optional<WallTime> issued_at;
    TokenRights rights;
};

bool read_text(const element& value, std::optional<std::string_view>& text) {
    std::string_view read;
    if (value.get(read) != simdjson::SUCCESS) {
        return false;
    }
    text = read;
    return true;
}

/// Members of a name known here may be given once: readers differ in which of two they take.
bool read_members(const object& payload, RawClaims& claims) {
    constexpr std::array<std::string_view, 7> kNames{"sub", "iss", "aud",     "exp",
                                                     "nbf", "iat", "presence"};
    std::array<bool, kNames.size()> seen{};
    for (const auto& [name, value] : payload) {
        const auto* const known = std::find(kNames.begin(), kNames.end(), name);
        if (known == kNames.end()) {
            continue;
        }
        const auto index = static_cast<std::size_t>(known - kNames.begin());
        if (std::exchange(seen[index], true)) {
            return false;
        }
        const bool good = name == "sub"   ? read_text(value, claims.subject)
                          : name == "iss" ? read_text(value, claims.issuer)
                          : name == "aud" ? read_audiences(value, claims.audiences)
                          : name == "exp" ? read_whole_seconds(value, claims.expires_at)
                          : name == "nbf" ? read_fine_seconds(value, claims.not_before)
                          : name == "iat" ? read_fine_seconds(value, claims.issued_at)
                                          : read_rights(value, claims.rights);
        if (!good) {
            return false;
        }
    }
    return true;
}

Refusal check_times(const RawClaims& claims, const AuthConfig& config, WallTime now) {
    if (!claims.expires_at && config.require_expiry) {
        return Refusal::expiry_missing;
    }
    // `exp` is in whole seconds, so the second in which the leeway ends still counts.
    const WallTime this_second = WallTime::from_ms(now.ms() - now.ms() % 1000);
    if (claims.expires_at && this_second > *claims.expires_at + config.leeway) {
        return Refusal::expired;
    }
    if (claims.expires_at && claims.not_before && *claims.not_before > *claims.expires_at) {
        return Refusal::expired;
    }
    const WallTime latest = now + config.leeway;
    if ((claims.not_before && *claims.not_before > latest) ||
        (claims.issued_at && *claims.issued_at > latest)) {
        return Refusal::not_yet;
    }
    return Refusal::none;
}

Refusal check_origin(const RawClaims& claims, const AuthConfig& config) {
    if (!config.issuer.empty() && claims.issuer != config.issuer) {
        return Refusal::issuer;
    }
    const auto is_ours = [&](std::string_view audience) {
        return std::find(config.audiences.begin(), config.audiences.end(), audience) !=
               config.audiences.end();
    };
    if (!config.audiences.empty() &&
        std::none_of(claims.audiences.begin(), claims.audiences.end(), is_ours)) {
        return Refusal::audience;
    }
    return Refusal::none;
}

/// Reads `alg` and `kid`. A header with `crit` demands something that is not understood here.
Refusal read_header(std::string& json, TokenParts& parts) {
    object header;
    if (!reader().parse_object(json, header)) {
        return Refusal::malformed;
    }
    std::optional<std::string_view> algorithm;
    std::optional<std::string_view> key_id;
    for (const auto& [name, value] : header) {
        if (name == "crit") {
            return Refusal::algorithm;
        }
        const bool is_first = name == "alg" ? !algorithm : name == "kid" ? !key_id : true;
        const bool good = name == "alg"   ? read_text(value, algorithm)
                          : name == "kid" ? read_text(value, key_id)
                                          : true;
        if (!is_first || !good) {
            return Refusal::malformed;
        }
    }
    if (algorithm == "HS256") {
        parts.algorithm = Algorithm::hs256;
    } else if (algorithm == "RS256") {
        parts.algorithm = Algorithm::rs256;
    } else if (algorithm == "ES256") {
        parts.algorithm = Algorithm::es256;
    } else if (algorithm == "EdDSA") {
        parts.algorithm = Algorithm::eddsa;
    } else {
        return Refusal::algorithm;
    }
    parts.key_id = key_id.value_or("");
    return Refusal::none;
}

}  // namespace

std::string_view name_of(Refusal refusal) noexcept {
    constexpr std::array<std::string_view, kRefusalCount> kNames{
        "none",    "malformed",      "algorithm", "unknown_key", "signature", "claim_type",
        "subject", "expiry_missing", "expired",   "not_yet",     "issuer",    "audience"};
    return kNames[static_cast<std::size_t>(refusal)];
}

Refusal split_token(std::string_view token, TokenParts& parts) {
    const std::size_t first = token.find('.');
    const std::size_t second = token.find('.', first + 1);
    if (token.size() > kMaxTokenBytes || first == std::string_view::npos ||
        second == std::string_view::npos) {
        return Refusal::malformed;
    }
    parts.signed_text = token.substr(0, second);
    std::string header;
    if (!decode_base64url(token.substr(0, first), header) ||
        !decode_base64url(token.substr(first + 1, second - first - 1), parts.payload) ||
        !decode_base64url(token.substr(second + 1), parts.signature)) {
        return Refusal::malformed;
    }
    return read_header(header, parts);
}

Refusal read_claims(std::string& payload, const AuthConfig& config, WallTime now,
                    TokenClaims& claims) {
    object members;
    RawClaims raw;
    if (!reader().parse_object(payload, members)) {
        return Refusal::malformed;
    }
    if (!read_members(members, raw)) {
        return Refusal::claim_type;
    }
    if (!raw.subject || check_id(*raw.subject) != nullptr) {
        return Refusal::subject;
    }
    if (const Refusal refusal = check_times(raw, config, now); refusal != Refusal::none) {
        return refusal;
    }
    if (const Refusal refusal = check_origin(raw, config); refusal != Refusal::none) {
        return refusal;
    }
    claims.user = UserId(*raw.subject);
    claims.expires_at = raw.expires_at;
    claims.issued_at = raw.issued_at;
    claims.rights = std::move(raw.rights);
    return Refusal::none;
}

}  // namespace presence::auth
