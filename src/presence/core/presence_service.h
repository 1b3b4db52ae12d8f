#pragma once

#include "presence/base/task.h"
#include "presence/core/attachment.h"
#include "presence/core/service_parts.h"
#include "presence/core/stall_log.h"
#include "presence/core/status_change.h"
#include "presence/core/timing_wheel.h"
#include "presence/core/user_table.h"
#include "presence/model/census.h"
#include "presence/ports/session_journal.h"
#include "presence/rules/transition.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace presence {

/// The sessions of the users whose home is this thread, and the one door through which every
/// change of anybody's presence goes: settle (DESIGN rule 15). Flows about one user run one after
/// the other; flows about different users do not wait for each other.
///
/// One thread. Nothing here blocks; a flow that waits for a store holds only its user.
class PresenceService {
public:
    explicit PresenceService(const ServiceParts& parts);

    void set_owner(SessionOwner* owner) { owner_ = owner; }
    void set_listener(SessionListener* listener) { listener_ = listener; }
    /// Versions told from now on are above it (SessionJournal::start).
    void set_version_floor(std::uint64_t floor) { version_floor_ = floor; }

    // --- Sessions ---------------------------------------------------------------------------

    /// Makes a session, or takes one over.
    /// @retval ErrorCode::unauthorized    The token was revoked.
    /// @retval ErrorCode::limit_exceeded  All the user's sessions are fresh.
    /// @retval ErrorCode::unavailable     A store did not answer in time; there is no session.
    [[nodiscard]] Task<Result<Attachment>> attach(AttachRequest request);

    /// A sign of life. The hot path: one look-up and one store to memory (DESIGN rule 1).
    void heartbeat(SlotId session, MonoTime now) noexcept {
        if (LocalSession* local = sessions_.find(session)) {
            local->last_heartbeat = now;
            if (parts_.beats != nullptr) {
                show_beat(*local);
            }
        }
    }

    /// A sign of life of `session` is about to come.
    void prefetch(SlotId session) const noexcept { sessions_.prefetch(session); }

    /// A heartbeat over HTTP: the session goes on, or begins.
    /// @retval ErrorCode::forbidden  A back end has just thrown the device out.
    /// Else as attach.
    [[nodiscard]] Task<Result<Attachment>> beat(BeatRequest request);
    /// A device that lives by HTTP signs out. False: there is no such session.
    [[nodiscard]] Task<Result<bool>> sign_out(UserId user, SessionId session);
    /// Whether the user has sessions here, those in grace and those that are being made included.
    [[nodiscard]] bool is_concerned_with(const UserId& user) const {
        return static_cast<bool>(users_.find(user));
    }
    /// The session goes on with a fresh token.
    void renew_token(SlotId session, std::optional<WallTime> issued_at);
    /// Ends the user's sessions here, those in grace included, whose token was issued before.
    [[nodiscard]] Task<bool> end_revoked(UserId user, WallTime before);

    /// The client said that its person was active `ago` ago, or (empty) is idle.
    [[nodiscard]] Task<Result<bool>> report_activity(SlotId session, std::optional<Millis> ago);

    /// The connection is gone without goodbye: the grace begins (DESIGN rule 4).
    /// @param sign_of_life  True: the loss itself was a sign of life (a Close frame, RULINGS 33).
    [[nodiscard]] Task<bool> connection_lost(SlotId session, bool sign_of_life);

    /// The session ends now, and its connection was told so by the caller.
    [[nodiscard]] Task<bool> end(SlotId session, Cause cause);

    /// Ends a session named by a back end. False: there is none of that name.
    [[nodiscard]] Task<Result<bool>> kick(UserId user, SessionId session);

    /// Sessions that a life before this one left open: in grace from now, `unknown` until then.
    [[nodiscard]] Task<bool> restore(UserId user, std::vector<Session> sessions,
                                     WallTime last_alive);

    // --- Status -----------------------------------------------------------------------------

