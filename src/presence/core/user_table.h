#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/core/async_lock.h"
#include "presence/core/id_index.h"
#include "presence/core/short_moment.h"
#include "presence/core/slot_pool.h"
#include "presence/core/token_bucket.h"
#include "presence/model/presence.h"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace presence {

/// A status change that came too fast and waits for its bucket (RULINGS 12).
struct DeferredChange;

/// A session that this thread vouches for: the part that changes with every heartbeat, and so is
/// in no record.
struct LocalSession {
    SlotId user;
    SlotId connection;  ///< Empty while in grace.
    SessionId id;
    Epoch epoch;
    MonoTime last_heartbeat;
    MonoTime last_activity;
    MonoTime idle_at;  ///< With `said_idle`: when its client said that its person was idle.
    /// With a connection: when it was asked for a sign of life; with none: when the grace began.
    MonoTime pinged_or_lost_at;
    std::unique_ptr<DeferredChange> deferred;  ///< Of session scope.
    /// Of the token that it came with or was given last; 0: not said.
    WallTime token_issued_at;
    std::uint32_t filed_tick = 0;  ///< The one filing that counts; others are ignored. 0: none.
    bool by_http : 1 = false;  ///< It lives by heartbeats over HTTP: no connection, and no grace.
    bool reported_activity : 1 = false;
    bool idle : 1 = false;       ///< As in the record.
    bool said_idle : 1 = false;  ///< Its client said so, and has reported no later activity since.
    bool orphaned : 1 = false;   ///< Counts as nothing until it shows life (RULINGS 32).
    bool ending : 1 = false;     ///< An end is under way: signs of life come too late.

    [[nodiscard]] bool in_grace() const noexcept { return !connection && !by_http; }
};

/// What was told last of one face, while the anti-flap window is open (DESIGN rule 13).
struct ToldFace {
    UserRecordRef record;  ///< As it was told; null: nothing was told in this window.
    std::int64_t quiet_from_ms : 62 = 0;
    bool pending : 1 = false;  ///< Only with a `record`.
    bool known : 1 = true;     ///< False: another node may have told something else since.

    /// Until then further changes are merged.
    [[nodiscard]] MonoTime quiet_from() const { return {Millis{quiet_from_ms}}; }
    void tell(UserRecordRef what, MonoTime quiet_until) {
        record = std::move(what);
        quiet_from_ms = quiet_until.since_start.count() & ((std::int64_t{1} << 61) - 1);
        pending = false;
        known = true;
    }
};

/// Of one who changed again within a second. Most do not: see User::tell_both.
struct FlapWindow {
    ToldFace shown;
    ToldFace own;
};
static_assert(sizeof(FlapWindow) <= 40);

/// A user's sessions here; most have one.
using SessionSlots = boost::container::small_vector<SlotId, 1>;

/// A user who has sessions here, or about whom something is under way.
struct User {
    UserId id;
    UserRecordRef record;          ///< As last committed or read; null: not read yet, or none.
    std::uint32_t filed_tick = 0;  ///< The one filing that counts; others are ignored. 0: none.
    /// NodeView::losses when `record` was taken from the store: a later loss may concern it.
    std::uint32_t losses = 0;
    ShortMoment both_told_at;     ///< With `both_told`.
    std::uint32_t pins : 24 = 0;  ///< Flows that hold this entry across a wait.
    bool both_told : 1 = false;
    bool loaded : 1 = false;
    bool ahead : 1 = false;   ///< `record` has what the store has not.
    bool untold : 1 = false;  ///< Of that, other nodes have not been told.
    /// `record` was made while the store was away: others may hold sessions that it does not name.
    bool guessed : 1 = false;
    /// The same of one that was read or written after a loss, before all nodes had stated theirs.
    bool partial : 1 = false;
    AsyncLock lock;
    SessionSlots sessions;
    std::unique_ptr<FlapWindow> flap;
    std::unique_ptr<DeferredChange> deferred;
    TokenBucket status_bucket;

    /// Both faces were told as `record` has them, in a window that began at `now`. Of thousands who
    /// come at once each has such a one, and a FlapWindow for each would leave holes in the heap.
    void tell_both(MonoTime now) {
        flap.reset();
        both_told = true;
        both_told_at = ShortMoment(now);
    }
    /// How long ago that was; empty: it never was.
    [[nodiscard]] std::optional<Millis> both_told_for(MonoTime now) const {
        return both_told ? std::optional(both_told_at.ago(now)) : std::nullopt;
    }
};

/// Users by name. One thread.
class UserTable {
public:
    UserTable() = default;
    UserTable(const UserTable&) = delete;
    UserTable& operator=(const UserTable&) = delete;

    /// The entry of `id`, made if there is none.
    SlotId open(const UserId& id);
    [[nodiscard]] SlotId find(const UserId& id) const;
    [[nodiscard]] User& at(SlotId user) { return pool_.at(user); }
    [[nodiscard]] User* get(SlotId user) { return pool_.find(user); }
    void close(SlotId user);
    [[nodiscard]] std::size_t size() const noexcept { return pool_.size(); }

    template <class Visit>
    void for_each(Visit&& visit) {
        pool_.for_each(std::forward<Visit>(visit));
    }
    /// Whoever stands in the next `count` places from `place` on. Returns where to go on; 0: that
    /// was all.
    template <class Visit>
    std::uint32_t for_some(std::uint32_t place, std::uint32_t count, Visit&& visit) {
        const std::uint32_t end = pool_.slots() - place > count ? place + count : pool_.slots();
        for (; place < end; ++place) {
            if (const User* const user = pool_.in(place).first) {
                visit(*user);
            }
        }
        return end < pool_.slots() ? end : 0;
    }

private:
    struct IdAt {
        const SlotPool<User>* pool;
        std::string_view operator()(std::uint32_t place) const { return pool->on(place).id.text; }
    };

    SlotPool<User> pool_;
    IdIndex<IdAt> by_id_{IdAt{&pool_}};
};

}  // namespace presence
