#include "presence/core/profile_editor.h"

#include "presence/core/store_errors.h"

namespace presence {

/// Also where nothing had to be changed: it may be the retry of one that was written though its
/// answer was lost, and that nobody was told of.
Result<ProfileChange> ProfileEditor::tell(const UserId& user, Result<ProfileChange> changed) {
    if (changed) {
        cache_.invalidate(user);
        bus_.publish_profile_changed(user, changed->revision);
    }
    return changed;
}

Result<ProfileChange> ProfileEditor::tell_rules(const UserId& user, Result<ProfileChange> changed) {
    if (changed && changed->changed) {
        past_.note_rules(user, nodes_.self);
    }
    return tell(user, std::move(changed));
}

Task<Result<ProfileChange>> ProfileEditor::set_privacy(UserId user, PrivacySettings settings) {
    Result<ProfileChange> changed = co_await store_.save_privacy(user, std::move(settings));
    co_return tell_rules(user, std::move(changed));
}

Task<Result<ProfileChange>> ProfileEditor::change_contacts(UserId user, UserSetChange change) {
    Result<ProfileChange> changed =
        co_await store_.change_contacts(user, std::move(change), limits_.list_users);
    co_return tell_rules(user, std::move(changed));
}

Task<Result<ProfileChange>> ProfileEditor::change_blocks(UserId user, UserSetChange change) {
    Result<ProfileChange> changed =
        co_await store_.change_blocks(user, std::move(change), limits_.list_users);
    co_return tell_rules(user, std::move(changed));
}

Task<Result<ProfileChange>> ProfileEditor::revoke(UserId user, WallTime before) {
    Result<ProfileChange> changed = co_await store_.revoke(user, before);
    co_return tell(user, std::move(changed));
}

Task<Result<bool>> ProfileEditor::erase(UserId user, WallTime at) {
    Result<std::vector<UserId>> named = co_await store_.erase(user, at);
    if (!named) {
        co_return named.error();
    }
    cache_.invalidate(user);
    bus_.publish_profile_changed(user, kErased);
    for (const UserId& other : *named) {
        cache_.invalidate(other);
        bus_.publish_profile_changed(other, 0);
    }
    co_return true;
}

Task<Result<ProfileRef>> ProfileEditor::stored_profile(UserId user) {
    std::vector<UserId> one;
    one.push_back(std::move(user));
    Result<std::vector<ProfileRef>> read = co_await store_.load(std::move(one));
    if (!read) {
        co_return read.error();
    }
    co_return read->front();
}

Task<Result<ProfileRef>> ProfileEditor::profile(UserId user) {
    ProfileAnswer answer = co_await cache_.get(user);
    if (answer.overtaken) {
        // Good enough for the one who asks, as it is begun after the question; not for the cache.
        Result<ProfileRef> read = co_await stored_profile(std::move(user));
        co_return read;
    }
    if (!answer.known) {
        co_return database_away();
    }
    co_return answer.profile;
}

}  // namespace presence
