#pragma once

#include "presence/base/clock.h"
#include "presence/base/random.h"
#include "presence/base/scheduler.h"
#include "presence/core/beat_writer.h"
#include "presence/core/configs.h"
#include "presence/core/counters.h"
#include "presence/core/journal_writer.h"
#include "presence/core/last_seen_writer.h"
#include "presence/core/limits.h"
#include "presence/core/node_view.h"
#include "presence/core/profile_cache.h"
#include "presence/core/slot_pool.h"
#include "presence/model/end_reason.h"
#include "presence/ports/presence_bus.h"
#include "presence/ports/profile_store.h"
#include "presence/ports/session_store.h"
#include "presence/ports/webhook_events.h"

namespace presence {

/// Holds the connections of sessions: the gateway on the same thread. Neither call may call back
/// into the service.
class SessionOwner {
public:
    virtual ~SessionOwner() = default;
    virtual void end_connection(SlotId connection, EndReason reason) = 0;
    /// The session has been silent for long: make the client's machine answer (DESIGN rule 6).
    virtual void ping_connection(SlotId connection) = 0;
};

/// Hears of the ends of sessions, whatever ended them. A resumed session goes on. The call may not
/// call back into the service.
class SessionListener {
public:
    virtual ~SessionListener() = default;
    virtual void on_session_ended(const UserId& user, const SessionId& session) = 0;
    /// It goes on at another node.
    virtual void on_session_moved(const UserId& user, const SessionId& session, NodeId taker) = 0;
};

class TransitionMemory;

/// Everything that the service works with, all of one thread and outliving it.
struct ServiceParts {
    Scheduler& scheduler;
    const Clock& clock;
    Random& random;
    SessionStore& sessions;
    ProfileStore& profile_store;
    ProfileCache& profiles;
    PresenceBus& bus;
    LastSeenWriter& last_seen;
    JournalSink* journal;  ///< Null: this node keeps no journal.
    const CoreConfig& config;
    const Limits& limits;
    CoreCounters& counters;
    const NodeView& nodes;
    WebhookEvents* webhooks = nullptr;  ///< Null: nobody listens, ever.
    BeatWriter* beats = nullptr;        ///< Null: heartbeats are written nowhere.
    TransitionMemory* past = nullptr;   ///< Null: nothing is remembered.
};

}  // namespace presence
