#pragma once

#include "presence/core/beat_writer.h"
#include "presence/core/call_budgets.h"
#include "presence/core/configs.h"
#include "presence/core/counters.h"
#include "presence/core/homes.h"
#include "presence/core/last_seen_writer.h"
#include "presence/core/limits.h"
#include "presence/core/presence_service.h"
#include "presence/core/profile_cache.h"
#include "presence/core/profile_editor.h"
#include "presence/core/reader_places.h"
#include "presence/core/restorer.h"
#include "presence/core/room_desk.h"
#include "presence/core/snapshot.h"
#include "presence/core/transition_memory.h"
#include "presence/core/watch_desk.h"

#include <functional>
#include <memory>
#include <vector>

namespace presence {

/// What a shard is built on; all of it outlives the shard.
struct ShardParts {
    Scheduler& scheduler;
    const Clock& clock;
    Random& random;
    SessionStore& sessions;
    ProfileStore& profiles;
    PresenceBus& bus;
    JournalSink* journal;
    const CoreConfig& config;
    const Limits& limits;
    LastSeenSpool* spool = nullptr;  ///< Null: ends wait in memory while the database is away.
    WebhookEvents* webhooks = nullptr;
    BeatMirror* beats = nullptr;  ///< Null: heartbeats are written nowhere.
};

/// Holds this thread's readers over HTTP: streams and waiting polls.
class ReaderOwner {
public:
    virtual ~ReaderOwner() = default;
    /// Rules, contacts, blocks or revocation of `user` have changed; the caches know.
    virtual void on_profile_changed(const UserId& user) = 0;
    /// Those who read.
    [[nodiscard]] virtual std::vector<UserId> users() const = 0;
    /// The user was erased: nothing goes on under that name.
    virtual void end_readers(const UserId& user) = 0;
    /// All of the thread, the gateway's included.
    [[nodiscard]] virtual OpenConnections connections() const = 0;
};

class Survey;

/// One thread's share of the system: the users whose home it is, and the watches of the
/// connections that it holds. Everything in it belongs to that thread; other threads come in by
/// run_there.
struct Shard {
    explicit Shard(const ShardParts& parts)
        : scheduler(parts.scheduler),
          clock(parts.clock),
          config(parts.config),
          limits(parts.limits),
          sessions(parts.sessions),
          profiles(parts.profiles),
          bus(parts.bus),
          cache(parts.clock, parts.profiles, parts.limits, counters, ProfileCache::kTtl, &nodes),
          owed_ends(parts.scheduler, parts.sessions, nodes, parts.limits, counters),
          last_seen(parts.scheduler, parts.profiles, parts.limits, counters, parts.journal,
                    parts.spool, &owed_ends),
          beats(parts.beats == nullptr
                    ? nullptr
                    : std::make_unique<BeatWriter>(parts.scheduler, parts.clock, *parts.beats,
                                                   nodes, parts.limits, counters,
                                                   parts.config.heartbeat.interval)),
          past(parts.clock, parts.limits, counters),
          service({parts.scheduler, parts.clock, parts.random, parts.sessions, parts.profiles,
                   cache, parts.bus, last_seen, parts.journal, parts.config, parts.limits, counters,
                   nodes, parts.webhooks, beats.get(), &past}),
          restorer(parts.scheduler, cache, service),
          reader(parts.clock, cache, parts.sessions, parts.config, nodes, parts.limits, counters),
          editor(parts.profiles, cache, parts.bus, parts.limits, past, nodes),
          watches(parts.scheduler, parts.clock, parts.bus, reader, parts.limits, counters),
          rooms({parts.scheduler, parts.clock, parts.bus, reader, watches, nodes, parts.limits,
                 counters, parts.webhooks}) {
        service.set_listener(&rooms);
        losses.found = [this] {
            nodes.all_stated = false;
            if (on_loss) {
                on_loss();
            }
        };
        sessions.watch_losses(losses);
    }
    ~Shard() { service.set_listener(nullptr); }
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;

    Scheduler& scheduler;
    const Clock& clock;
    const CoreConfig& config;
    const Limits& limits;
    SessionStore& sessions;
    ProfileStore& profiles;
    PresenceBus& bus;
    CoreCounters counters;
    NodeView nodes;
    LossWatch losses;
    std::function<void()> on_loss;  ///< A read met a loss of which nobody had told this thread.
    ProfileCache cache;
    OwedEnds owed_ends;
    LastSeenWriter last_seen;
    std::unique_ptr<BeatWriter> beats;  ///< Null: store.write_every_heartbeat is off.
    TransitionMemory past;
    PresenceService service;
    Restorer restorer;
    SnapshotReader reader;
    ProfileEditor editor;
    WatchDesk watches;
    RoomDesk rooms;
    CallBudgets calls;               ///< Of the users whose home this is.
    ReaderPlaces places;             ///< Likewise.
    ReaderOwner* readers = nullptr;  ///< Of this thread, whoever's they are; null: none.
    Survey* survey = nullptr;        ///< Of the node, where this is its first thread.
};

/// All threads of this node, by the index that Homes gives.
struct Shards {
    Homes homes;
    std::vector<Shard*> all;

    [[nodiscard]] Shard& home_of(const UserId& user) const { return *all[homes.index_of(user)]; }
    [[nodiscard]] Shard& home_of(const RoomId& room) const { return *all[homes.index_of(room)]; }

    /// Makes the desks for rooms known to each other. Before any thread runs.
    void connect_rooms() const {
        std::vector<RoomDesk*> desks;
        std::vector<Scheduler*> threads;
        for (Shard* const shard : all) {
            desks.push_back(&shard->rooms);
            threads.push_back(&shard->scheduler);
        }
        for (RoomDesk* const desk : desks) {
            desk->connect(desks, threads);
        }
    }
};

}  // namespace presence
