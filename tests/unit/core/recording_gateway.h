#pragma once

#include "presence/core/shard.h"
#include "presence/core/slot_pool.h"
#include "presence/core/survey.h"
#include "presence/model/view.h"
#include "presence/ports/presence_bus.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// One presence as a viewer was told it, and when.
struct Told {
    MonoTime at;
    UserId user;
    Status status = Status::offline;
    Version version;
    std::string text;  ///< Of the custom status.
    std::optional<DeviceSet> devices;
    std::optional<LastSeenView> last_seen;
    std::optional<DeclaredStatus> declared;

    /// Everything that left for the viewer, but for the moment.
    [[nodiscard]] std::string line() const {
        std::string line = user.text + " " + std::string(wire_name(status)) + " v" +
                           std::to_string(version.value) + " '" + text + "'";
        if (devices) {
            line += " devices " + std::to_string(devices->bits);
        }
        if (last_seen) {
            line += " seen " + std::string(wire_name(last_seen->granularity)) + " " +
                    std::to_string(last_seen->at ? last_seen->at->ms() : 0);
        }
        return line;
    }
    friend std::ostream& operator<<(std::ostream& out, const Told& told) {
        return out << told.at.since_start.count() << ": " << told.line();
    }
};

[[nodiscard]] inline Told told_of(MonoTime at, const PresenceView& view) {
    Told told{at, view.user(), view.status(), view.version(), {}, {}, {}, {}};
    told.text = view.custom() ? view.custom()->text : "";
    told.devices = view.devices();
    told.last_seen = view.last_seen();
    if (view.declared()) {
        told.declared = view.declared()->status;
    }
    return told;
}

/// What a viewer was told about a room, and when.
struct ToldRoom {
    MonoTime at;
    std::string what;  ///< "room", "update" or "signal".
    std::string room;
    std::size_t count = 0;
    bool exact = true;
    bool listed = false;
    std::vector<std::string> joined;  ///< "user status" and the meta; of a signal who and what.
    std::vector<std::string> changed;
    std::vector<std::string> left;

    /// Everything that left for the viewer, but for the moment.
    [[nodiscard]] std::string line() const {
        std::string line =
            what + " " + room + " " + std::to_string(count) + (exact ? "" : " or so");
        const auto add = [&](const char* name, const std::vector<std::string>& list) {
            if (!list.empty()) {
                line += std::string("; ") + name;
                for (const std::string& one : list) {
                    line += " " + one + ",";
                }
            }
        };
        add(what == "room" ? "members" : "joined", joined);
        add("changed", changed);
        add("left", left);
        return line;
    }
    friend std::ostream& operator<<(std::ostream& out, const ToldRoom& told) {
        return out << told.at.since_start.count() << ": " << told.line();
    }
};

