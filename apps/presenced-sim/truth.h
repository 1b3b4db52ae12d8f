#pragma once

#include "presence/base/time.h"
#include "presence/core/configs.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace presence::sim {

/// What is true of people, from what their servers were told: apart from the code under test, and
/// by the words of DESIGN section 2.
///
/// Of each session it knows until when it surely keeps its user present, and from when on it surely
/// does not: the last heartbeat and the ttl, the loss of the connection and the grace, the last
/// renewal of a dead node's lease and the patience of the others. Between the two is doubt.
class Truth {
public:
    explicit Truth(const CoreConfig& config) : config_(config) {}

    // -- Sessions --------------------------------------------------------------------------------
    void welcomed(MonoTime now, const std::string& user, const std::string& session,
                  std::uint64_t connection, std::uint64_t server);
    void frame(MonoTime now, std::uint64_t connection);
    /// From now on the session may be over; it surely is when its connection is.
    void signs_out(MonoTime now, std::uint64_t connection);
    /// The server's end of the connection is over. `code`: with which it closed; 0: it was lost.
    void ended(MonoTime now, std::uint64_t connection, std::uint16_t code, bool silence);
    using SessionName = std::pair<std::string, std::string>;  ///< User and session.
    /// Until the server's end of the connection is over.
    [[nodiscard]] std::optional<SessionName> session_on(std::uint64_t connection) const;
    /// The one on which it was last welcomed; 0: it is long over.
    [[nodiscard]] std::uint64_t connection_of(const SessionName& session) const;
    /// When the session on that connection last showed life; empty: it is on another one by now.
    [[nodiscard]] std::optional<MonoTime> last_frame(std::uint64_t connection);
    /// The server holds a lease that was renewed now.
    void renewed(MonoTime now, std::uint64_t server);
    /// The process is dead: the others settle what it left.
    void died(MonoTime now, std::uint64_t server);
    /// The process was stopped until now: it takes nobody for gone who may only have been unheard.
    void stalled(MonoTime now, std::uint64_t server, Millis lasted);
    /// The store lost its data: what only it had is gone.
    void store_lost(MonoTime now);
    /// It lost what was written to it last.
    void writes_lost(MonoTime now);
    /// The clock of its machine was set: until its next renewals it writes wrong times.
    void clock_set(MonoTime now, std::uint64_t server) { clocks_set_[server] = now; }
    /// The record of the user is lost, and perhaps not restored yet.
    [[nodiscard]] bool is_doubted(MonoTime now, const std::string& user) {
        return person_of(user).doubt_until > now;
    }
    /// A server that slept has brought back a session that another one had taken over and ended.
    [[nodiscard]] bool may_linger(MonoTime now, const std::string& user) {
        return person_of(user).lingers_until > now;
    }
    /// No time until now counts against the leases of these: the store is away for all.
    void forgive(MonoTime now, const std::set<std::uint64_t>& alive);
    /// The store is back: who has not renewed since then is declared dead by nobody for one lease
    /// (RULINGS 24), if it was away for so long that all have noticed. Otherwise what counts is the
    /// last renewal (DESIGN rule 32). `alive`: who may renew now, however late.
    void take_back(MonoTime now, const std::set<std::uint64_t>& alive, MonoTime away_at,
                   MonoTime back_at);
    /// The server does not run from now on. What it was forgiven counts for nothing if it has not
    /// renewed its lease since: its sessions are in grace from its last renewal (DESIGN rule 32).
    void stopped(std::uint64_t server);
    /// Whether a server that the store does not answer since then must take the user for gone: the
    /// sessions that it knew of were all its own, and are over or went elsewhere (RULINGS 29).
    [[nodiscard]] bool seems_gone(MonoTime now, const std::string& user, std::uint64_t server,
                                  MonoTime apart_since);
    /// Whether only servers that have been apart from the store since then know of the user, who
    /// came to them later: `apart_since` by server; empty: it is not apart, or it is the one that
    /// tells.
    using ApartSince = std::function<std::optional<MonoTime>(std::uint64_t server)>;
    [[nodiscard]] bool came_unseen(MonoTime now, const std::string& user,
                                   const ApartSince& apart_since);
    /// Of this user the store may say less than is true, for that long.
    void doubt(MonoTime now, const std::string& user, Millis lasts);

    // -- Statuses and rules ----------------------------------------------------------------------
    /// @param asker  Tells the requests of several devices apart.
    void asked(MonoTime now, const std::string& user, const void* asker, std::uint64_t request,
               const std::string& text);
    void answered(MonoTime now, const std::string& user, const void* asker, std::uint64_t request,
                  bool done);

