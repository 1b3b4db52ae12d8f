#include "presence/ports/profile_tables.h"

#include "presence/model/words.h"
#include "presence/ports/user_set_change.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace presence {

namespace {

ProfileChange unchanged(ProfileTables& tables, const UserId& user) {
    return {tables.revision(user), false};
}

ProfileChange raised(ProfileTables& tables, const UserId& user) {
    return {tables.raise_revision(user), true};
}

/// Those of `users` that `others` does not hold.
UserSet without(const UserSet& users, const UserSet& others) {
    std::vector<UserId> left;
    std::ranges::copy_if(users.users(), std::back_inserter(left),
                         [&](const UserId& user) { return !others.contains(user); });
    return UserSet(std::move(left));
}

void write_set(ProfileTables& tables, const UserId& owner, NamedKind kind, const UserSet& before,
               const UserSet& after) {
    tables.write_named_users(owner, kind, without(before, after), without(after, before));
}

/// The rules of a user with the users that they name.
PrivacySettings rules_of(ProfileTables& tables, const UserId& user) {
    PrivacySettings privacy = tables.audiences(user);
    if (privacy.online) {
        privacy.online->users = tables.named_users(user, NamedKind::online_rule);
    }
    if (privacy.last_seen) {
        privacy.last_seen->users = tables.named_users(user, NamedKind::last_seen_rule);
    }
    return privacy;
}

void write_rule(ProfileTables& tables, const UserId& user, NamedKind kind,
                const std::optional<PrivacyRule>& before, const PrivacyRule& after) {
    tables.write_audience(user, kind, wire_name(after.audience));
    write_set(tables, user, kind, before ? before->users : UserSet(), after.users);
}

}  // namespace

void NamedUsers::add(std::int64_t kind, UserId user) {
    if (kind >= 1 && kind <= static_cast<std::int64_t>(kNamedKinds)) {
        by_kind_.at(static_cast<std::size_t>(kind - 1)).push_back(std::move(user));
    }
}

void NamedUsers::give_to(Profile& profile) && {
    const auto taken = [this](NamedKind kind) {
        return UserSet(std::move(by_kind_.at(static_cast<std::size_t>(kind) - 1)));
    };
    profile.contacts = taken(NamedKind::contact);
    profile.blocks = taken(NamedKind::block);
    if (profile.privacy.online) {
        profile.privacy.online->users = taken(NamedKind::online_rule);
    }
    if (profile.privacy.last_seen) {
        profile.privacy.last_seen->users = taken(NamedKind::last_seen_rule);
    }
}

ProfileChange save_privacy(ProfileTables& tables, const UserId& user,
                           const PrivacySettings& settings) {
    const PrivacySettings before = rules_of(tables, user);
    const bool online = settings.online && settings.online != before.online;
    const bool last_seen = settings.last_seen && settings.last_seen != before.last_seen;
    if (!online && !last_seen) {
        return unchanged(tables, user);
    }
    const ProfileChange change = raised(tables, user);
    if (online) {
        write_rule(tables, user, NamedKind::online_rule, before.online, *settings.online);
    }
    if (last_seen) {
        write_rule(tables, user, NamedKind::last_seen_rule, before.last_seen, *settings.last_seen);
    }
    return change;
}

Result<ProfileChange> change_set(ProfileTables& tables, const UserId& user, NamedKind kind,
                                 const UserSetChange& change, std::size_t limit) {
    const UserSet before = tables.named_users(user, kind);
    const UserSet after = changed_by(before, change);
    if (!within_limit(before, after, limit)) {
        return set_too_large(limit);
    }
    if (before == after) {
        return unchanged(tables, user);
    }
    const ProfileChange changed = raised(tables, user);
    write_set(tables, user, kind, before, after);
    return changed;
}

ProfileChange revoke(ProfileTables& tables, const UserId& user, WallTime before) {
    if (tables.revoked_before(user) >= before) {
        return unchanged(tables, user);
    }
    const ProfileChange change = raised(tables, user);
    tables.write_revoked_before(user, before);
    return change;
}

}  // namespace presence
