#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/model/presence.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace presence {

/// Whom a rule admits, besides the user. PROTOCOL.md section 4.
enum class Audience : std::uint8_t { everyone, contacts, contacts_except, only, nobody };

[[nodiscard]] constexpr std::string_view wire_name(Audience audience) noexcept {
    switch (audience) {
        case Audience::everyone:
            return "everyone";
        case Audience::contacts:
            return "contacts";
        case Audience::contacts_except:
            return "contactsExcept";
        case Audience::only:
            return "only";
        case Audience::nobody:
            return "nobody";
    }
    return "nobody";
}

/// User ids, sorted and without doubles, so that membership is a binary search.
class UserSet {
public:
    UserSet() = default;
    explicit UserSet(std::vector<UserId> users) : users_(std::move(users)) {
        std::sort(users_.begin(), users_.end());
        users_.erase(std::unique(users_.begin(), users_.end()), users_.end());
    }
    [[nodiscard]] bool contains(const UserId& user) const {
        return std::binary_search(users_.begin(), users_.end(), user);
    }
    [[nodiscard]] const std::vector<UserId>& users() const noexcept { return users_; }
    [[nodiscard]] bool empty() const noexcept { return users_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return users_.size(); }
    friend bool operator==(const UserSet&, const UserSet&) = default;

private:
    std::vector<UserId> users_;
};

struct PrivacyRule {
    Audience audience = Audience::nobody;
    UserSet users;  ///< For `contacts_except` and `only`.
    friend bool operator==(const PrivacyRule&, const PrivacyRule&) = default;
};

/// A rule that was never set is empty: the configured default is in force.
struct PrivacySettings {
    std::optional<PrivacyRule> online;
    std::optional<PrivacyRule> last_seen;
    friend bool operator==(const PrivacySettings&, const PrivacySettings&) = default;
};

/// All that is durable about one user.
struct Profile : Counted<Profile> {
    DeclaredState declared;
    PrivacySettings privacy;
    UserSet contacts;
    UserSet blocks;
    std::optional<WallTime> last_seen;
    Version own_version;  ///< Those told last when the user went offline.
    Version shown_version;
    std::optional<WallTime> revoked_before;  ///< Tokens issued before that are refused.
    std::uint64_t revision = 0;  ///< Grows with each change of privacy, contacts or blocks.
};

/// Null: nothing is stored, the defaults are in force.
using ProfileRef = Ref<const Profile>;

}  // namespace presence
