#include "presence/app/metric_tables.h"

#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace presence::app {

namespace {

using telemetry::MetricPage;

/// One counter: its name, what it counts, where it stands, and what tells it from its neighbours
/// of the same name.
template <class Counters>
struct Row {
    std::string_view name;
    std::string_view help;
    std::uint64_t Counters::*number;
    std::string_view label{};
    std::string_view value{};
};

constexpr std::string_view kHeartbeats = "presenced_heartbeats_total";
constexpr std::string_view kHeartbeatsHelp =
    "Signs of life over WebSocket: every complete frame of a client.";
constexpr std::string_view kGrace = "presenced_grace_outcomes_total";
constexpr std::string_view kGraceHelp = "How the grace of lost connections ended.";
constexpr std::string_view kProfiles = "presenced_profile_reads_total";
constexpr std::string_view kProfilesHelp = "Look-ups of rules and profiles, by where they were.";
constexpr std::string_view kLastSeen = "presenced_last_seen_rows_total";
constexpr std::string_view kLastSeenHelp = "Ends of presences, by what became of them.";
constexpr std::string_view kMirror = "presenced_plain_keys_total";
constexpr std::string_view kMirrorHelp =
    "What store.write_every_heartbeat did, by what became of it.";
constexpr std::string_view kRoomFrames = "presenced_room_messages_total";
constexpr std::string_view kRoomFramesHelp = "What was told to viewers of rooms, by kind.";

constexpr std::array kCoreRows{
    Row<CoreCounters>{"presenced_settle_conflicts_total",
                      "Settles that others got ahead of; each was tried again.",
                      &CoreCounters::conflicts},
    Row<CoreCounters>{"presenced_transitions_forgotten_total",
                      "Transitions of the last hour that limits.transition_memory had no room for.",
                      &CoreCounters::transitions_forgotten},
    Row<CoreCounters>{"presenced_unknowns_shown_total", "Presences told to somebody as unknown.",
                      &CoreCounters::unknowns_shown},
    Row<CoreCounters>{"presenced_known_versions_dropped_total",
                      "Users whose newest versions limits.known_versions had no room for.",
                      &CoreCounters::known_versions_dropped},
    Row<CoreCounters>{"presenced_announced_total", "Changes that were told.",
                      &CoreCounters::announced},
    Row<CoreCounters>{"presenced_coalesced_total",
                      "Changes that were merged with those within a second.",
                      &CoreCounters::held_back},
    Row<CoreCounters>{"presenced_swallowed_total",
                      "Merged changes that ended where they began: nobody was told.",
                      &CoreCounters::swallowed},
    Row<CoreCounters>{"presenced_silent_deaths_total",
                      "Sessions that ended because nothing was heard for their time to live.",
                      &CoreCounters::silent_deaths},
    Row<CoreCounters>{"presenced_http_heartbeats_total", "Heartbeats over HTTP.",
                      &CoreCounters::http_beats},
    Row<CoreCounters>{"presenced_http_heartbeats_refused_total",
                      "Heartbeats over HTTP of devices that a back end had thrown out.",
                      &CoreCounters::http_beats_refused},
    Row<CoreCounters>{kGrace, kGraceHelp, &CoreCounters::grace_returns, "outcome", "returned"},
    Row<CoreCounters>{kGrace, kGraceHelp, &CoreCounters::grace_ends, "outcome", "ended"},
    Row<CoreCounters>{"presenced_pings_total", "Pings to clients that were silent for long.",
                      &CoreCounters::pings},
    Row<CoreCounters>{"presenced_stalls_total",
                      "Times at which a thread stood still and pushed all deadlines.",
                      &CoreCounters::stalls},
    Row<CoreCounters>{"presenced_clock_steps_total", "Steps of the wall clock that were noticed.",
                      &CoreCounters::clock_steps},
    Row<CoreCounters>{"presenced_sessions_displaced_total",
                      "Sessions whose place a newer one took at limits.sessions_per_user.",
                      &CoreCounters::sessions_displaced},
    Row<CoreCounters>{"presenced_sessions_refused_total",
                      "Sessions refused at limits.sessions_per_user.",
                      &CoreCounters::sessions_refused},
    Row<CoreCounters>{"presenced_status_deferred_total",
                      "Status changes over their rate, of which the newest is applied later.",
                      &CoreCounters::status_deferred},
    Row<CoreCounters>{"presenced_store_failures_total",
                      "Reads and commits that the session store did not take.",
                      &CoreCounters::store_failures},
    Row<CoreCounters>{"presenced_attach_timeouts_total",
                      "Attaches that waited too long for a store.", &CoreCounters::attach_timeouts},
    Row<CoreCounters>{"presenced_kept_here_total",
                      "Settles kept on this node while the shared store could not be reached.",
                      &CoreCounters::kept_here},
    Row<CoreCounters>{"presenced_records_unreadable_total",
                      "Reads that met a record which is damaged, or of a newer release.",
                      &CoreCounters::records_unreadable},
    Row<CoreCounters>{"presenced_records_lost_total",
                      "Records met in the store older than what was held here.",
                      &CoreCounters::records_lost},
    Row<CoreCounters>{"presenced_sessions_orphaned_total",
                      "Sessions that others had ended while this node slept.",
                      &CoreCounters::orphaned},
    Row<CoreCounters>{kMirror, kMirrorHelp, &CoreCounters::beats_mirrored, "outcome", "written"},
    Row<CoreCounters>{kMirror, kMirrorHelp, &CoreCounters::ends_mirrored, "outcome", "taken_out"},
    Row<CoreCounters>{kMirror, kMirrorHelp, &CoreCounters::beats_not_mirrored, "outcome", "lost"},
    Row<CoreCounters>{kProfiles, kProfilesHelp, &CoreCounters::profile_hits, "from", "memory"},
    Row<CoreCounters>{kProfiles, kProfilesHelp, &CoreCounters::profile_loads, "from", "database"},
    Row<CoreCounters>{kProfiles, kProfilesHelp, &CoreCounters::profile_failures, "from", "nowhere"},
    Row<CoreCounters>{"presenced_profile_evictions_total",
                      "Profiles that made room for others in memory.",
                      &CoreCounters::profile_evictions},
    Row<CoreCounters>{"presenced_verdicts_changed_total",
                      "Watches whose viewer gained or lost sight.",
                      &CoreCounters::verdicts_changed},
    Row<CoreCounters>{"presenced_rules_behind_total",
                      "Changes that knew of newer rules than this node had read.",
                      &CoreCounters::rules_behind},
    Row<CoreCounters>{kLastSeen, kLastSeenHelp, &CoreCounters::last_seen_written, "outcome",
                      "written"},
    Row<CoreCounters>{kLastSeen, kLastSeenHelp, &CoreCounters::last_seen_spooled, "outcome",
                      "spooled"},
    Row<CoreCounters>{kLastSeen, kLastSeenHelp, &CoreCounters::last_seen_lost, "outcome", "lost"},
    Row<CoreCounters>{"presenced_ends_left_owed_total",
                      "Ends that the database has and the shared store keeps until they expire.",
                      &CoreCounters::ends_left_owed},
    Row<CoreCounters>{"presenced_last_seen_failures_total",
                      "Batches of ends that the database did not take.",
                      &CoreCounters::last_seen_failures},
    Row<CoreCounters>{"presenced_spool_failures_total",
                      "Batches of ends that the spool did not take.",
                      &CoreCounters::spool_failures},
    Row<CoreCounters>{"presenced_webhook_events_total", "Events put into the outbox.",
                      &CoreCounters::webhooks_noted},
    Row<CoreCounters>{"presenced_webhook_events_lost_total",
                      "Events dropped over a limit of the queue or the outbox.",
                      &CoreCounters::webhooks_lost},
    Row<CoreCounters>{"presenced_webhook_outbox_failures_total",
                      "Writes that the outbox did not take.", &CoreCounters::webhook_failures},
    Row<CoreCounters>{"presenced_journal_lines_total", "Lines written to the session journal.",
                      &CoreCounters::journal_written},
    Row<CoreCounters>{"presenced_journal_failures_total",
                      "Batches that the session journal did not take.",
                      &CoreCounters::journal_failures},
    Row<CoreCounters>{"presenced_room_joins_total", "Users who joined a room.",
                      &CoreCounters::room_joins},
    Row<CoreCounters>{"presenced_room_leaves_total", "Users who left a room.",
                      &CoreCounters::room_leaves},
    Row<CoreCounters>{"presenced_room_joins_refused_total", "Joins over a limit of rooms.",
                      &CoreCounters::rooms_refused},
    Row<CoreCounters>{"presenced_room_statements_total", "Statements about rooms over the bus.",
                      &CoreCounters::room_statements},
    Row<CoreCounters>{"presenced_room_gaps_total", "Statements about rooms that were missing.",
                      &CoreCounters::room_gaps},
    Row<CoreCounters>{"presenced_room_words_void_total",
                      "What nodes said of rooms that did not answer when asked again.",
                      &CoreCounters::room_words_void},
    Row<CoreCounters>{kRoomFrames, kRoomFramesHelp, &CoreCounters::rooms_told, "kind", "whole"},
    Row<CoreCounters>{kRoomFrames, kRoomFramesHelp, &CoreCounters::room_deltas, "kind", "members"},
    Row<CoreCounters>{kRoomFrames, kRoomFramesHelp, &CoreCounters::room_counts, "kind", "count"},
    Row<CoreCounters>{"presenced_room_readers_behind_total",
                      "Slow readers to whom a whole room came to be owed.",
                      &CoreCounters::rooms_behind},
    Row<CoreCounters>{"presenced_room_signals_shed_total",
                      "Deliveries of signals over limits.room_signals_per_second.",
                      &CoreCounters::room_signals_shed},
    Row<CoreCounters>{"presenced_surveys_refused_total",
                      "Questions to all nodes that were too many at once.",
                      &CoreCounters::surveys_refused},
    Row<CoreCounters>{"presenced_surveys_incomplete_total",
                      "Totals in which the part of a node was missing.",
                      &CoreCounters::surveys_incomplete},
};

using gateway::GatewayCounters;

constexpr std::string_view kSlow = "presenced_slow_closes_total";
constexpr std::string_view kSlowHelp = "Readers closed because they did not read.";

constexpr std::array kGatewayRows{
    Row<GatewayCounters>{kHeartbeats, kHeartbeatsHelp, &GatewayCounters::heartbeats},
    Row<GatewayCounters>{"presenced_requests_total", "Messages of clients, heartbeats aside.",
                         &GatewayCounters::requests},
    Row<GatewayCounters>{"presenced_welcomes_total", "Clients that were let in.",
                         &GatewayCounters::welcomes},
    Row<GatewayCounters>{"presenced_hello_refused_total", "Clients whose hello was refused.",
                         &GatewayCounters::hello_refused},
    Row<GatewayCounters>{"presenced_hello_timeouts_total", "Clients that said no hello in time.",
                         &GatewayCounters::hello_timeouts},
    Row<GatewayCounters>{"presenced_handed_over_total",
                         "Connections that moved to the thread of their user.",
                         &GatewayCounters::handed_over},
    Row<GatewayCounters>{"presenced_auth_refused_total",
                         "Credentials that clients gave and that were refused.",
                         &GatewayCounters::auth_refused},
    Row<GatewayCounters>{"presenced_updates_sent_total", "Messages with news of watched users.",
                         &GatewayCounters::updates_sent},
    Row<GatewayCounters>{"presenced_deliveries_total", "Presences in messages with news.",
                         &GatewayCounters::deliveries},
    Row<GatewayCounters>{"presenced_presences_encoded_total",
                         "Presences encoded for messages with news; what several viewers may see "
                         "alike is encoded once.",
                         &GatewayCounters::encoded},
    Row<GatewayCounters>{"presenced_rate_limited_total", "Messages answered with rateLimited.",
                         &GatewayCounters::rate_limited},
    Row<GatewayCounters>{"presenced_closed_too_many_total",
                         "Connections closed for too many messages (4429).",
                         &GatewayCounters::closed_too_many},
    Row<GatewayCounters>{"presenced_mistakes_total", "Messages answered with badRequest.",
                         &GatewayCounters::mistakes},
    Row<GatewayCounters>{"presenced_signals_sent_total", "Signals that clients sent.",
                         &GatewayCounters::signals_sent},
    Row<GatewayCounters>{"presenced_signals_delivered_total", "Signals that clients got.",
                         &GatewayCounters::signals_delivered},
    Row<GatewayCounters>{"presenced_room_frames_sent_total", "Messages about rooms.",
                         &GatewayCounters::room_messages},
    Row<GatewayCounters>{"presenced_room_members_encoded_total",
                         "Members encoded for messages about rooms.",
                         &GatewayCounters::room_members_encoded},
    Row<GatewayCounters>{kSlow, kSlowHelp, &GatewayCounters::closed_slow, "road", "websocket"},
};

using api::ReaderCounters;

constexpr std::array kReaderRows{
    Row<ReaderCounters>{kSlow, kSlowHelp, &ReaderCounters::closed_slow, "road", "stream"},
    Row<ReaderCounters>{"presenced_streams_total", "Event streams that were begun.",
                        &ReaderCounters::streams},
    Row<ReaderCounters>{"presenced_polls_total", "Polls that had to wait or might have.",
                        &ReaderCounters::polls},
    Row<ReaderCounters>{"presenced_readers_refused_total", "Streams and polls over limits.readers.",
                        &ReaderCounters::refused},
    Row<ReaderCounters>{"presenced_reader_updates_total", "Presences told to streams and polls.",
                        &ReaderCounters::updates},
    Row<ReaderCounters>{"presenced_readers_left_total",
                        "Streams and polls whose client left first.", &ReaderCounters::left_early},
};

using net::NetCounters;

constexpr std::string_view kRefused = "presenced_accepts_refused_total";
constexpr std::string_view kRefusedHelp = "Connections refused at the door, by the reason.";
constexpr std::string_view kBroken = "presenced_frames_refused_total";
constexpr std::string_view kBrokenHelp = "Connections closed for a bad frame, by close code.";

constexpr std::array kNetRows{
    Row<NetCounters>{"presenced_accepts_total", "Connections that were accepted.",
                     &NetCounters::accepted},
    Row<NetCounters>{kRefused, kRefusedHelp, &NetCounters::refused_by_handler, "reason", "rate"},
    Row<NetCounters>{kRefused, kRefusedHelp, &NetCounters::refused_per_address, "reason",
                     "address"},
    Row<NetCounters>{kRefused, kRefusedHelp, &NetCounters::refused_total, "reason", "full"},
    Row<NetCounters>{kRefused, kRefusedHelp, &NetCounters::accept_shed, "reason", "descriptors"},
    Row<NetCounters>{"presenced_accept_pauses_total",
                     "Pauses in accepting because descriptors ran out.",
                     &NetCounters::accept_pauses},
    Row<NetCounters>{"presenced_http_requests_total", "HTTP requests, upgrades included.",
                     &NetCounters::http_requests},
    Row<NetCounters>{"presenced_http_refused_total", "HTTP requests that were no such thing.",
                     &NetCounters::http_refused},
    Row<NetCounters>{"presenced_http_timeouts_total", "HTTP requests that did not end in time.",
                     &NetCounters::http_timeouts},
    Row<NetCounters>{"presenced_upgrades_total", "WebSockets that were begun.",
                     &NetCounters::upgrades},
    Row<NetCounters>{"presenced_sockets_adopted_total", "Sockets taken over from another thread.",
                     &NetCounters::adopted},
    Row<NetCounters>{"presenced_sockets_released_total", "Sockets given to another thread.",
                     &NetCounters::released},
    Row<NetCounters>{"presenced_frames_received_total", "WebSocket frames received.",
                     &NetCounters::frames_in},
    Row<NetCounters>{"presenced_frames_sent_total", "WebSocket frames sent.",
                     &NetCounters::frames_out},
    Row<NetCounters>{"presenced_received_bytes_total", "Bytes received.", &NetCounters::bytes_in},
    Row<NetCounters>{"presenced_sent_bytes_total", "Bytes sent.", &NetCounters::bytes_out},
    Row<NetCounters>{"presenced_sends_blocked_total", "Sends that the kernel did not take whole.",
                     &NetCounters::sends_blocked},
    Row<NetCounters>{"presenced_send_overflows_total",
                     "Sends refused because limits.send_queue_bytes were waiting.",
                     &NetCounters::send_overflows},
    Row<NetCounters>{"presenced_pongs_merged_total", "Pings answered by the answer to a later one.",
                     &NetCounters::pongs_merged},
    Row<NetCounters>{"presenced_close_timeouts_total",
                     "Closes whose other side did not answer in time.",
                     &NetCounters::close_timeouts},
    Row<NetCounters>{"presenced_message_timeouts_total", "Messages that did not end in time.",
                     &NetCounters::message_timeouts},
    Row<NetCounters>{kBroken, kBrokenHelp, &NetCounters::closed_1002, "code", "1002"},
    Row<NetCounters>{kBroken, kBrokenHelp, &NetCounters::closed_1003, "code", "1003"},
    Row<NetCounters>{kBroken, kBrokenHelp, &NetCounters::closed_1007, "code", "1007"},
    Row<NetCounters>{kBroken, kBrokenHelp, &NetCounters::closed_1008, "code", "1008"},
    Row<NetCounters>{kBroken, kBrokenHelp, &NetCounters::closed_1009, "code", "1009"},
    Row<NetCounters>{"presenced_tls_failures_total", "TLS handshakes that failed.",
                     &NetCounters::tls_failures},
};

constexpr std::array kClusterRows{
    Row<ClusterCounters>{"presenced_lease_renewals_total", "Renewals of this node's lease.",
                         &ClusterCounters::renewals},
    Row<ClusterCounters>{"presenced_lease_renewal_failures_total",
                         "Renewals that the store did not take.",
                         &ClusterCounters::renewal_failures},
    Row<ClusterCounters>{"presenced_lease_losses_total",
                         "Times this node woke after the others had settled its death.",
                         &ClusterCounters::renamed},
    Row<ClusterCounters>{"presenced_node_deaths_settled_total",
                         "Deaths of other nodes that this one settled a share of.",
                         &ClusterCounters::deaths_settled},
    Row<ClusterCounters>{"presenced_sweep_users_total", "Users of dead nodes that were settled.",
                         &ClusterCounters::users_swept},
    Row<ClusterCounters>{"presenced_sweep_ends_total",
                         "Ends that dead nodes owed to the database and this one took over.",
                         &ClusterCounters::ends_taken_over},
    Row<ClusterCounters>{"presenced_record_checks_total",
                         "Partitions looked over for lost records.", &ClusterCounters::checks},
    Row<ClusterCounters>{"presenced_records_stale_total",
                         "Records that were lost, or changed without this node's knowing.",
                         &ClusterCounters::records_stale},
    Row<ClusterCounters>{"presenced_store_losses_total",
                         "Fail-overs and losses of the store's data that were noticed.",
                         &ClusterCounters::stores_lost},
    Row<ClusterCounters>{"presenced_clock_offsets_total",
                         "Renewals at which the clock was too far from the store's.",
                         &ClusterCounters::clock_offsets},
};

template <class Counters, std::size_t N>
void write_rows(MetricPage& page, const Counters& counters,
                const std::array<Row<Counters>, N>& rows) {
    for (const Row<Counters>& row : rows) {
        std::vector<telemetry::Label> labels;
        if (!row.label.empty()) {
            labels.emplace_back(row.label, row.value);
        }
        page.counter(row.name, row.help, static_cast<double>(counters.*row.number),
                     std::move(labels));
    }
}

void write_causes(MetricPage& page, std::string_view name, std::string_view help,
                  const std::array<std::uint64_t, kCauses>& by_cause) {
    for (std::size_t i = 0; i < kCauses; ++i) {
        page.counter(name, help, static_cast<double>(by_cause[i]),
                     {{"cause", presence::name(static_cast<Cause>(i))}});
    }
}

}  // namespace