    /// User scope: durable, for all devices, at most at the limited rate.
    /// @retval ErrorCode::rate_limited  Over the rate, and the caller would not have it deferred.
    [[nodiscard]] Task<Result<StatusOutcome>> change_status(UserId user, StatusChange change,
                                                            bool limited,
                                                            OverRate over = OverRate::defer);
    /// What waits for the rate is not applied any more: the user is erased, or the token that it
    /// came with does not allow it any more.
    void drop_deferred(const UserId& user);
    /// Session scope; of the same rate. What waits for it ends with the session.
    [[nodiscard]] Task<Result<StatusOutcome>> change_session_status(SlotId session,
                                                                    StatusChange change,
                                                                    bool limited);

    /// Whether the user could be erased now: else sessions on other nodes would go on under that
    /// name.
    /// @retval ErrorCode::unavailable  The store is away, or this node may not speak.
    [[nodiscard]] Result<bool> may_erase() const;
    /// What waits for the outbox of the user's webhooks goes, as what the outbox has does with the
    /// row.
    void forget_events(const UserId& user);
    /// Ends all sessions and tells nothing more of what was stored about the user; what the
    /// database holds is ProfileEditor's to erase, before. The versions stay, so that none that
    /// is told later is lower.
    [[nodiscard]] Task<Result<bool>> erase(UserId user);

    // --- Other nodes, in sharing.cc, restating.cc, elsewhere.cc and orphans.cc ----------------

    /// Another node took a session of this one over, or ended it: its connection goes.
    void session_taken(const SessionTaken& taken);
    /// Another node has set an end to something of the user's: if there are sessions here, it is
    /// this node's business, too (RULINGS 31).
    Detached read_end_of(UserId user);

    /// Ends, by what a dead node's last renewal says, the sessions of `users` that it left and
    /// whose grace is over (DESIGN rule 32). All users have their home here. False: some of its
    /// sessions stay for a while.
    [[nodiscard]] Task<Result<bool>> settle_death(std::vector<UserId> users, NodeId node,
                                                  WallTime died_at);

    /// States to the store again what this thread holds of `users` and the store lacks (DESIGN
    /// rules 30, 31): where it lost something, once under versions above all that was told.
    [[nodiscard]] Task<Result<bool>> assert_again(std::vector<UserId> users);
    /// The same of presences that have ended: to a store that lost all, and that has nothing of the
    /// user again, for the time in which the database has not got the end either.
    [[nodiscard]] Task<Result<bool>> assert_ends(std::vector<LastSeenRow> ends);
    /// Ends the sessions of `users` that are this node's by the store and that it does not have: a
    /// fail-over lost their ends (RULINGS 22). Who has others here is assert_again's.
    [[nodiscard]] Task<Result<bool>> end_unheld(std::vector<UserId> users);

    /// Commits what stands of the user above versions that were told, and that the store does not
    /// know of (RULINGS 3): viewers that hold them would never take what is true. Tried again while
    /// the store is away.
    Detached settle_above(UserId user, ToldVersions told);

    /// This node goes by another name from now on (NodeView::self), as the others have settled its
    /// death: a session counts again from its first sign of life after `last_vouched`.
    void renamed(MonoTime last_vouched);

    /// Users with sessions on this thread, or with changes that the store has not got.
    [[nodiscard]] std::vector<HeldUser> users_here();
    /// Likewise from `place` on, at most so many that no beat is kept waiting: those of `wanted`,
    /// and all who are unsure.
    [[nodiscard]] HeldPart users_from(std::uint32_t place, const HeldFilter& wanted);
    static constexpr std::uint32_t kHeldPlaces = 4096;
    /// The commit counter of the user's record as it stands here; 0 where nothing is sure.
    [[nodiscard]] std::uint64_t commit_here(const UserId& user);
    /// The record of a user who has sessions here, whatever the store says; else null.
    [[nodiscard]] UserRecordRef record_here(const UserId& user);

    // --- Time -------------------------------------------------------------------------------

