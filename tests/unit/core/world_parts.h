#pragma once

#include "presence/core/configs.h"
#include "presence/core/limits.h"
#include "presence/core/slot_pool.h"
#include "presence/ports/beat_mirror.h"
#include "presence/ports/webhook_events.h"
#include "presence/stores/memory/memory_journal.h"
#include "presence/stores/memory/memory_profiles.h"

#include "support/virtual_time.h"
#include "unit/core/recording_gateway.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// What outlives a process: time, and what stands on its disk.
struct Disk {
    VirtualClock clock;
    MemoryProfiles profiles;
    MemoryJournalState journal;
};

struct WorldOptions {
    std::size_t threads = 1;
    bool journal = true;
    bool mirror = false;  ///< store.write_every_heartbeat
    std::uint64_t seed = 1;
    CoreConfig config;
    Limits limits;
    std::shared_ptr<Disk> disk;  ///< Of the life before; empty: the first life.
};

/// Hears what receivers of webhooks would be told.
struct RecordingHooks final : WebhookEvents {
    [[nodiscard]] bool wanted() const override { return true; }
    void note(WebhookEvent event) override { said.push_back(std::move(event)); }
    void forget(const UserId& user) override { forgotten.push_back(user); }
    std::vector<WebhookEvent> said;
    std::vector<UserId> forgotten;
};

/// What other systems would find of `store.write_every_heartbeat`.
struct RecordingMirror final : BeatMirror {
    Task<Result<bool>> write(NodeId, std::vector<ShownBeat> alive,
                             std::vector<UserId> gone) override {
        ++writes;
        if (fails) {
            co_return Error{ErrorCode::unavailable, "no mirror", 0, 0};
        }
        for (const ShownBeat& beat : alive) {
            shown[std::string(beat.user.text)] = beat.at;
            ++beats[std::string(beat.user.text)];
        }
        for (const UserId& user : gone) {
            shown.erase(std::string(user.text));
        }
        co_return true;
    }
    std::map<std::string, WallTime> shown;
    std::map<std::string, int> beats;  ///< Times written, by user.
    int writes = 0;
    bool fails = false;
};

/// A device: one connection after the other, one session as long as it is resumed.
struct ClientState {
    UserId user;
    SlotId connection;
    SlotId session;
    SessionId id;
    ResumeHash secret{};
    bool resumed = false;
    bool beating = false;
};
using Client = std::shared_ptr<ClientState>;

struct Connecting {
    std::optional<DeviceKind> kind = DeviceKind::web;
    std::optional<bool> observe = {};
    std::optional<bool> active = {};
    std::optional<WallTime> token_issued_at = {};
    Client resume = {};
};

/// How somebody joins a room.
struct Joining {
    std::string meta = {};
    bool observe = false;
    bool hears = true;
};

/// Statuses told of one user, in order.
[[nodiscard]] inline std::vector<Status> statuses(const std::vector<Told>& told, const char* user) {
    std::vector<Status> statuses;
    for (const Told& one : told) {
        if (one.user.text == user) {
            statuses.push_back(one.status);
        }
    }
    return statuses;
}

}  // namespace presence::testing
