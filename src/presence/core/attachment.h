#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/core/slot_pool.h"
#include "presence/model/session.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace presence {

/// A device that wants in. The token has been checked.
struct AttachRequest {
    UserId user;
    std::optional<WallTime> token_issued_at;
    std::optional<SessionId> resume_id;  ///< With the hash of the secret that was shown.
    ResumeHash resume_hash{};
    /// Of the secret that a new session is to have.
    ResumeHash new_resume_hash{};
    std::optional<Device> device;
    /// Whether it is to count as nothing until it reports `active`; empty: as before where it is
    /// resumed, and a new one counts.
    std::optional<bool> observe;
    std::optional<bool> active;  ///< The client said `active` (true) or `idle` (false).
    SlotId connection;
    /// The session is to live by heartbeats over HTTP, under this name: the one that stands, or a
    /// new one.
    std::optional<SessionId> beating;
    /// Whether whoever asked has gone meanwhile; empty: it waits for the answer.
    std::function<bool()> is_over;
};

/// A heartbeat over HTTP. The token has been checked.
struct BeatRequest {
    UserId user;
    std::optional<WallTime> token_issued_at;
    SessionId session;  ///< Made by beating_session.
    std::optional<Device> device;
    std::optional<bool> active;
};

struct Attachment {
    SlotId session;
    SessionId id;
    bool resumed = false;
};

/// One session as back ends see it.
struct SessionFacts {
    Session session;
    std::optional<WallTime> last_heartbeat;
    std::optional<WallTime> last_activity;
};

/// A user of this node, and the commit counter of the record as it stands here (0: not sure).
struct HeldUser {
    UserId user;
    std::uint64_t commit = 0;  ///< 0: it is being changed, or unsure.
    bool unsure = false;       ///< The store lacks what is held here, or may have something else.
};

/// Whether the user is one of those who are meant. Called on the thread of the user.
using HeldFilter = std::function<bool(const UserId& user)>;

/// Some of the users of a thread.
struct HeldPart {
    std::vector<HeldUser> users;
    std::uint32_t next = 0;  ///< Where to go on; 0: that was all.
};

}  // namespace presence
