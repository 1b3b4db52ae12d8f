#pragma once

#include "presence/base/random.h"
#include "presence/ports/node_registry.h"
#include "presence/ports/profile_store.h"
#include "presence/ports/session_store.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_registry.h"
#include "presence/stores/memory/memory_sessions.h"

#include "process.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace presence::sim {

/// The shared session store and the database, with everything that can go wrong with them.
class Stores {
public:
    Stores(VirtualClock& world, std::uint64_t seed) : clock(world), random(seed) {}

    VirtualClock& clock;
    SeededRandom random;
    MemorySessions sessions{clock};
    MemoryNodes nodes{clock, sessions};
    MemoryProfiles profiles;

    bool store_up = true;
    bool database_up = true;
    Millis slowest{3};
    /// Each call takes as long as any other, and a look at the database no time: whether a server
    /// has somebody's rules in memory depends on all of its users.
    bool even = false;
    std::uint64_t lost_answer_in = 0;  ///< One in so many; 0: none.
    /// Told of each write in words, if wanted.
    std::function<void(const std::string&)> on_written;

    /// Remembers what a write is about to replace, for a fail-over that loses it.
    void note_write(const UserId& user);
    /// The writes of the last `span` never reached the new master.
    void fail_over(Millis span);
    /// The record alone is gone, as if evicted.
    void lose_record(const UserId& user) { sessions.erase(user); }

    [[nodiscard]] Millis half_a_way();

private:
    struct Written {
        MonoTime at;
        UserId user;
        UserRecordRef before;
    };
    std::deque<Written> written_;
};

/// One process's way to the stores. Each call takes its time there and back; what is answered after
/// the process died is lost with it.
class Link {
public:
    Link(Stores& stores, ProcessScheduler& process) : stores_(stores), process_(process) {}

    [[nodiscard]] Stores& stores() { return stores_; }
    [[nodiscard]] ProcessScheduler& process() { return process_; }
    void set_cut(bool cut) {
        (cut && !cut_ ? cut_at_ : back_at_) = stores_.clock.now();
        cut_ = cut;
    }
    /// When it was last cut off.
    [[nodiscard]] MonoTime cut_at() const { return cut_at_; }
    /// When it last was no longer cut off.
    [[nodiscard]] MonoTime back_at() const { return back_at_; }
    [[nodiscard]] bool is_cut() const { return cut_; }
    [[nodiscard]] bool reaches_store() const { return !cut_ && stores_.store_up; }

    /// Runs a call that was made but not begun: there, done, back. A store that is away refuses at
    /// once or lets the caller wait.
    template <class T>
    [[nodiscard]] Task<Result<T>> store_call(Task<Result<T>> below, bool writes) {
        Task<bool> going = wait_for(process_, in_turn(there_, stores_.half_a_way()));
        co_await going;
        if (!reaches_store()) {
            const Millis patience{stores_.random.below(2) == 0 ? 1 : 900};
            Task<bool> waiting = wait_for(process_, patience);
            co_await waiting;
            co_return Error{ErrorCode::unavailable, "the store is away", 1000, 0};
        }
        Result<T> result = co_await below;
        const bool lost = writes && stores_.lost_answer_in > 0 &&
                          stores_.random.below(stores_.lost_answer_in + 1) == 0;
        const Millis way = lost ? Millis{1000} : in_turn(back_, stores_.half_a_way());
        Task<bool> returning = wait_for(process_, way);
        co_await returning;
        if (lost) {
            co_return Error{ErrorCode::unavailable, "no answer came", 1000, 0};
        }
        co_return result;
    }
    template <class T>
    [[nodiscard]] Task<Result<T>> database_call(Task<Result<T>> below) {
        Task<bool> going = wait_for(process_, Millis{stores_.even ? 0 : 1});
        co_await going;
        if (!stores_.database_up) {
            co_return Error{ErrorCode::unavailable, "the database is away", 1000, 0};
        }
        Result<T> result = co_await below;
        Task<bool> returning = wait_for(process_, Millis{stores_.even ? 0 : 2});
        co_await returning;
        co_return result;
    }

private:
    /// One connection carries all: nothing overtakes what was sent before.
    [[nodiscard]] Millis in_turn(MonoTime& last, Millis wait) const {
        const MonoTime now = stores_.clock.now();
        last = std::max(last, now + wait);
        return last - now;
    }

