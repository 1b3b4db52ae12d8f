#pragma once

#include "client.h"
#include "script.h"
#include "server.h"
#include "truth.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace presence::sim {

inline constexpr std::int64_t kMinuteMs = 60'000;
/// By so much a node may misjudge how far its clock is off, where the store is slow.
inline constexpr Millis kMisjudged{1'000};

/// What a client holds, in words.
[[nodiscard]] std::string told(const Held& held);

/// A whole cluster with its clients and everything between them, in virtual time, and the checkers
/// that look on. One story, once.
class World final : private ServerSide, private ClientWatcher, private Doors {
public:
    explicit World(const Story& story);
    ~World() override;
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Plays the story, lets things come to rest, and looks at what is left.
    /// @return What did not hold; empty: all held.
    std::string play();

    struct Figures {
        std::uint64_t presences = 0;  ///< Told to clients.
        std::uint64_t checks = 0;     ///< Of what one client holds of one user.
        std::uint64_t faults = 0;
    };
    [[nodiscard]] const Figures& figures() const { return figures_; }
    /// Each presence as it arrived and each write to the store, one line each, if wanted before
    /// play().
    void write_down(std::string* log);
    /// By device: all that clients were told but those of the first user, if wanted before play().
    using Bytes = std::map<std::uint32_t, std::string>;
    void record_bytes(Bytes* bytes) { bytes_ = bytes; }  ///< Null: not.

private:
    /// A place at which servers live one after the other.
    struct Place {
        explicit Place(const VirtualClock& world) : machine(world) {}
        Machine machine;
        Server* server = nullptr;  ///< The one that lives, or the last one.
        MonoTime paused_from;
        MonoTime paused_to;
        bool paused = false;
    };

    /// The highest of what one device was told of one user.
    struct Told {
        std::uint64_t version = 0;
        std::uint64_t on_connection = 0;  ///< Likewise, on `connection` alone.
        std::uint64_t connection = 0;
        std::int64_t seen_at_ms = 0;
        int forgotten = 0;  ///< Truth::forgotten then.
    };

    [[nodiscard]] MonoTime now() const { return clock_.now(); }
    /// Since the story began.
    [[nodiscard]] double seconds_of(MonoTime at) const {
        return static_cast<double>((at - started_).count()) / 1000;
    }
    [[nodiscard]] WallTime to_wall(MonoTime at) const { return clock_.wall_now() + (at - now()); }
    void run_to(MonoTime end);
    void boot(std::size_t place);
    void play_event(const Event& event);
    void play_fault(const Event& event);
    void play_client(const Event& event);
    /// Until then, and `allowance` longer, watchers may be late.
    void disturb(MonoTime until) { quiet_from_ = std::max(quiet_from_, until); }
    [[nodiscard]] static std::string room_name(std::uint64_t index);
    void copy_tab(std::uint32_t index);
    [[nodiscard]] std::vector<std::string> watch_list(std::uint64_t dice) const;
    [[nodiscard]] Place* place_of(const Server& server);

    void hide_first_user();  // In twins.cc

    // Faults, in faults.cc
    void for_a_while(Millis lasts, Millis allowance, Scheduler::Work undo);
    void lose_bus(Server& server, Millis lasts);
    void lose_all_buses(Millis lasts);
    void died(std::size_t index, Millis comes_back_after);
    void store_back();
    void kill(const Event& event, Place& place);
    void pause(const Event& event, Place& place);
    void drain(const Event& event, Place& place);
    void store_down(const Event& event, Place&);
    void cut_off(const Event& event, Place& place);
    void store_slow(const Event& event, Place&);
    void answers_lost(const Event& event, Place&);
    void fail_over(const Event& event, Place&);
    void store_lost(const Event&, Place&);
    void record_lost(const Event& event, Place&);
    void database_down(const Event& event, Place&);
    void deaf(const Event& event, Place& place);
    void bus_slow(const Event& event, Place&);
    void clock_step(const Event& event, Place& place);

    // Checkers, in checks.cc
    void fail(std::string what);
    /// Into the log, if one is wanted.
    void note(const std::string& line);
    /// What is true of a user now, looked up once for all who watch.
    struct UserFacts {
        std::string name;
        const Truth::Rules* rules = nullptr;
        Truth::Person person;
        std::optional<MonoTime> visible;
        std::optional<MonoTime> hidden;
        Truth::Declared declared;
        /// By room: whether the user is in it for others to see; empty: in doubt.
        std::map<std::string, std::optional<bool>> in_rooms;
    };
    void audit();
    void look_up_facts();
    void audit_one(const Client& client, const UserFacts& viewer, const Held& held);
    void audit_present(const Client& client, const UserFacts& user, const Held& held);
    /// Its server lives and holds the connection.
    [[nodiscard]] bool is_served(const Client& client) const;
    void check_version(const Client& client, const std::string& user, const Held& held,
                       Told& before);
    void check_seen(const Client& client, const std::string& user, const Held& held, Told& before);
    void check_early(const Client& client, const std::string& user, const Held& held);
    struct Allowed {
        MonoTime news;   ///< What was true before that is known to the client.
        MonoTime rules;  ///< Likewise, of rules.
    };
    [[nodiscard]] Allowed allowed_for(const Client& client);
    /// Since when the store does not answer the server, or did not until just now.
    [[nodiscard]] std::optional<MonoTime> apart_since(const Server& server) const;
    [[nodiscard]] bool must_seem_gone(const Client& client, const std::string& user);
    void check_silence(std::uint64_t connection);
    void check_replaced(std::uint64_t connection);
    /// False: for longer than a change of rules takes it is certain that the client may not see it.
    [[nodiscard]] bool may_be_told(const Client& client, const std::string& user);

    // The same for rooms, in room_checks.cc
    [[nodiscard]] std::optional<bool> is_in_room(std::uint32_t user, const std::string& room);
    void audit_rooms(const Client& client, const UserFacts& viewer);
    std::optional<bool> audit_member(const UserFacts& viewer, const UserFacts& user,
                                     const std::string& room, const HeldRoom& held);

    // At the end, in rest.cc
    void come_to_rest();
    void check_agreement();
    void check_nothing_left();
    void check_last_seen();

    // ServerSide
    void on_welcome(std::uint64_t connection, std::string_view text) override;
    void on_frame(std::uint64_t connection) override;
    void on_bye(std::uint64_t connection) override;
    void on_server_end(std::uint64_t connection, std::uint16_t code,
                       std::string_view word) override;
    // ClientWatcher
    void on_bytes(const Client& client, std::string_view text) override;
    void on_presence(const Client& client, const std::string& user, const Held& held,
                     bool update) override;
    void on_asked(const Client& client, std::uint64_t request, const std::string& text) override;
    void on_answer(const Client& client, std::uint64_t request, bool done) override;
    void on_room(const Client& client, const std::string& room, const HeldRoom& held) override;
    void on_member(const Client& client, const std::string& room, const std::string& user) override;
    void on_signal(const Client& client, const std::string& from) override;
    void on_nonsense(const Client& client, const std::string& what) override;
    void on_looked(const Client& client, const std::map<std::string, Held>& seen) override;
    // Doors
    Network* any_door(SeededRandom& random) override;

    const Story& story_;
    VirtualClock clock_;
    VirtualScheduler scheduler_{clock_};
    CoreConfig config_;
    Limits limits_;
    Stores stores_;
    Bus bus_;
    Truth truth_;
    std::vector<std::unique_ptr<Place>> places_;
    std::vector<std::unique_ptr<Server>> servers_;  ///< All that ever lived.
    std::vector<std::unique_ptr<Client>> clients_;
    std::map<std::pair<const Client*, std::string>, Told> told_;
    std::vector<UserFacts> facts_;
    MonoTime quiet_from_;
    MonoTime stores_away_at_;
    MonoTime stores_back_at_;
    MonoTime died_at_;  ///< When a server last did.
    MonoTime started_;
    std::string failure_;
    Figures figures_;
    std::string* log_ = nullptr;
    Bytes* bytes_ = nullptr;
    std::size_t looked_ = 0;
    int store_downs_ = 0;
    int database_downs_ = 0;
};

}  // namespace presence::sim
