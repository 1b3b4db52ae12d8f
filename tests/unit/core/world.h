#pragma once

#include "presence/core/journal_writer.h"
#include "presence/core/shard.h"
#include "presence/stores/memory/local_bus.h"
#include "presence/stores/memory/memory_journal.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_sessions.h"

#include "support/run_task.h"
#include "support/virtual_time.h"
#include "unit/core/late_answers.h"
#include "unit/core/recording_gateway.h"
#include "unit/core/world_parts.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// A node's core in virtual time: one or several shards on one scheduler, made-up connections that
/// beat, stores in memory. Nothing happens but within `run` and `wait`.
class World {
public:
    explicit World(WorldOptions options = {});
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    ~World();

    struct Thread {
        Thread(World& world, std::size_t index, bool journal, bool mirrors);
        MemorySessionStore store;
        LateAnswers late;
        MemoryProfileStore profile_store;
        RecordingHooks hooks;
        RecordingMirror mirror;
        Shard shard;
        RecordingGateway gateway;
    };

    // --- Time ------------------------------------------------------------------------------------
    void run(Millis time) { run_to(clock.now() + time); }
    void run_to(MonoTime end);
    /// What is due now, to its end.
    void turn();
    template <class T>
    T wait(Task<T> task) {
        const Started<T> result = start_task(std::move(task));
        const MonoTime most = clock.now() + 600s;
        while (!result->has_value()) {
            PRESENCE_ASSERT(clock.now() < most && scheduler.run_next());
            flush();
        }
        return std::move(**result);
    }
    /// The process does not run for a while; then it reads its sockets before anything else.
    void stall(Millis time);

    // --- Devices ---------------------------------------------------------------------------------
    [[nodiscard]] Shard& shard_of(const UserId& user);
    [[nodiscard]] PresenceService& service(const UserId& user) { return shard_of(user).service; }
    [[nodiscard]] RecordingGateway& gateway(const UserId& user);
    [[nodiscard]] Shard& shard() { return threads[0]->shard; }
    [[nodiscard]] CoreCounters& counters() { return shard().counters; }

    [[nodiscard]] AttachRequest request_of(const Client& client, const Connecting& how);
    [[nodiscard]] Client new_client(const UserId& user, const Connecting& how = {});
    void take(const Client& client, const Attachment& attached);
    Result<Client> try_connect(const UserId& user, const Connecting& how = {});
    Client connect(const UserId& user, const Connecting& how = {});
    Client connect(const char* user, const Connecting& how = {});
    Client resume(const Client& old, Connecting how = {});

    void beat(const Client& client);
    /// The first beat one interval from now, and so on, until it falls silent or is closed.
    void keep_beating(const Client& client);
    static void fall_silent(const Client& client) { client->beating = false; }

    /// The connection breaks. `sign_of_life`: with a Close frame.
    void lose(const Client& client, bool sign_of_life = false);
    void bye(const Client& client);
    /// Active `ago` ago; empty: idle.
    bool report(const Client& client, std::optional<Millis> ago);
    [[nodiscard]] RecordingGateway::Connection& connection(const Client& client);
    [[nodiscard]] bool is_open(const Client& client) { return connection(client).open; }

    // --- Statuses --------------------------------------------------------------------------------
    Result<StatusOutcome> declare(const UserId& user, StatusChange change, bool limited = false);
    Result<StatusOutcome> declare(const UserId& user, DeclaredStatus status,
                                  std::optional<WallTime> until = {});
    Result<StatusOutcome> say(const UserId& user, const std::string& text,
                              std::optional<WallTime> until = {});
    Result<StatusOutcome> declare_on(const Client& client, DeclaredStatus status,
                                     std::optional<WallTime> until = {}, bool limited = false);

    // --- Watching --------------------------------------------------------------------------------
    [[nodiscard]] WatchRequest watch_request(const Client& viewer, std::vector<UserId> users,
                                             bool replace = false) const;
    [[nodiscard]] std::vector<Told> views(Shard& shard, const std::vector<Seen>& seen) const;
    /// The snapshot.
    Result<std::vector<Told>> try_watch(const Client& viewer, std::vector<UserId> users,
                                        bool replace = false);
    std::vector<Told> watch(const Client& viewer, const std::vector<const char*>& users,
                            bool replace = false);
    void unwatch(const Client& viewer, const std::vector<const char*>& users);
    [[nodiscard]] std::vector<Told>& told(const Client& viewer) { return connection(viewer).told; }
    void set_takes(const Client& viewer, bool takes);

    /// A fresh look, as by `get`. Empty viewer: a back end.
    Told look(const std::optional<UserId>& viewer, const UserId& user);
    Told look(const char* viewer, const char* user) { return look(UserId(viewer), UserId(user)); }
    Told look_as_back_end(const char* user) { return look(std::nullopt, UserId(user)); }

    /// What the database holds.
    [[nodiscard]] ProfileRef stored(const char* user);
    [[nodiscard]] std::optional<WallTime> stored_last_seen(const char* user);
    [[nodiscard]] UserRecordRef record(const char* user) { return sessions.load(UserId(user)); }

    // --- Rooms -----------------------------------------------------------------------------------
    [[nodiscard]] RoomDesk& rooms(const Client& client) { return shard_of(client->user).rooms; }
    /// Joins, and gives what was answered.
    Result<ToldRoom> try_join(const Client& client, const char* room, const Joining& how = {});
    ToldRoom join(const Client& client, const char* room, const Joining& how = {});
    void leave(const Client& client, const char* room);
    /// Typing, as a gateway passes it on.
    void signal(const Client& client, const char* room);
    /// What the viewer was told since the last time, one line each.
    std::vector<std::string> told_rooms(const Client& client);
    RoomFacts room_facts(const char* room);

    // --- Rules -----------------------------------------------------------------------------------
    void set_online_rule(const char* user, Audience audience, std::vector<UserId> users = {});
    void set_last_seen_rule(const char* user, Audience audience);
    void set_rules(const char* user, PrivacySettings settings);
    void change_blocks(const char* user, const char* other, bool block);
    void change_contacts(const char* user, const char* other, bool add);

    CoreConfig config;
    Limits limits;
    std::shared_ptr<Disk> disk;
    VirtualClock& clock;
    VirtualScheduler scheduler;
    SeededRandom random;
    MemorySessions sessions;
    LocalBus bus;
    Homes homes;
    MemoryJournal journal;
    CoreCounters journal_counters;
    JournalWriter journal_writer;
    std::vector<std::unique_ptr<Thread>> threads;

private:
    static UserSetChange one_change(const char* other, bool add);
    void begin_life();
    void tick();
    void flush();
    void beat_later(const Client& client);

    std::vector<Client> beaters_;
    std::uint64_t room_requests_ = 0;
};

}  // namespace presence::testing
