#pragma once

#include "presence/base/random.h"
#include "presence/base/scheduler.h"
#include "presence/base/time.h"

#include "network.h"

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace presence::sim {

/// What a client holds of one user.
struct Held {
    std::uint32_t user = 0;
    std::string status;
    std::uint64_t version = 0;
    std::string rest;                        ///< Custom status, devices, as they were told.
    std::optional<std::int64_t> seen_at_ms;  ///< `lastSeen.at`
    MonoTime at;
};

/// What a client holds of a room that it is in.
struct HeldRoom {
    bool listed = false;
    bool in_parts = false;  ///< The rest of the list is on its way.
    std::uint64_t count = 0;
    std::set<std::string> members;
    MonoTime since;
};

class Client;

/// What the checkers hear of clients.
class ClientWatcher {
public:
    virtual ~ClientWatcher() = default;
    virtual void on_bytes(const Client& client, std::string_view text) = 0;
    /// One presence has arrived. `update`: unasked; else part of a snapshot.
    virtual void on_presence(const Client& client, const std::string& user, const Held& held,
                             bool update) = 0;
    /// A request about status, rules or blocks was sent, and how it ended.
    virtual void on_asked(const Client& client, std::uint64_t request, const std::string& text) = 0;
    virtual void on_answer(const Client& client, std::uint64_t request, bool done) = 0;
    /// The whole answer to a `get`.
    virtual void on_looked(const Client& client, const std::map<std::string, Held>& seen) = 0;
    /// It was told of a room, and now holds this.
    virtual void on_room(const Client& client, const std::string& room, const HeldRoom& held) = 0;
    /// One is named in what the client is told of a room, but for those who have left.
    virtual void on_member(const Client& client, const std::string& room,
                           const std::string& user) = 0;
    virtual void on_signal(const Client& client, const std::string& from) = 0;
    /// It was told something that does not fit what it was told before.
    virtual void on_nonsense(const Client& client, const std::string& what) = 0;
};

/// Where a client finds a server that takes it.
class Doors {
public:
    virtual ~Doors() = default;
    /// Null: none is up.
    virtual Network* any_door(SeededRandom& random) = 0;
};

/// A device: one connection after the other, one session as long as it can be resumed. Does what
/// PROTOCOL.md section 6 asks of a client library, by a clock of its own that is a little off.
class Client final : public Peer {
public:
    struct Parts {
        Scheduler& scheduler;
        const Clock& clock;
        Doors& doors;
        ClientWatcher& watcher;
        Millis interval;
        std::uint32_t number = 0;  ///< Among all devices of the story.
        std::string user;
        std::uint64_t seed;
    };
    explicit Client(Parts parts);

    // -- What people do --------------------------------------------------------------------------
    void come();
    void bye();
    void lose(bool says_close);
    void put_away(bool says_close);
    void freeze(Millis lasts);
    void watch(std::vector<std::string> users);
    /// False: it is not connected.
    bool ask(const std::string& body);
    void set_quiet(bool quiet);
    void set_clogged(bool clogged);
    void look();
    void join(const std::string& room);
    void leave_room(const std::string& room);
    void signal(const std::string& room);
    /// Goes on with the session of that other tab, whose storage it has a copy of.
    void take_copy(const Client& other) {
        resume_ = other.resume_;
        rooms_ = other.rooms_;
        leaving_ = other.leaving_;
    }

    // -- Facts -----------------------------------------------------------------------------------
    [[nodiscard]] std::uint32_t number() const { return parts_.number; }
    [[nodiscard]] const std::string& user() const { return parts_.user; }
    [[nodiscard]] bool is_open() const { return stage_ == Stage::open; }
    [[nodiscard]] bool wants() const { return wants_; }
    [[nodiscard]] bool is_frozen() const { return frozen_; }
    [[nodiscard]] bool is_awake() const { return stage_ == Stage::open && !frozen_; }
    /// Connected, with a snapshot of what it watches, and taking news; since when.
    [[nodiscard]] std::optional<MonoTime> hears_since() const;
    [[nodiscard]] const std::map<std::string, Held>& held() const { return held_; }
    /// What it held when it last asked for a fresh look.
    [[nodiscard]] const std::map<std::string, Held>& held_before() const { return held_before_; }
    /// What it is told now may be that old, as it did not read meanwhile.
    [[nodiscard]] std::optional<MonoTime> behind_since() const;
    [[nodiscard]] const std::set<std::string>& watched() const { return watched_; }
    [[nodiscard]] std::uint64_t connection() const { return connection_; }
    /// Neither connected nor about to be.
    [[nodiscard]] bool is_away() const { return stage_ == Stage::away && !wants_ && !frozen_; }
    /// Where it is told of what happens; elsewhere it holds nothing.
    [[nodiscard]] const std::map<std::string, HeldRoom>& rooms() const { return rooms_held_; }
    /// When it was last told of a room in which it is no more, or may be no more.
    [[nodiscard]] std::optional<MonoTime> left_at(const std::string& room) const {
        const auto found = rooms_left_at_.find(room);
        return found == rooms_left_at_.end() ? std::nullopt : std::optional(found->second);
    }
    /// It may be in the room by now, or yet.
    [[nodiscard]] bool may_be_in(const std::string& room) const {
        return !is_away() && (rooms_.contains(room) || leaving_.contains(room));
    }
    /// It is in the room, as far as it has been told.
    [[nodiscard]] bool is_in(const std::string& room) const { return rooms_held_.contains(room); }

    // -- Peer ------------------------------------------------------------------------------------
    void on_text(std::uint64_t connection, std::string_view text) override;
    void on_end(std::uint64_t connection, std::uint16_t code) override;
    [[nodiscard]] bool is_there() const override { return !frozen_; }

private:
    enum class Stage : std::uint8_t { away, greeting, open };
    struct Asked {
        enum class What : std::uint8_t { nothing, watch, get, change, beat, join, leave };
        What what = What::nothing;
        std::string room;
    };

    void connect();
    void connect_later(Millis wait);
    void drop();
    void forget_connection();
    void send(std::string body);
    std::uint64_t send_asking(const std::string& body, Asked::What what,
                              const std::string& room = {});
    void beat_later(Millis wait);
    void beat();
    void hear_anew(MonoTime from);

    // In client_inbox.cc
    void take(std::string_view text);
    void welcome(const std::string& resume);
    void take_answer(const Asked& asked, std::uint64_t request, bool done, Millis applied_in);
    void take_presences(const simdjson::dom::element& message, const Asked& asked, bool update,
                        bool more);

    // In client_rooms.cc
    void send_join(const std::string& room);
    void send_leave(const std::string& room);
    void return_to_rooms();
    void forget_rooms();
    [[nodiscard]] bool is_joining(const std::string& room) const;
    void take_room_answer(const Asked& asked, bool done);
    void take_room(const simdjson::dom::element& message, bool more);
    void take_room_update(const simdjson::dom::element& message);
    void add_members(const std::string& name, HeldRoom& held, const simdjson::dom::array& members,
                     bool there_are);

    void send_watch();
    void after_timeout(std::uint64_t request);
    [[nodiscard]] Millis jittered(Millis about);

    Parts parts_;
    SeededRandom random_;
    Stage stage_ = Stage::away;
    bool wants_ = false;
    bool frozen_ = false;
    bool quiet_ = false;  ///< Told the server so.
    bool wants_quiet_ = false;
    bool clogged_ = false;
    Network* door_ = nullptr;
    std::uint64_t connection_ = 0;
    std::string resume_;
    int failures_ = 0;
    std::uint64_t last_request_ = 0;
    std::map<std::uint64_t, Asked> asked_;
    std::map<std::string, Held> held_;
    std::map<std::string, Held> looked_;
    std::map<std::string, Held> held_before_;
    std::optional<MonoTime> clogged_since_;  ///< Until it has read what was kept for it.
    std::optional<MonoTime> frozen_since_;   ///< While it reads what came meanwhile.
    std::set<std::string> watched_;
    std::optional<MonoTime> hears_since_;
    std::set<std::string> rooms_;    ///< Those that it wants to be in.
    std::set<std::string> leaving_;  ///< Those that it left without an answer yet.
    std::map<std::string, HeldRoom> rooms_held_;
    std::map<std::string, MonoTime> rooms_left_at_;
    std::vector<std::pair<std::uint64_t, std::string>> stored_;  ///< What came while frozen.
    Scheduler::TimerId beat_timer_;
    Scheduler::TimerId connect_timer_;
    std::uint64_t freezes_ = 0;
};

}  // namespace presence::sim