    /// Somebody has read something of the user's that is over and still stands (RULINGS 31).
    void settle_lapsed(const UserId& user);

    /// Called about every `kTick`, after what the sockets hold was read.
    void tick();
    static constexpr Millis kTick{50};

    // --- Facts ------------------------------------------------------------------------------

    /// The user's record by the store. Null: it has none, and the database does not answer.
    [[nodiscard]] Task<Result<UserRecordRef>> record_of(UserId user);
    [[nodiscard]] Task<Result<std::vector<SessionFacts>>> sessions_of(UserId user);
    /// The name of a session of this thread; null: it is gone.
    [[nodiscard]] const SessionId* name_of(SlotId session) {
        const LocalSession* const local = sessions_.find(session);
        return local == nullptr ? nullptr : &local->id;
    }
    /// The connections of a user's live sessions on this thread, or of one of them.
    [[nodiscard]] std::vector<SlotId> connections_of(
        const UserId& user, const std::optional<SessionId>& session = std::nullopt);
    /// Whether the session lives on this thread, in grace or not.
    [[nodiscard]] bool holds(const UserId& user, const SessionId& session);
    /// What is this node's to count: each session that it holds, and of the users who have sessions
    /// on several nodes those whose first one it holds. The counts of all nodes add up as far as
    /// their records are those of the store (ClusterMember::look_over).
    /// Counted one by one: for a call that people make, not for one a second.
    [[nodiscard]] Census census();
    [[nodiscard]] std::size_t session_count() const noexcept { return sessions_.size(); }
    [[nodiscard]] std::size_t user_count() const noexcept { return users_.size(); }
    [[nodiscard]] std::size_t wheel_size() const noexcept { return wheel_.size(); }
    [[nodiscard]] const StallLog& stalls() const noexcept { return stalls_; }

private:
    /// What has to be settled and cannot be is tried again after that long.
    static constexpr Millis kSettleRetry{1000};
    /// What a change works on; settle() makes a record of it.
    struct Draft {
        std::vector<Session> sessions;
        DeclaredState declared;
        WallTime last_sign;
        NodeId self;
        std::uint64_t commit = 0;  ///< Of the record that it begins with.
        BarredDevicesRef barred;
        WallTime now;
        bool doubtful = false;
        bool erased = false;   ///< Nothing that was stored may be told any more.
        bool refused = false;  ///< The change cannot be made of this record any more.
        /// A session of this node.
        [[nodiscard]] Session* find(const SessionId& id);
        /// Refuses the device, if it is one that lives by HTTP, until then.
        void bar(const Session& session, WallTime until);
        void allow(const SessionId& session);
    };
    using Change = UniqueFunction<void(Draft&)>;
    class Entered;

    /// Holds a user's lock and keeps the entry in place; closes it if nothing is left of it.
    class Entered {
    public:
        Entered(PresenceService& service, SlotId user, AsyncLock::Guard guard)
            : service_(&service), user_(user), guard_(std::move(guard)) {}
        Entered(Entered&& other) noexcept
            : service_(std::exchange(other.service_, nullptr)),
              user_(other.user_),
              guard_(std::move(other.guard_)) {}
        Entered& operator=(Entered&&) = delete;
        ~Entered();
        [[nodiscard]] SlotId slot() const noexcept { return user_; }
        [[nodiscard]] User& user() const { return service_->users_.at(user_); }

    private:
        PresenceService* service_;
        SlotId user_;
        AsyncLock::Guard guard_;
    };

    struct WheelItem {
        SlotId id;
        bool is_user = false;
    };

    [[nodiscard]] Task<Entered> enter(UserId user);
    /// Reads the record if it is not held yet, and makes one of the profile if there is none.
    [[nodiscard]] Task<Result<bool>> ensure_record(SlotId user);

