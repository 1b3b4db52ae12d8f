#include "presence/stores/memory/memory_profiles.h"

#include "presence/ports/user_set_change.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace presence {

namespace {

Ref<Profile> copy_of(const ProfileRef& profile) {
    return profile ? make_ref<Profile>(*profile) : make_ref<Profile>();
}

/// Takes `user` out of `set`; false if it was not in it.
bool take_out(UserSet& set, const UserId& user) {
    if (!set.contains(user)) {
        return false;
    }
    UserSetChange change;
    change.remove = UserSet({user});
    set = changed_by(set, change);
    return true;
}

bool take_out(std::optional<PrivacyRule>& rule, const UserId& user) {
    return rule && take_out(rule->users, user);
}

bool names(const std::optional<PrivacyRule>& rule, const UserId& user) {
    return rule && rule->users.contains(user);
}

bool names(const Profile& profile, const UserId& user) {
    return profile.contacts.contains(user) || profile.blocks.contains(user) ||
           names(profile.privacy.online, user) || names(profile.privacy.last_seen, user);
}

}  // namespace

std::size_t MemoryProfiles::size() const {
    const std::lock_guard lock(mutex_);
    return rows_.size();
}

ProfileRef MemoryProfiles::load(const UserId& user) const {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(user);
    return found == rows_.end() ? nullptr : found->second.profile;
}

bool MemoryProfiles::save_declared(const UserId& user, const DeclaredState& declared) {
    const std::lock_guard lock(mutex_);
    Row& row = rows_[user];
    if (declared.revision <= (row.profile ? row.profile->declared.revision : 0)) {
        if (!row.profile) {
            rows_.erase(user);
        }
        return false;
    }
    const Ref<Profile> next = copy_of(row.profile);
    next->declared = declared;
    row.profile = next;
    return true;
}

template <class Change>
ProfileChange MemoryProfiles::change(const UserId& user, Change change) {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(user);
    const Ref<Profile> next = copy_of(found == rows_.end() ? nullptr : found->second.profile);
    if (!change(*next)) {
        return {next->revision, false};
    }
    ++next->revision;
    rows_[user].profile = next;
    return {next->revision, true};
}

void MemoryProfiles::save_last_seen(const std::vector<LastSeenRow>& rows) {
    const std::lock_guard lock(mutex_);
    for (const LastSeenRow& given : rows) {
        Row& row = rows_[given.user];
        const Ref<Profile> next = copy_of(row.profile);
        next->own_version = std::max(next->own_version, given.own_version);
        next->shown_version = std::max(next->shown_version, given.shown_version);
        const bool outdated = row.erased_at && given.written_at <= *row.erased_at;
        if (given.last_seen && !outdated) {
            next->last_seen =
                std::max(next->last_seen.value_or(*given.last_seen), *given.last_seen);
        }
        row.profile = next;
    }
}

std::vector<UserId> MemoryProfiles::erase(const UserId& user, WallTime at) {
    const std::lock_guard lock(mutex_);
    Row& row = rows_[user];
    const Ref<Profile> old = copy_of(row.profile);
    const auto left = make_ref<Profile>();
    left->own_version = old->own_version;
    left->shown_version = old->shown_version;
    left->revoked_before = old->revoked_before;
    left->revision = old->revision + 1;
    left->declared.revision = old->declared.revision + 1;
    row.profile = left;
    row.erased_at = std::max(row.erased_at.value_or(at), at);

    std::vector<UserId> named;
    for (auto& [owner, other] : rows_) {
        if (!other.profile || !names(*other.profile, user)) {
            continue;
        }
        const Ref<Profile> next = copy_of(other.profile);
        take_out(next->contacts, user);
        take_out(next->blocks, user);
        take_out(next->privacy.online, user);
        take_out(next->privacy.last_seen, user);
        ++next->revision;
        other.profile = next;
        named.push_back(owner);
    }
    return named;
}

template <class T, class Work>
Task<Result<T>> MemoryProfileStore::answer(Work work, bool writes) {
    StoreFaults& faults = shared_.faults();
    if (scheduler_ != nullptr && faults.delay() > Millis{0}) {
        co_await wait_for(*scheduler_, faults.delay());
    }
    if (faults.unavailable()) {
        co_return StoreFaults::error("profile store");
    }
    if (writes && faults.refuses_writes()) {
        faults.count_refusal();
        co_return StoreFaults::error("profile store");
    }
    Result<T> result = work();
    if (faults.loses_answers()) {
        co_return StoreFaults::error("profile store");
    }
    co_return result;
}

Task<Result<std::vector<ProfileRef>>> MemoryProfileStore::load(std::vector<UserId> users) {
    const auto read = [this, users = std::move(users)] {
        std::vector<ProfileRef> profiles;
        profiles.reserve(users.size());
        for (const UserId& user : users) {
            profiles.push_back(shared_.load(user));
        }
        return profiles;
    };
    return answer<std::vector<ProfileRef>>(read, false);
}

Task<Result<bool>> MemoryProfileStore::save_declared(UserId user, DeclaredState declared) {
    return answer<bool>([this, user = std::move(user), declared = std::move(declared)] {
        return shared_.save_declared(user, declared);
    });
}

Task<Result<ProfileChange>> MemoryProfileStore::save_privacy(UserId user,
                                                             PrivacySettings settings) {
    return answer<ProfileChange>([this, user = std::move(user), settings = std::move(settings)] {
        return shared_.change(user, [&](Profile& profile) {
            PrivacySettings next = profile.privacy;
            next.online = settings.online ? settings.online : next.online;
            next.last_seen = settings.last_seen ? settings.last_seen : next.last_seen;
            return std::exchange(profile.privacy, next) != next;
        });
    });
}

Task<Result<ProfileChange>> MemoryProfileStore::change_set(UserId user, UserSet Profile::*set,
                                                           UserSetChange change,
                                                           std::size_t limit) {
    return answer<ProfileChange>(
        [this, user = std::move(user), set, change = std::move(change), limit] {
            bool fits = true;
            const ProfileChange done = shared_.change(user, [&](Profile& profile) {
                UserSet next = changed_by(profile.*set, change);
                fits = within_limit(profile.*set, next, limit);
                return fits && std::exchange(profile.*set, next) != next;
            });
            return fits ? Result<ProfileChange>(done) : set_too_large(limit);
        });
}

Task<Result<ProfileChange>> MemoryProfileStore::change_contacts(UserId user, UserSetChange change,
                                                                std::size_t limit) {
    return change_set(std::move(user), &Profile::contacts, std::move(change), limit);
}

Task<Result<ProfileChange>> MemoryProfileStore::change_blocks(UserId user, UserSetChange change,
                                                              std::size_t limit) {
    return change_set(std::move(user), &Profile::blocks, std::move(change), limit);
}

Task<Result<ProfileChange>> MemoryProfileStore::revoke(UserId user, WallTime before) {
    return answer<ProfileChange>([this, user = std::move(user), before] {
        return shared_.change(user, [&](Profile& profile) {
            if (profile.revoked_before && *profile.revoked_before >= before) {
                return false;
            }
            profile.revoked_before = before;
            return true;
        });
    });
}

Task<Result<bool>> MemoryProfileStore::save_last_seen(std::vector<LastSeenRow> rows) {
    return answer<bool>([this, rows = std::move(rows)] {
        shared_.save_last_seen(rows);
        return true;
    });
}

Task<Result<std::vector<UserId>>> MemoryProfileStore::erase(UserId user, WallTime at) {
    return answer<std::vector<UserId>>(
        [this, user = std::move(user), at] { return shared_.erase(user, at); });
}

}  // namespace presence
