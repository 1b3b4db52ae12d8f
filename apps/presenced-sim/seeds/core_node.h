#pragma once

#include "presence/core/shard.h"
#include "presence/core/slot_pool.h"
#include "presence/stores/memory/local_bus.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_sessions.h"

#include "support/virtual_time.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace presence::seeds {

/// A device with one session, on a CoreNode.
struct Phone {
    UserId user;
    SlotId connection;
    SlotId session;
    SessionId id;  ///< Empty: it never had a session.
    ResumeHash secret{};
    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(session); }
};

/// The core of a node as it runs in `presenced`, in virtual time: one thread, stores in memory, and
/// phones in the place of sockets. Nothing happens but within run().
class CoreNode final : private SessionOwner, private WatchSink, private PresenceBus::Receiver {
public:
    CoreNode(const HeartbeatConfig& heartbeat, std::uint64_t seed);
    CoreNode(const CoreNode&) = delete;
    CoreNode& operator=(const CoreNode&) = delete;
    ~CoreNode() override;

    [[nodiscard]] MonoTime now() const { return clock_.now(); }
    [[nodiscard]] testing::VirtualScheduler& scheduler() { return scheduler_; }
    [[nodiscard]] SeededRandom& random() { return random_; }
    [[nodiscard]] PresenceService& service() { return shard_.service; }
    [[nodiscard]] CoreCounters& counters() { return shard_.counters; }

    /// Lets time pass; what was told is flushed as at the end of each turn of a loop.
    void run(Millis time);
    /// Lets time pass for a caller that has its own order of things: nothing but what is due.
    void step(Millis time);

    /// Comes, or comes back by its session, and has it when this returns.
    void attach(Phone& phone);
    /// The connection breaks without a word.
    void lose(Phone& phone);
    /// Says goodbye.
    void leave(Phone& phone);
    void beat(const Phone& phone) { shard_.service.heartbeat(phone.session, clock_.now()); }
    void watch(const Phone& viewer, std::vector<UserId> users);
    /// The user is busy from now on, by its own word.
    void declare_busy(const UserId& user);
    /// The bus is to bring what is told about these: on_event.
    void subscribe(std::vector<UserId> users);

    std::function<void(SlotId connection)> on_ping;    ///< A client would answer with a Pong.
    std::function<void(SlotId connection)> on_closed;  ///< The server ended it.
    std::function<void(const PresenceEvent&)> on_event;
    std::function<void(const UserId& user, Status status)> on_told;  ///< Once a watcher.

private:
    struct Connection {
        UserId user;
    };

    template <class T>
    T complete(Task<T> task);
    void tick();
    void close(SlotId connection);

    void end_connection(SlotId connection, EndReason reason) override;
    void ping_connection(SlotId connection) override;
    [[nodiscard]] const UserId* viewer_of(std::uint32_t slot) override;
    [[nodiscard]] bool can_take(std::uint32_t slot) override;
    void deliver_news(std::uint32_t slot, std::span<WatchIndex::Subject* const> subjects,
                      std::span<const Verdict> verdicts) override;
    void deliver_seen(std::uint32_t, std::span<const Seen* const>) override {}
    void on_presence(const PresenceEventRef& event) override;
    void on_profile_changed(const UserId&, std::uint64_t) override {}
    void on_signal(const SignalRef&) override {}
    void on_session_taken(const SessionTaken&) override {}
    void on_end_set(const EndSet&) override {}
    void on_session_stays(const SessionStays&) override {}
    void on_room(const RoomStatementRef&) override {}
    void on_room_asked(const RoomId&) override {}
    void on_survey(const SurveyQuestionRef&) override {}
    void on_survey_answer(const SurveyAnswerRef&) override {}

    CoreConfig config_;
    Limits limits_;
    testing::VirtualClock clock_;
    testing::VirtualScheduler scheduler_;
    SeededRandom random_;
    MemorySessions sessions_;
    MemoryProfiles profiles_;
    LocalBus bus_;
    MemorySessionStore session_store_;
    MemoryProfileStore profile_store_;
    Shard shard_;
    SlotPool<Connection> connections_;
};

/// Even over [0, 1).
[[nodiscard]] inline double part_of_one(Random& random) {
    constexpr double kScale = 1.0 / 9'007'199'254'740'992.0;  // 2^-53
    return static_cast<double>(random.next() >> 11U) * kScale;
}

}  // namespace presence::seeds