    // -- Facts -----------------------------------------------------------------------------------
    struct Person {
        std::optional<MonoTime> present_since;  ///< Surely, without a moment of absence.
        std::optional<MonoTime> absent_since;   ///< Surely.
    };
    /// How things stand at `now`, which never goes back.
    [[nodiscard]] Person person(MonoTime now, const std::string& user);
    /// Since when the session on a connection counts at its server; empty: there is none, or others
    /// may have ended it, and it has shown no life since (RULINGS 32).
    [[nodiscard]] std::optional<MonoTime> counts_since(std::uint64_t connection);
    /// How often all that knew of the user's newest versions, the store and the servers, was gone
    /// at once: then the database is all there is.
    [[nodiscard]] int forgotten(const std::string& user) { return person_of(user).forgotten; }
    /// Since when it is certain that the user does not hide by `invisible`.
    [[nodiscard]] std::optional<MonoTime> visible_since(const std::string& user) const;
    /// Since when it is certain that the user does.
    [[nodiscard]] std::optional<MonoTime> invisible_since(const std::string& user) const;
    /// Between which moments the user was last seen, as others may know it (rules 16 to 18).
    struct Seen {
        MonoTime from;     ///< MonoTime{}: it may be that nothing is known.
        MonoTime to;       ///< MonoTime{}: nothing can be known.
        bool sure = true;  ///< False: the user may be becoming invisible.
    };
    [[nodiscard]] Seen seen(MonoTime now, const std::string& user) const;
    /// What was declared for good, and since when; empty: in doubt.
    struct Declared {
        std::string status = "auto";
        MonoTime since;
        bool sure = true;
    };
    [[nodiscard]] Declared declared(const std::string& user);
    /// Whether `viewer` may see `subject`, and since when it is like that; empty: in doubt.
    struct Sight {
        bool sees = true;
        MonoTime since;
    };
    /// A change that was asked for and not answered: it may have been done, or be done yet.
    struct Doubt {
        bool open = false;
        MonoTime until;  ///< What is asked for after that comes after it.
    };
    /// What one user lets others see.
    struct Rules {
        std::string user;
        bool hidden = false;
        std::set<std::string> blocks;
        MonoTime changed;
        int pending = 0;
        Doubt hidden_doubt;
        std::map<std::string, Doubt> block_doubts;
    };
    [[nodiscard]] const Rules& rules_of(const std::string& user) { return person_of(user).rules; }
    [[nodiscard]] static std::optional<Sight> sight(const Rules& viewer, const Rules& subject);
    [[nodiscard]] std::optional<Sight> sight(const std::string& viewer,
                                             const std::string& subject) {
        return sight(rules_of(viewer), rules_of(subject));
    }
    /// The same for everyone: whether the user is in counts (RULINGS 10).
    [[nodiscard]] static std::optional<Sight> public_sight(const Rules& rules);

private:
    /// By then a server has written down what happened to a session, if the store lets it.
    static constexpr Millis kWritten{5'000};

    struct Asked {
        std::string text;
        MonoTime at;
    };
    /// Where a session was, from then on; 0: perhaps nowhere.
    struct Stop {
        MonoTime from;
        std::uint64_t server = 0;
    };
    struct Session {
        std::vector<Stop> way;
        std::uint64_t connection = 0;
        std::uint64_t server = 0;
        MonoTime present_until;  ///< At least.
        MonoTime absent_from;    ///< At the latest.
        MonoTime last_frame;
        MonoTime began;      ///< On that connection.
        MonoTime seen_from;  ///< Its newest sign of life that is not forgotten with its server.
    };
    struct PersonState {
        std::map<std::string, Session> sessions;
        std::optional<MonoTime> present_since;
        std::optional<MonoTime> absent_since = MonoTime{};
        MonoTime doubt_until;
        Declared declared;
        Doubt declared_doubt;
        int statuses_pending = 0;
        MonoTime maybe_invisible;  ///< The last moment at which the user may have been so.
        bool invisible = false;
        bool in_session_scope = false;  ///< Which session stands for the user is not followed.
        MonoTime seen_from;             ///< Of sessions that are over.
        int forgotten = 0;
        MonoTime lingers_until;  ///< It may be that a session that is over stands for the user.
        MonoTime seen_to;
        Rules rules;
    };

    [[nodiscard]] MonoTime present_until(const Session& session) const;
    [[nodiscard]] MonoTime absent_from(const Session& session) const;
    void look(MonoTime now, PersonState& person);
    /// Forgets sessions that are long over.
    void prune(MonoTime now, PersonState& person);
    [[nodiscard]] static bool is_surely_invisible(const PersonState& person);
    static void sign_of_life(MonoTime now, PersonState& person, Session& session);
    /// Others know of the session only what its server told them until then.
    void forget_ended(MonoTime now, PersonState& person);
    void forget_signs(MonoTime renewal, PersonState& person, Session& session, bool all) const;
    [[nodiscard]] PersonState& person_of(const std::string& user);
    [[nodiscard]] Session* session_of(std::uint64_t connection);
    static void take_status(MonoTime now, PersonState& person, const Asked& asked, bool done);
    static void take_rules(MonoTime now, Rules& rules, const Asked& asked, bool done);
    static void settle_doubt(MonoTime now, Doubt& doubt, const Asked& asked, bool done);

    const CoreConfig& config_;
    std::map<std::string, PersonState> people_;
    std::map<std::uint64_t, SessionName> sessions_;  ///< By connection.
    /// By server: since when the others have reason to miss it, at the earliest and at the latest.
    std::map<std::uint64_t, MonoTime> leases_;
    std::map<std::uint64_t, MonoTime> missed_;
    std::map<std::uint64_t, MonoTime> renewals_;  ///< The last one.
    std::map<std::uint64_t, MonoTime> clocks_set_;
    std::map<std::uint64_t, MonoTime> woken_;
    std::set<std::uint64_t> dead_;
    std::map<std::pair<const void*, std::uint64_t>, Asked> asked_;
    MonoTime store_doubt_until_;  ///< The store may lack what was told to it.
};

}  // namespace presence::sim