/// In the place of a gateway: holds made-up connections, writes down what they are told, and does
/// what a gateway does with news of the bus.
class RecordingGateway final : public SessionOwner,
                               public WatchSink,
                               public RoomSink,
                               public PresenceBus::Receiver {
public:
    struct Connection {
        UserId user;
        bool open = true;
        bool takes = true;
        std::vector<Told> told;
        std::vector<ToldRoom> rooms;
        std::optional<EndReason> ended;
        MonoTime ended_at;
        int pings = 0;
        MonoTime pinged_at;
    };

    explicit RecordingGateway(Shard& shard) : shard_(shard) {
        shard.service.set_owner(this);
        shard.watches.set_sink(this);
        shard.rooms.set_sink(this);
        shard.bus.set_receiver(this);
    }
    ~RecordingGateway() override {
        shard_.bus.set_receiver(nullptr);
        shard_.rooms.set_sink(nullptr);
        shard_.watches.set_sink(nullptr);
        shard_.service.set_owner(nullptr);
    }

    [[nodiscard]] SlotId open(UserId user) {
        Connection connection;
        connection.user = std::move(user);
        return connections_.create(std::move(connection));
    }
    /// Kept to be looked at; only its watches go.
    void close(SlotId id) {
        connections_.at(id).open = false;
        shard_.rooms.drop_connection(id.slot);
        shard_.watches.unwatch_all(id.slot);
    }
    [[nodiscard]] Connection& at(SlotId id) { return connections_.at(id); }
    /// The place may be given to another connection.
    void forget(SlotId id) {
        close(id);
        connections_.destroy(id);
    }

    void set_takes(SlotId id, bool takes) {
        connections_.at(id).takes = takes;
        if (takes) {
            catch_up(id);
        }
    }

    // --- SessionOwner
    void end_connection(SlotId id, EndReason reason) override {
        if (Connection* const connection = connections_.find(id)) {
            connection->ended = reason;
            connection->ended_at = shard_.clock.now();
            close(id);
        }
    }
    void ping_connection(SlotId id) override {
        if (Connection* const connection = connections_.find(id)) {
            ++connection->pings;
            connection->pinged_at = shard_.clock.now();
        }
    }

    // --- WatchSink
    const UserId* viewer_of(std::uint32_t slot) override {
        const auto [connection, id] = connections_.in(slot);
        return connection != nullptr && connection->open ? &connection->user : nullptr;
    }
    bool can_take(std::uint32_t slot) override {
        const auto [connection, id] = connections_.in(slot);
        return connection != nullptr && connection->open && connection->takes;
    }
    void deliver_news(std::uint32_t slot, std::span<WatchIndex::Subject* const> subjects,
                      std::span<const Verdict> verdicts) override {
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            write_down(slot, shard_.reader.view(subjects[i]->user, &subjects[i]->news->presence,
                                                verdicts[i]));
        }
    }
    void deliver_seen(std::uint32_t slot, std::span<const Seen* const> seen) override {
        for (const Seen* one : seen) {
            write_down(slot, shard_.reader.view(*one));
        }
    }

    // --- RoomSink
    bool is_open(SlotId id) override {
        const Connection* const connection = connections_.find(id);
        return connection != nullptr && connection->open;
    }
    void deliver_room(std::uint32_t slot, const RoomNews& news, RoomFrames& frames) override {
        const auto [connection, id] = connections_.in(slot);
        PRESENCE_ASSERT(connection != nullptr && connection->open);
        PRESENCE_ASSERT(connection->takes || news.answers);
        ToldRoom told{shard_.clock.now(),
                      news.whole ? "room" : "update",
                      std::string(news.room.text),
                      news.count,
                      news.exact,
                      news.listed,
                      {},
                      {},
                      {}};
        const auto line_of = [&](const RoomLine& line) {
            const PresenceView view = shard_.rooms.view(line);
            std::string text =
                view.user().text + " " + std::string(wire_name(view.status())) + *line.meta;
            // Bytes that are kept for all must be those that this viewer would get by itself.
            if (line.encoded != nullptr) {
                PRESENCE_ASSERT(line.encoded->empty() || *line.encoded == text);
                *line.encoded = text;
            }
            return text;
        };
        for (const RoomLine& line : news.joined) {
            told.joined.push_back(line_of(line));
        }
        for (const RoomLine& line : news.changed) {
            told.changed.push_back(line_of(line));
        }
        for (const UserId* user : news.left) {
            told.left.emplace_back(user->text);
        }
        // Frames that are kept for a group likewise.
        const std::string line = told.line();
        PRESENCE_ASSERT(frames.empty() || *frames.front() == line);
        if (frames.empty()) {
            frames.push_back(std::make_shared<const std::string>(line));
        }
        connection->rooms.push_back(std::move(told));
    }
    void deliver_room_signal(std::uint32_t slot, const SignalMessage& signal,
                             RoomFrames& /*frames*/) override {
        const auto [connection, id] = connections_.in(slot);
        PRESENCE_ASSERT(connection != nullptr && connection->open && connection->takes);
        connection->rooms.push_back({shard_.clock.now(),
                                     "signal",
                                     std::string(signal.room->text),
                                     0,
                                     true,
                                     false,
                                     {signal.from.text + " " + signal.kind},
                                     {},
                                     {}});
    }

    // --- PresenceBus::Receiver
    void on_presence(const PresenceEventRef& event) override {
        events.push_back(event);
        if (event->rules_revision > 0 && shard_.cache.heard(event->user, event->rules_revision)) {
            on_profile_changed(event->user, event->rules_revision);
        }
        shard_.watches.on_presence(event);
        shard_.rooms.on_presence(event);
    }
    void on_profile_changed(const UserId& user, std::uint64_t revision) override {
        shard_.cache.heard(user, revision);
        shard_.cache.invalidate(user);
        std::vector<std::uint32_t> viewing;
        for (const SlotId id : shard_.service.connections_of(user)) {
            viewing.push_back(id.slot);
        }
        shard_.watches.reconsider(user, viewing);
        shard_.rooms.reconsider(user, viewing);
    }
    void on_session_taken(const SessionTaken& taken) override {
        shard_.service.session_taken(taken);
    }
    void on_end_set(const EndSet& set) override { shard_.service.read_end_of(set.user); }
    void on_session_stays(const SessionStays& stays) override {
        if (shard_.service.holds(stays.user, stays.session)) {
            shard_.rooms.take_over(stays);
        }
    }
    void on_signal(const SignalRef& signal) override {
        if (signal->room) {
            shard_.rooms.on_signal(signal);
        }
    }
    void on_room(const RoomStatementRef& statement) override {
        statements.push_back(statement);
        shard_.rooms.on_room(statement);
    }
    void on_room_asked(const RoomId& room) override {
        asked.push_back({shard_.clock.now(), room});
        shard_.rooms.on_room_asked(room);
    }
    void on_survey(const SurveyQuestionRef& question) override {
        ++surveys;
        if (shard_.survey != nullptr) {
            shard_.survey->on_question(question);
        }
    }
    void on_survey_answer(const SurveyAnswerRef& answer) override {
        if (shard_.survey != nullptr) {
            shard_.survey->on_answer(answer);
        }
    }

    /// What the bus brought to this thread.
    std::vector<PresenceEventRef> events;
    std::vector<RoomStatementRef> statements;
    struct Asked {
        MonoTime at;
        RoomId room;
    };
    std::vector<Asked> asked;
    std::size_t surveys = 0;

private:
    Detached catch_up(SlotId id) {
        Task<bool> catching = shard_.watches.catch_up_now(id.slot);
        co_await catching;
        shard_.rooms.catch_up(id.slot);
    }
    void write_down(std::uint32_t slot, const PresenceView& view) {
        const auto [connection, id] = connections_.in(slot);
        PRESENCE_ASSERT(connection != nullptr && connection->open);
        PRESENCE_ASSERT(connection->takes);  // Nobody is told who cannot take it.
        connection->told.push_back(told_of(shard_.clock.now(), view));
    }

    Shard& shard_;
    SlotPool<Connection> connections_;
};

}  // namespace presence::testing