    Stores& stores_;
    ProcessScheduler& process_;
    bool cut_ = false;
    MonoTime cut_at_;
    MonoTime back_at_;
    MonoTime there_;
    MonoTime back_;
};

class LinkedSessions final : public SessionStore {
public:
    LinkedSessions(Link& link, PresenceBus& bus)
        : link_(link), below_(link.stores().sessions, &bus) {}

    void set_node(NodeId node) override { node_ = node; }
    void watch_losses(LossWatch& watch) override { below_.watch_losses(watch); }
    [[nodiscard]] Task<Result<std::vector<UserRecordRef>>> load(std::vector<UserId> users) override;
    [[nodiscard]] Task<Result<std::vector<CommitOutcome>>> commit_many(
        std::vector<Commit> commits) override;
    [[nodiscard]] Task<Result<bool>> drop_ends(std::vector<LastSeenRow> written) override;
    [[nodiscard]] Task<Result<bool>> erase(UserId user) override;

private:
    [[nodiscard]] Task<Result<std::vector<CommitOutcome>>> apply(std::vector<Commit> commits,
                                                                 NodeId as);
    [[nodiscard]] Task<Result<bool>> drop(std::vector<LastSeenRow> written, NodeId as);

    Link& link_;
    MemorySessionStore below_;
    NodeId node_;  ///< A command carries the name that it was given with.
};

class LinkedRegistry final : public NodeRegistry {
public:
    LinkedRegistry(Link& link, std::function<void()> on_renewed)
        : link_(link), below_(link.stores().nodes), on_renewed_(std::move(on_renewed)) {}

    [[nodiscard]] std::uint32_t partitions() const override { return below_.partitions(); }
    [[nodiscard]] std::uint32_t partition_of(const UserId& user) const override {
        return below_.partition_of(user);
    }
    [[nodiscard]] Task<Result<Membership>> renew(NodeLease lease) override;
    [[nodiscard]] Task<Result<bool>> burn(NodeId node) override;
    [[nodiscard]] Task<Result<Leftovers>> entomb(NodeId node, std::uint32_t partition,
                                                 std::size_t limit) override;
    [[nodiscard]] Task<Result<Leftovers>> left_of(NodeId node, std::uint32_t partition,
                                                  std::size_t limit) override;
    [[nodiscard]] Task<Result<std::vector<LastSeenRow>>> take_ends(NodeId from, NodeId to,
                                                                   std::uint32_t partition,
                                                                   std::size_t limit) override;
    [[nodiscard]] Task<Result<bool>> forget(NodeId node) override;
    [[nodiscard]] Task<Result<std::vector<std::uint64_t>>> commits_of(
        std::vector<UserId> users, std::optional<NodeId> keep_for) override;

private:
    [[nodiscard]] Task<Result<Membership>> renew_there(NodeLease lease);

    Link& link_;
    MemoryRegistry below_;
    std::function<void()> on_renewed_;  ///< The lease was taken or renewed, at this moment.
};

class LinkedProfiles final : public ProfileStore {
public:
    explicit LinkedProfiles(Link& link) : link_(link), below_(link.stores().profiles) {}

    [[nodiscard]] Task<Result<std::vector<ProfileRef>>> load(std::vector<UserId> users) override;
    [[nodiscard]] Task<Result<bool>> save_declared(UserId user, DeclaredState declared) override;
    [[nodiscard]] Task<Result<ProfileChange>> save_privacy(UserId user,
                                                           PrivacySettings settings) override;
    [[nodiscard]] Task<Result<ProfileChange>> change_contacts(UserId user, UserSetChange change,
                                                              std::size_t limit) override;
    [[nodiscard]] Task<Result<ProfileChange>> change_blocks(UserId user, UserSetChange change,
                                                            std::size_t limit) override;
    [[nodiscard]] Task<Result<ProfileChange>> revoke(UserId user, WallTime before) override;
    [[nodiscard]] Task<Result<bool>> save_last_seen(std::vector<LastSeenRow> rows) override;
    [[nodiscard]] Task<Result<std::vector<UserId>>> erase(UserId user, WallTime at) override;
    [[nodiscard]] std::uint64_t writes_refused() const override { return below_.writes_refused(); }

private:
    Link& link_;
    MemoryProfileStore below_;
};

}  // namespace presence::sim
