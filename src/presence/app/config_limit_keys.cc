#include "presence/app/config_limit_keys.h"

#include "presence/app/config_fields.h"

namespace presence::app {

namespace {

/// A reader behind a slow link takes nothing for some hundred milliseconds now and then.
constexpr Millis kLeastSlowReader{1'000};
/// A round trip around the world, and TLS before it.
constexpr Millis kLeastHelloTimeout{1'000};
/// A store in good health may take that long under load.
constexpr Millis kLeastAttachTimeout{100};

void add_room_limit_keys(std::vector<ConfigKey>& keys) {
    keys.push_back(number("limits.room_members", "Members of a room that are listed.",
                          PRESENCED_FIELD(node.limits.room_members), 1, 10'000));
    keys.push_back(number("limits.room_looked_at",
                          "Members of a room that is listed, hidden ones included.",
                          PRESENCED_FIELD(node.limits.room_looked_at), 1, 100'000));
    keys.push_back(number("limits.room_total", "Members of a room on one node.",
                          PRESENCED_FIELD(node.limits.room_total), 1, 1'000'000));
    keys.push_back(number("limits.rooms_per_connection", "Rooms that a connection is in or hears.",
                          PRESENCED_FIELD(node.limits.rooms_per_connection), 1, 10'000));
    keys.push_back(
        number("limits.rooms", "Rooms of the node.", PRESENCED_FIELD(node.limits.rooms)));
    keys.push_back(real("limits.joins_per_second", "Joins of one connection.",
                        PRESENCED_FIELD(node.limits.joins_per_second)));
    keys.push_back(
        burst("limits.joins_burst", "The same at once.", PRESENCED_FIELD(node.limits.joins_burst)));
    keys.push_back(real("limits.room_signals_per_second",
                        "Deliveries of signals of one room by one thread.",
                        PRESENCED_FIELD(node.limits.room_signals_per_second)));
    keys.push_back(burst("limits.room_signals_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.room_signals_burst)));
}

void add_client_limit_keys(std::vector<ConfigKey>& keys) {
    keys.push_back(number("limits.sessions_per_user", "Sessions of one user.",
                          PRESENCED_FIELD(node.limits.sessions_per_user), 1, 1'000));
    keys.push_back(number("limits.watch", "Users watched by one connection.",
                          PRESENCED_FIELD(node.limits.watch), 1, 10'000));
    keys.push_back(number("limits.query_users", "Users in one REST query.",
                          PRESENCED_FIELD(node.limits.query_users), 1, 10'000));
    keys.push_back(number("limits.message_bytes", "Largest message after welcome.",
                          PRESENCED_FIELD(node.limits.message_bytes), 8'192, 16'777'216));
    keys.push_back(number("limits.hello_bytes", "Largest message before welcome.",
                          PRESENCED_FIELD(node.limits.hello_bytes), 1'024, 1'048'576));
    keys.push_back(number("limits.custom_status_text", "Code points of a custom status.",
                          PRESENCED_FIELD(node.limits.custom_status_text), 1, 1'000));
    keys.push_back(number("limits.send_queue_bytes", "Unsent bytes of one connection.",
                          PRESENCED_FIELD(node.limits.send_queue_bytes), 16'384, 1'073'741'824));
    keys.push_back(number("limits.list_users", "Users in a contact or block list, or in a rule.",
                          PRESENCED_FIELD(node.limits.list_users), 1, 1'000'000));
    keys.push_back(real("limits.messages_per_second", "Messages of one connection.",
                        PRESENCED_FIELD(node.limits.messages_per_second)));
    keys.push_back(burst("limits.messages_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.messages_burst)));
    keys.push_back(real("limits.status_per_second", "Status changes of one user.",
                        PRESENCED_FIELD(node.limits.status_per_second)));
    keys.push_back(burst("limits.status_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.status_burst)));
    keys.push_back(real("limits.signals_per_second", "Signals of one connection.",
                        PRESENCED_FIELD(node.limits.signals_per_second)));
    keys.push_back(burst("limits.signals_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.signals_burst)));
    keys.push_back(real("limits.lookups_per_second", "Users looked up by one connection.",
                        PRESENCED_FIELD(node.limits.lookups_per_second)));
    keys.push_back(burst("limits.lookups_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.lookups_burst)));
    keys.push_back(real("limits.errors_per_second", "Mistakes of one connection.",
                        PRESENCED_FIELD(node.limits.errors_per_second)));
    keys.push_back(burst("limits.errors_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.errors_burst)));
    keys.push_back(real("limits.rest_per_second", "REST calls of one user.",
                        PRESENCED_FIELD(node.limits.rest_per_second)));
    keys.push_back(
        burst("limits.rest_burst", "The same at once.", PRESENCED_FIELD(node.limits.rest_burst)));
}

void add_connection_limit_keys(std::vector<ConfigKey>& keys) {
    keys.push_back(number("limits.readers_per_user", "Streams and waiting polls of one user.",
                          PRESENCED_FIELD(node.limits.readers_per_user), 1, 10'000));
    keys.push_back(number("limits.readers", "Streams and waiting polls of the node.",
                          PRESENCED_FIELD(node.limits.readers), 1, 1'000'000));
    keys.push_back(real("limits.accepts_per_second", "New connections of the node.",
                        PRESENCED_FIELD(node.limits.accepts_per_second)));
    keys.push_back(burst("limits.accepts_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.accepts_burst)));
    keys.push_back(real("limits.address_accepts_per_second",
                        "New connections of one address, loopback spared.",
                        PRESENCED_FIELD(node.limits.address_accepts_per_second)));
    keys.push_back(burst("limits.address_accepts_burst", "The same at once.",
                         PRESENCED_FIELD(node.limits.address_accepts_burst)));
    keys.push_back(number("limits.address_pending", "Connections of an address before hello.",
                          PRESENCED_FIELD(node.limits.address_pending)));
    keys.push_back(number("limits.connections", "Connections of the node.",
                          PRESENCED_FIELD(node.limits.connections)));
    keys.push_back(duration("limits.slow_reader",
                            "A reader that takes nothing that long is closed.",
                            PRESENCED_FIELD(node.limits.slow_reader), kLeastSlowReader));
    keys.push_back(duration("limits.hello_timeout", "From the upgrade to hello.",
                            PRESENCED_FIELD(node.limits.hello_timeout), kLeastHelloTimeout));
    keys.push_back(duration("limits.attach_timeout", "An attach waits that long for a store.",
                            PRESENCED_FIELD(node.limits.attach_timeout), kLeastAttachTimeout));
}

void add_queue_limit_keys(std::vector<ConfigKey>& keys) {
    keys.push_back(number("limits.journal_queue", "Sessions that wait for the journal.",
                          PRESENCED_FIELD(node.limits.journal_queue)));
    keys.push_back(number("limits.last_seen_queue", "Ends that wait for the database.",
                          PRESENCED_FIELD(node.limits.last_seen_queue)));
    keys.push_back(number("limits.last_seen_spool",
                          "Bytes of the file in which ends wait while the database is away.",
                          PRESENCED_FIELD(node.limits.last_seen_spool), 4'096, 1'000'000'000'000));
    keys.push_back(number("limits.beat_mirror",
                          "Users whose heartbeats wait for store.write_every_heartbeat, by thread.",
                          PRESENCED_FIELD(node.limits.beat_mirror)));
    keys.push_back(number("limits.webhook_queue", "Events that wait for the outbox.",
                          PRESENCED_FIELD(node.limits.webhook_queue)));
    keys.push_back(number("limits.webhook_outbox", "Events in the outbox.",
                          PRESENCED_FIELD(node.limits.webhook_outbox)));
    keys.push_back(number("limits.transition_memory",
                          "Bytes in which one thread remembers transitions for explain; 0: none.",
                          PRESENCED_FIELD(node.limits.transition_memory), 0, 1'073'741'824));
    keys.push_back(number("limits.known_versions",
                          "Users of whom one thread keeps the newest versions, for unknown.",
                          PRESENCED_FIELD(node.limits.known_versions), 64));
    keys.push_back(number("limits.profile_cache", "Profiles kept in memory by one thread.",
                          PRESENCED_FIELD(node.limits.profile_cache), 64));
}

}  // namespace

void add_limit_keys(std::vector<ConfigKey>& keys) {
    const std::size_t first = keys.size();
    add_room_limit_keys(keys);
    add_client_limit_keys(keys);
    add_connection_limit_keys(keys);
    add_queue_limit_keys(keys);
    for (std::size_t i = first; i < keys.size(); ++i) {
        keys[i].live = keys[i].name != "limits.last_seen_spool";  // The file is made for its size.
    }
}

}  // namespace presence::app