    /// The one door. The user's lock is held. Applies `change` to what stands, derives, commits if
    /// anything differs, announces, and writes what is durable. False: nothing differed.
    ///
    /// Where the store is shared and cannot be reached, what was changed stands here, is told here,
    /// and is stated to the store by assert_again (DESIGN rule 30).
    /// @retval ErrorCode::conflict  The change refused what it found, or others were faster too
    ///                              often.
    [[nodiscard]] Task<Result<bool>> settle(SlotId user, Cause cause, Change change);
    /// The same for many users with one read and one write, from what the store has.
    [[nodiscard]] Task<Result<bool>> settle_many(std::vector<UserId> users, Cause cause,
                                                 Change change);

    // The steps of it, in settle.cc
    struct Prepared;
    /// Empty: nothing differs, or the change refused.
    [[nodiscard]] std::optional<Prepared> prepare(SlotId user, Change& change, bool& refused);
    /// Whether the user comes back after nothing stood for them but what a dead node had left: who
    /// looked meanwhile was shown the end of that, under the next version, before it is settled.
    [[nodiscard]] bool comes_back(const std::vector<Session>& before,
                                  const std::vector<Session>& after) const;
    [[nodiscard]] static Commit commit_of(const UserId& user, const Prepared& next);
    void finish(SlotId user, Cause cause, Prepared& next);
    void count_settle(SlotId user, Cause cause);
    /// Commits what settle_many has prepared of `users`, and settles each again that others were
    /// faster with.
    [[nodiscard]] Task<Result<bool>> commit_all(const std::vector<SlotId>& users, Cause cause,
                                                std::vector<Prepared>& all,
                                                std::vector<Commit> commits, Change& change);
    /// Of commits whose answers were lost: reads which of them stand, and finishes those. Returns
    /// the places of the others.
    [[nodiscard]] Task<Result<std::vector<std::size_t>>> find_out(const std::vector<SlotId>& users,
                                                                  Cause cause,
                                                                  std::vector<Prepared>& all,
                                                                  std::vector<std::size_t> places);
    void keep_here(SlotId user, Cause cause, Prepared& next);
    /// The store has what stands here.
    void note_stored(User& user);
    /// The record that `draft` makes; null where it is the one that stands.
    [[nodiscard]] Ref<UserRecord> draw_up(const User& user, Draft draft, WallTime now,
                                          rules::Transition& transition) const;
    void after_commit(User& user, Cause cause, Prepared& next);
    /// Notes sessions that began or changed, and returns those that ended.
    [[nodiscard]] std::vector<JournalEntry> journal_difference(const User& user,
                                                               const UserRecordRef& before);

    // Anti-flap, in announcer.cc
    struct Announcement {
        PresenceEventRef event;              ///< Null: nothing is to be told now.
        std::unique_ptr<FlapWindow> window;  ///< Takes the place of the user's once committed.
        std::optional<MonoTime> told_both;   ///< In its stead: User::tell_both.
        Face shown_before;                   ///< The public face that was told before `event`.
    };
    [[nodiscard]] Announcement plan_announcement(const User& user, const Ref<UserRecord>& record,
                                                 const rules::Transition& transition) const;
    void announce_pending(User& user, MonoTime now);
    /// Tells with this commit what another node may have died before telling.
    void tell_what_others_hold_back(const User& user, Prepared& next) const;
    /// What was told last may have been told by another node.
    void note_told_elsewhere(User& user, const UserRecord& before, const UserRecordRef& stored);
    /// What was announced of the public face, told to receivers of webhooks.
    void tell_webhooks(const PresenceEvent& event, const Face& before);

    struct Prepared {
        UserRecordRef before;
        Ref<UserRecord> record;
        rules::Transition transition;
        Announcement plan;
        std::optional<LastSeenRow> ended;  ///< What the database is to have of it.
    };