void write_threads(MetricPage& page, const ThreadCounts& counts) {
    write_gauges(page, counts);
    write_causes(page, "presenced_settles_total", "Settles of users, by cause.",
                 counts.core.settles);
    write_causes(page, "presenced_transitions_total",
                 "Settles that somebody else could see, by cause.", counts.core.transitions);
    write_rows(page, counts.core, kCoreRows);
    write_rows(page, counts.gateway, kGatewayRows);
    write_rows(page, counts.readers, kReaderRows);
    page.counter("presenced_reader_places_refused_total",
                 "Streams and polls over limits.readers_per_user.",
                 static_cast<double>(counts.reader_places_refused));
    write_rows(page, counts.net, kNetRows);
    for (std::size_t i = 0; i < kTruthErrors; ++i) {
        page.counter("presenced_truth_errors_total",
                     "What canaries found to be untrue, by what it was.",
                     static_cast<double>(counts.core.truth_errors[i]),
                     {{"kind", presence::name(static_cast<TruthError>(i))}});
    }
    page.histogram("presenced_truth_propagation_seconds",
                   "Time in seconds from a canary's change to a watcher on another node.",
                   counts.core.truth_propagation);
    page.histogram("presenced_truth_detection_lateness_seconds",
                   "Time in seconds from the end of a silent canary's ttl to when it was told.",
                   counts.core.truth_lateness);
    page.histogram("presenced_settle_seconds",
                   "Time in seconds to settle a user, from reading the record to telling.",
                   counts.core.settle_times);
    page.histogram("presenced_snapshot_seconds",
                   "Time in seconds to read and judge the users of one list.", counts.look_times);
    page.histogram("presenced_store_read_seconds",
                   "Time in seconds to read records, each for many users.",
                   counts.store_times.reads);
    page.histogram("presenced_store_commit_seconds",
                   "Time in seconds to commit what settles have made, each for one or many users.",
                   counts.store_times.commits);
    page.histogram("presenced_loop_lag_seconds",
                   "How late in seconds a thread comes to its timed work, to a millisecond.",
                   counts.loop_lag);
}

void write_cluster(MetricPage& page, const ClusterCounters& counts) {
    write_rows(page, counts, kClusterRows);
}

}  // namespace presence::app
