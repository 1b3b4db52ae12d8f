#pragma once

#include "presence/base/task.h"
#include "presence/core/limits.h"
#include "presence/core/node_view.h"
#include "presence/core/profile_cache.h"
#include "presence/core/transition_memory.h"
#include "presence/ports/presence_bus.h"
#include "presence/ports/profile_store.h"

namespace presence {

/// Changes of rules, contacts and blocks: durable first, then told to every thread and node, which
/// drop their copies and settle the watchers concerned (DESIGN rule 27). One thread.
class ProfileEditor {
public:
    ProfileEditor(ProfileStore& store, ProfileCache& cache, PresenceBus& bus, const Limits& limits,
                  TransitionMemory& past, const NodeView& nodes)
        : store_(store), cache_(cache), bus_(bus), limits_(limits), past_(past), nodes_(nodes) {}

    [[nodiscard]] Task<Result<ProfileChange>> set_privacy(UserId user, PrivacySettings settings);
    [[nodiscard]] Task<Result<ProfileChange>> change_contacts(UserId user, UserSetChange change);
    [[nodiscard]] Task<Result<ProfileChange>> change_blocks(UserId user, UserSetChange change);
    [[nodiscard]] Task<Result<ProfileChange>> revoke(UserId user, WallTime before);
    [[nodiscard]] Task<Result<bool>> erase(UserId user, WallTime at);

    /// What is stored now: of a time after the call, also while others change it again and again.
    /// @retval ErrorCode::unavailable  It was never read and the database does not answer.
    [[nodiscard]] Task<Result<ProfileRef>> profile(UserId user);
    /// The same, past the cache: what was declared through another node is not told about.
    [[nodiscard]] Task<Result<ProfileRef>> stored_profile(UserId user);

private:
    [[nodiscard]] Result<ProfileChange> tell(const UserId& user, Result<ProfileChange> changed);
    /// The same, of what decides who sees whom.
    [[nodiscard]] Result<ProfileChange> tell_rules(const UserId& user,
                                                   Result<ProfileChange> changed);

    ProfileStore& store_;
    ProfileCache& cache_;
    PresenceBus& bus_;
    const Limits& limits_;
    TransitionMemory& past_;
    const NodeView& nodes_;
};

}  // namespace presence