    // Several nodes, in sharing.cc
    [[nodiscard]] Task<Result<bool>> go_without_store(SlotId user);
    /// Reads the records anew. False: of some nothing is stored, and the database is away. They are
    /// not `loaded`, and nor are those whose records cannot be read.
    [[nodiscard]] Task<Result<bool>> reload(std::vector<SlotId> users);
    /// What the database says in time; of all `users` it is not known where it does not.
    [[nodiscard]] Task<std::vector<ProfileAnswer>> profiles_in_time(std::vector<UserId> users);
    [[nodiscard]] Task<Result<std::vector<ProfileAnswer>>> read_profiles(std::vector<UserId> users);
    /// Reads, in time, what the user has declared, for prepare: this node may have taken it while
    /// it was apart, and have forgotten it. False: the database did not answer.
    Task<bool> read_declaration(UserId user);
    void take_record(SlotId user, UserRecordRef stored);
    [[nodiscard]] bool is_apart() const;
    [[nodiscard]] bool vouches_for_any(const User& user);
    [[nodiscard]] bool is_lost(const User& user);
    /// The store has no record: the database is asked for what it may have had in the meantime.
    void note_no_record(const UserId& user);
    /// Whether nobody of `sessions` counts, and nodes that have not been heard may know of one who
    /// does (RULINGS 29): nothing may be told, and nothing stated, that says more.
    [[nodiscard]] bool is_guess(const User& user, const std::vector<Session>& sessions) const;
    /// Whether the store has lost what was told under the versions of `before` (RULINGS 3).
    [[nodiscard]] bool was_lost(const User& user, const UserRecord& before,
                                const UserRecord& stored);

    // Sessions that others took over or ended, in orphans.cc
    /// A session that others ended or this node no longer vouches for, until its client shows life.
    struct Orphan {
        SlotId local;
        Session session;
        MonoTime since;
    };
    /// Finds out which sessions here others have taken over or ended.
    void reconcile(SlotId user, const UserRecordRef& before);
    void orphan(SlotId local, const Session& session, MonoTime since);
    void look_for_returns();
    Detached rejoin(SlotId local, Session session);

    // Sessions of other nodes, in elsewhere.cc
    /// Ends sessions that other nodes hold: all, or one. False: there are none.
    [[nodiscard]] Task<Result<bool>> end_elsewhere(SlotId user, std::optional<SessionId> only,
                                                   Cause cause, EndReason reason);
    void tell_holders(SlotId user, const std::vector<Session>& ended, EndReason reason);

    // Attaching, in attach.cc
    [[nodiscard]] Task<Result<Attachment>> attach_locked(AttachRequest request);
    /// @retval ErrorCode::conflict  The record was changed meanwhile by others.
    [[nodiscard]] Task<Result<Attachment>> take_place(SlotId slot, const AttachRequest& request,
                                                      MonoTime asked_at);
    /// Whether the token still stands; the record is held afterwards.
    [[nodiscard]] Task<Result<bool>> admit(SlotId slot, UserId user,
                                           std::optional<WallTime> token_issued_at);
    /// The session that `request` asks for; `held`: the one that it takes over.
    [[nodiscard]] Session begin_session(const AttachRequest& request, const Session* held,
                                        const std::vector<Session>& all) const;
    /// Whose place a new session takes; empty: there is room.
    struct Displaced {
        std::optional<Session> session;
        WallTime last_sign;
    };
    [[nodiscard]] Result<Displaced> make_room(User& user);
    [[nodiscard]] Millis left_after_restart(const Session& session, WallTime last_alive) const;
    SlotId open_local(SlotId user, const Session& session, const AttachRequest& request);
    /// Forgets the session that `heir` took over or took the place of, and closes its connection.
    /// What the heir has not said of its activity is still what it was before.
    void succeed(SlotId user, const SessionId& held, SlotId heir, std::optional<bool> active);

    // Sessions that live by HTTP, in http_beats.cc
    [[nodiscard]] SlotId find_beating(const UserId& user, const SessionId& session);
    [[nodiscard]] Task<Result<bool>> take_beat(SlotId session, BeatRequest request);
    [[nodiscard]] AttachRequest to_attach(BeatRequest request) const;

