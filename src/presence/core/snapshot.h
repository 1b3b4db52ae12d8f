#pragma once

#include "presence/base/clock.h"
#include "presence/base/latency.h"
#include "presence/base/task.h"
#include "presence/core/configs.h"
#include "presence/core/known_versions.h"
#include "presence/core/node_view.h"
#include "presence/core/profile_cache.h"
#include "presence/model/view.h"
#include "presence/ports/session_store.h"
#include "presence/rules/visibility.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace presence {

/// What a look at one user found: the unfiltered record, and what the viewer may see of it. Only
/// view() makes something of it that can leave.
struct Seen {
    UserId user;
    UserRecordRef record;  ///< Null: nobody of that name was ever here.
    Verdict verdict;
    /// The user's own rule for `online` admits everyone (RULINGS 10). False also where it cannot be
    /// told.
    bool open_to_all = false;
    bool rules_unread = false;  ///< They could not be read: look again later.
    /// Neither side ever set rules, contacts or blocks, and the viewer was not told `unknown` last:
    /// the view depends on the version alone.
    bool rules_untouched = false;
    std::uint64_t rules_revision = 0;  ///< Of the user's rules by which was judged.
    /// The store is away, and the user is none of this node's: nobody here can tell.
    bool unreachable = false;
    /// With `unreachable`: what the viewer was told last, if it watches; else what is known here.
    Version told{};

    /// The version that the viewer is told with it; 0 where nothing may be seen.
    [[nodiscard]] Version version() const {
        if (!(verdict.own() || verdict.online())) {
            return {};
        }
        if (unreachable || !record) {
            return told;
        }
        return verdict.own() ? record->presence.own_version : record->presence.shown_version;
    }
};

/// What many viewers may see of many users.
struct Crowd {
    std::vector<UserRecordRef> records;   ///< One a user; null: nobody of that name was ever here.
    std::vector<rules::VerdictRow> rows;  ///< One a viewer, places as in the list of users.
    bool unread = false;                  ///< Some rules could not be read: look again later.
    /// By user: the store is away, and the user is none of this node's. Empty: nobody.
    std::vector<bool> unreachable;

    [[nodiscard]] bool is_unreachable(std::size_t user) const {
        return !unreachable.empty() && unreachable[user];
    }
};

/// What one of several viewers asks for.
struct Looking {
    UserId viewer;
    std::vector<UserId> users;
};

/// Reads what viewers ask for: one batch of rules, one batch of records, one verdict each (DESIGN
/// rules 20, 25). The work is the same whatever the verdicts are. One thread.
class SnapshotReader {
public:
    SnapshotReader(const Clock& clock, ProfileCache& profiles, SessionStore& sessions,
                   const CoreConfig& config, const NodeView& nodes, const Limits& limits,
                   CoreCounters& counters)
        : clock_(clock),
          profiles_(profiles),
          sessions_(sessions),
          config_(config),
          nodes_(nodes),
          counters_(counters),
          known_(limits, counters) {}

    /// The records of those of `users` who have sessions on this node, whatever the store says;
    /// null for the others. Without it, as where nothing is shared, a store that is away is an
    /// error.
    using HeldHere = std::function<Task<std::vector<UserRecordRef>>(std::vector<UserId> users)>;
    void set_held_here(HeldHere held_here) { held_here_ = std::move(held_here); }
    /// Called when the store that is shared did not answer.
    void set_on_unreachable(std::function<void()> hook) { on_unreachable_ = std::move(hook); }

    /// What the node's threads know of versions of `users`, in that order. Without it, what this
    /// thread knows.
    using AskKnown = std::function<Task<std::vector<ToldVersions>>(std::vector<UserId> users)>;
    void set_ask_known(AskKnown ask) { ask_known_ = std::move(ask); }
    [[nodiscard]] std::vector<ToldVersions> known_here(const std::vector<UserId>& users) const;
    /// Word of a presence has come, which may be newer than any that was read.
    void note_versions(const UserId& user, const Presence& presence) {
        if (!nodes_.alone()) {
            known_.note(user, presence);
        }
    }

    /// Called for a user of whom something was read that is over and still stands in the record.
    using OnLapsed = std::function<void(const UserId& user)>;
    void set_on_lapsed(OnLapsed hook) { on_lapsed_ = std::move(hook); }

    /// One answer for each of `users`, in that order.
    /// @param viewer  Empty: a back end, which sees everything.
    /// @retval ErrorCode::unavailable  The session store does not answer, and is not shared.
    [[nodiscard]] Task<Result<std::vector<Seen>>> look(std::optional<UserId> viewer,
                                                       std::vector<UserId> users);

