#pragma once

#include "presence/base/clock.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/id_index.h"
#include "presence/core/limits.h"
#include "presence/core/node_view.h"
#include "presence/core/short_moment.h"
#include "presence/core/slot_pool.h"
#include "presence/model/partition.h"
#include "presence/ports/profile_store.h"

#include <coroutine>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace presence {

/// What is known about one user's stored rules. `known` is false where they were never read and
/// the database does not answer: then nothing may be shown and nothing denied.
struct ProfileAnswer {
    ProfileRef profile;
    bool known = false;
    bool overtaken = false;  ///< Not known only because each read was overtaken by a change.
    MonoTime declared_at{};  ///< When the database first gave what is declared in it.
};

/// Profiles in memory, each for `ttl` at most, in front of the database; for kUnheardTtl while
/// `nodes` says that no word of their changes can come, the bus being away. Equal look-ups under
/// way are one; one that began before an invalidation is neither kept nor used (RULINGS 9); while
/// the database is away what was read before stays in force (RULINGS 1). One thread.
class ProfileCache {
public:
    /// Changes are told: this bounds what a notice that was lost can do.
    static constexpr Millis kTtl{60'000};

    ProfileCache(const Clock& clock, ProfileStore& store, const Limits& limits,
                 CoreCounters& counters, Millis ttl = kTtl, const NodeView* nodes = nullptr);
    ProfileCache(const ProfileCache&) = delete;
    ProfileCache& operator=(const ProfileCache&) = delete;

    /// One answer for each of `users`, in that order.
    [[nodiscard]] Task<std::vector<ProfileAnswer>> get(std::vector<UserId> users);
    [[nodiscard]] Task<ProfileAnswer> get(UserId user);

    /// Copies of `user` are void: the rules have changed.
    void invalidate(const UserId& user);
    /// Copies of `user` are as old as can be: the next who asks reads anew, and has them only where
    /// the database does not answer.
    void outdate(const UserId& user);
    /// The store has a record of `user`, and the database will have its end later than what was
    /// read of it here.
    void note_record(const UserId& user);
    /// The store has none. Where it had one, copies of `user` are outdated. True: they are.
    bool note_no_record(const UserId& user);
    /// Somebody has seen the rules of `user` at `revision`: an older copy is void. True: it was.
    bool heard(const UserId& user, std::uint64_t revision);
    /// What the user has declared as it was read last, unless that is void; null: not read, or
    /// nothing is stored. Until the entry goes.
    [[nodiscard]] const DeclaredState* declared_of(const UserId& user);
    /// The newest revision of the user's rules that was read or heard of here; 0: of none.
    [[nodiscard]] std::uint64_t revision_of(const UserId& user);
    /// The same for all users of `partitions`: word of their changes may have been missed.
    void invalidate(const PartitionSet& partitions);

    [[nodiscard]] std::size_t size() const noexcept { return pool_.size(); }

private:
    struct Waiter {
        std::coroutine_handle<> flow;
        bool* answered = nullptr;  ///< Set before the flow goes on: whether the database did.
    };
    struct Entry {
        UserId user;
        ProfileRef profile;
        MonoTime loaded_at;
        std::uint64_t heard = 0;       ///< Newest revision that somebody has seen.
        ShortMoment declared_at;       ///< ProfileAnswer::declared_at.
        std::uint16_t generation = 0;  ///< Compared only over one load.
        bool loaded : 1 = false;
        bool stale : 1 = false;
        bool outdated : 1 = false;
        bool recorded : 1 = false;  ///< A record was seen, and none was missed since.
        bool loading : 1 = false;
        std::unique_ptr<std::vector<Waiter>> waiting;  ///< Null: nobody waits.
    };
    /// Each who signs in has one.
    static_assert(sizeof(Entry) <= 56);
    struct IdAt {
        const SlotPool<Entry>* pool;
        std::string_view operator()(std::uint32_t place) const { return pool->on(place).user.text; }
    };
    struct WaitFor;

    [[nodiscard]] bool fresh(const Entry& entry, MonoTime now) const;
    [[nodiscard]] static ProfileAnswer answer_of(const Entry* entry, bool failed, MonoTime now);
    [[nodiscard]] Entry* find(const UserId& user);
    [[nodiscard]] Entry& entry_for(const UserId& user);
    /// Reads `users`, marked as loading by the caller. False: the database did not answer.
    [[nodiscard]] Task<bool> load(std::vector<UserId> users);
    void make_room();

    const Clock& clock_;
    ProfileStore& store_;
    const Limits& limits_;
    CoreCounters& counters_;
    /// Rules that were changed elsewhere are to be in force within 2 s (DESIGN rule 27).
    static constexpr Millis kUnheardTtl{1'000};

    Millis ttl_;
    const NodeView* nodes_;
    SlotPool<Entry> pool_;
    IdIndex<IdAt> by_id_{IdAt{&pool_}};
    std::uint32_t hand_ = 0;  ///< The place in pool_ at which room was looked for last.
};

}  // namespace presence