    // Ends, in endings.cc
    [[nodiscard]] Task<bool> end_locked(SlotId user, SlotId session, Cause cause, WallTime sign);
    void forget_local(SlotId session);
    /// The session is over, and no other goes on with it.
    void bury(SlotId session);
    /// The session goes on at another node.
    void hand_over(SlotId session, NodeId taker);
    void end_at_next_look(SlotId session);
    Detached end_later(SlotId session, Cause cause, WallTime sign);
    void cut_off(LocalSession& local, EndReason reason);
    /// How long a device that is thrown out now stays so.
    [[nodiscard]] WallTime barred_until() const {
        return parts_.clock.wall_now() + parts_.config.heartbeat.ttl;
    }
    [[nodiscard]] WallTime last_sign_of(const LocalSession& local);

    // What store.write_every_heartbeat shows, in shown_beats.cc
    void show_beat(const LocalSession& local);
    /// The public face was `before` until now.
    void show_change(const User& user, const Face& before);

    // Liveness, in liveness.cc
    void visit_session(SlotId session, std::uint32_t tick, MonoTime now);
    void visit_user(SlotId user, std::uint32_t tick, MonoTime now);
    /// Files a session that is due earlier than it stands filed, or does not stand filed.
    void file(SlotId session);
    /// Likewise for what is to happen to a user without anybody's doing.
    void file_user(SlotId user);
    void file_user_at(SlotId user, MonoTime deadline);
    Detached go_idle(SlotId session);
    /// Whether `other` is known to have been active after `mine` was at `active_at`.
    [[nodiscard]] bool was_active_after(SlotId user, const Session& other, const Session& mine,
                                        MonoTime active_at);
    /// The place in the order of activity that `mine` has by having been active at `active_at`:
    /// above all that were not active after it.
    [[nodiscard]] std::uint32_t rank_by_activity(SlotId user, const std::vector<Session>& sessions,
                                                 const Session& mine, MonoTime active_at);
    void close_if_idle(SlotId user);
    [[nodiscard]] bool ends_before_others_look(const User& user) const;
    /// Other nodes that hold sessions of the user are to see to what was given an end.
    void tell_of_end(const User& user, const UserRecord& before);
    Detached settle_expiry(UserId user);
    Detached apply_deferred(SlotId user);
    /// As the database has it now. Empty: it does not answer.
    [[nodiscard]] Task<std::optional<DeclaredState>> stored_declaration(UserId user);
    [[nodiscard]] MonoTime next_deadline(const LocalSession& session) const;
    [[nodiscard]] TokenBucket::Rate status_rate() const {
        return {parts_.limits.status_per_second, parts_.limits.status_burst};
    }
    [[nodiscard]] WallTime wall_of(MonoTime moment) const;
    /// For public versions.
    [[nodiscard]] std::uint64_t floor_now() const;
    /// For what comes after `before`. Where the store has no record, the own version goes on from
    /// the moment: it is shown to those alone who know when that was.
    [[nodiscard]] rules::VersionFloors floors_after(const User& user,
                                                    const UserRecord& before) const;
    /// What was told under versions that the store may have forgotten, under higher ones.
    [[nodiscard]] Ref<UserRecord> above_what_was_lost(const User& user,
                                                      const UserRecord& record) const;

    [[nodiscard]] Task<Result<bool>> declare(SlotId user, StatusChange change);
    [[nodiscard]] Task<Result<bool>> declare_on(SlotId user, SessionId session,
                                                StatusChange change);
    Detached apply_deferred_on(SlotId session);

    ServiceParts parts_;
    SessionOwner* owner_ = nullptr;
    SessionListener* listener_ = nullptr;
    std::uint64_t version_floor_ = 0;
    UserTable users_;
    SlotPool<LocalSession> sessions_;
    TimingWheel<WheelItem> wheel_;
    StallLog stalls_;
    Millis wall_offset_{0};
    std::vector<Orphan> orphans_;
    MonoTime orphans_due_;
    MonoTime database_rests_until_;  ///< Until then nothing that is stated waits for it.
};

}  // namespace presence
