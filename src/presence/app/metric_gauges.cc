#include "presence/app/metric_tables.h"

#include <string_view>

namespace presence::app {

namespace {

using telemetry::MetricPage;

void write_people(MetricPage& page, const ThreadCounts& counts) {
    for (const Status status :
         {Status::online, Status::away, Status::busy, Status::dnd, Status::unknown}) {
        page.gauge(
            "presenced_users",
            "People with sessions on this node as everyone may know it, by status; who is "
            "invisible is not counted.",
            static_cast<double>(counts.census.by_status.at(static_cast<std::size_t>(status))),
            {{"status", wire_name(status)}});
    }
    const auto sessions = [&](std::string_view state, std::size_t number) {
        page.gauge("presenced_sessions",
                   "Sessions of this node, of people who are not invisible; those that observe are "
                   "in live or grace, too.",
                   static_cast<double>(number), {{"state", state}});
    };
    sessions("live", counts.census.live);
    sessions("grace", counts.census.grace);
    sessions("observing", counts.census.observing);
    const auto connections = [&](std::string_view kind, std::size_t number) {
        page.gauge("presenced_connections", "Open connections, by kind.",
                   static_cast<double>(number), {{"kind", kind}});
    };
    connections("websocket", counts.connections.web_sockets);
    connections("stream", counts.connections.streams);
    connections("poll", counts.connections.polls);
    const auto gauge = [&](std::string_view name, std::string_view help, std::size_t number) {
        page.gauge(name, help, static_cast<double>(number));
    };
    gauge("presenced_sockets", "Open sockets of clients, HTTP included.", counts.live.sockets);
    gauge("presenced_watches", "Watches: a viewer and a user each.", counts.live.watches);
    gauge("presenced_watched_users", "Users who are watched, once for each thread.",
          counts.live.watched_users);
    gauge("presenced_rooms", "Rooms with members whose keeper is here.", counts.live.rooms_kept);
    gauge("presenced_room_replicas", "Rooms that somebody hears, once for each thread.",
          counts.live.rooms_heard);
    gauge("presenced_profiles_cached", "Profiles in memory.", counts.live.profiles_cached);
}

void write_queues(MetricPage& page, const LiveCounts& live) {
    const auto queue = [&](std::string_view name, std::size_t depth) {
        page.gauge("presenced_queue_entries", "What waits to be written, by queue.",
                   static_cast<double>(depth), {{"queue", name}});
    };
    queue("last_seen", live.last_seen_queue);
    queue("webhooks", live.webhook_queue);
    queue("journal", live.journal_queue);
}

}  // namespace

LiveCounts& LiveCounts::operator+=(const LiveCounts& other) {
    sockets += other.sockets;
    watches += other.watches;
    watched_users += other.watched_users;
    rooms_kept += other.rooms_kept;
    rooms_heard += other.rooms_heard;
    profiles_cached += other.profiles_cached;
    last_seen_queue += other.last_seen_queue;
    webhook_queue += other.webhook_queue;
    journal_queue += other.journal_queue;
    return *this;
}

ThreadCounts& ThreadCounts::operator+=(const ThreadCounts& other) {
    add_counters(core, other.core);
    add_counters(gateway, other.gateway);
    add_counters(net, other.net);
    add_counters(readers, other.readers);
    reader_places_refused += other.reader_places_refused;
    add_counters(look_times, other.look_times);
    add_counters(store_times, other.store_times);
    add_counters(loop_lag, other.loop_lag);
    census += other.census;
    connections += other.connections;
    live += other.live;
    return *this;
}

void write_gauges(MetricPage& page, const ThreadCounts& counts) {
    write_people(page, counts);
    write_queues(page, counts.live);
}

}  // namespace presence::app