    /// The same for several viewers, each with users of its own, with one read of rules and one of
    /// records for all of them together.
    /// @return  For each of `looks` what `look` would have returned.
    [[nodiscard]] Task<Result<std::vector<std::vector<Seen>>>> look_for_all(
        std::vector<Looking> looks);

    /// An event says that the rules of `user` stand at `revision`.
    void heard(const UserId& user, std::uint64_t revision) { profiles_.heard(user, revision); }

    /// All of `viewers` look at all of `users`: one batch of rules, one of records. For one who
    /// looks at themselves the row says nothing.
    /// @retval ErrorCode::unavailable  The session store does not answer.
    [[nodiscard]] Task<Result<Crowd>> look_for_each(std::vector<UserId> viewers,
                                                    std::vector<UserId> users);

    /// What a status that nobody can tell is shown as (`degraded.show`).
    [[nodiscard]] Status unknown_as() const;
    /// What leaves for the viewer.
    [[nodiscard]] PresenceView view(const Seen& seen) const;
    [[nodiscard]] PresenceView view(const UserId& user, const Presence* presence,
                                    Verdict verdict) const;

    /// How long the calls of look took, from rules to verdicts.
    [[nodiscard]] const LatencyHistogram& look_times() const noexcept { return look_times_; }

    /// Whether a viewer that was told something is to hold it, though `seen` says that nobody can
    /// tell (NodeView::spares_watchers). The same for whom it may see and whom it may not.
    [[nodiscard]] bool spares(const Seen& seen) const {
        return seen.unreachable && nodes_.spares_watchers;
    }

private:
    const Clock& clock_;
    ProfileCache& profiles_;
    SessionStore& sessions_;
    const CoreConfig& config_;
    const NodeView& nodes_;
    CoreCounters& counters_;
    HeldHere held_here_;
    AskKnown ask_known_;
    KnownVersions known_;
    std::function<void()> on_unreachable_;
    OnLapsed on_lapsed_;
    LatencyHistogram look_times_;

    [[nodiscard]] PresenceView counted(PresenceView view) const;
    [[nodiscard]] rules::Viewing viewing_of(const Presence* presence, Verdict verdict) const;
    struct Records {
        std::vector<UserRecordRef> records;
        /// By user: with null, nobody here can tell. Empty: nobody.
        std::vector<bool> unreachable;

        [[nodiscard]] bool is_unreachable(std::size_t user) const {
            return !unreachable.empty() && unreachable[user];
        }
    };
    [[nodiscard]] Records without_unreadable(std::vector<UserRecordRef> loaded) const;
    [[nodiscard]] Task<Result<Records>> records_of(std::vector<UserId> users);
    /// Of all `users`, whoever may be seen, where of some nobody can tell. Empty: all can be told.
    [[nodiscard]] Task<std::vector<ToldVersions>> known_of(const Records& records,
                                                           std::vector<UserId> users);
    struct Found {
        std::vector<ProfileAnswer> rules;  ///< Of all parties.
        Records of_users;
        std::vector<ToldVersions> known;  ///< By user; empty: all can be told.

        [[nodiscard]] ToldVersions known_of(std::size_t user) const {
            return known.empty() ? ToldVersions{} : known[user];
        }
    };
    /// The rules of `parties`, none older than what the records of `users` show or, being lost,
    /// have shown, and these records. Who is in `users` is among the parties.
    [[nodiscard]] Task<Result<Found>> find(std::vector<UserId> parties, std::vector<UserId> users);
    /// Whether rules are to be read again: of those whose record was written under newer ones
    /// (RULINGS 8), or is gone, as the database may have its end by now.
    [[nodiscard]] bool has_newer_rules(const std::vector<UserId>& users, const Records& records);
    /// One user as one viewer (null: a back end) may see it.
    struct Subject {
        const UserId& user;
        const UserRecordRef& record;
        const ProfileAnswer& rules;
        bool unreachable = false;
        ToldVersions known;
    };
    [[nodiscard]] Seen see(const UserId* viewer, const ProfileAnswer* of_viewer,
                           const Subject& subject);
    /// A record of which a part is what a dead node said, or is over by now (RULINGS 31), or was
    /// declared otherwise since, as the database knows: as it will be once that is settled.
    [[nodiscard]] UserRecordRef as_it_stands(const UserId& user, UserRecordRef record,
                                             const ProfileAnswer& rules) const;
};

}  // namespace presence
