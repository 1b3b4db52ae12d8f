#pragma once

#include "presence/base/time.h"

#include <algorithm>
#include <cstddef>

namespace presence {

/// Every limit of the server in one place, each with its reason. Keys are `limits.<name>`; each
/// has a counter in core/counters.h and a test.
struct Limits {
    /// Sessions of one user. More are a bug of a client that forgets to close (DESIGN rule 8).
    std::size_t sessions_per_user = 20;
    /// Users watched by one connection: a screen, not a directory (Slack's advice is 500).
    std::size_t watch = 500;
    /// Users in one REST query.
    std::size_t query_users = 1000;
    /// Largest message either way after `welcome`, in bytes: a watch list of 500 ids of 128 bytes
    /// fits, each byte of them escaped or not, or of 469 such with the versions held of them. A
    /// client splits what is longer (RULINGS 37).
    std::size_t message_bytes = 128 * 1024;
    /// Largest message before `welcome`, in bytes: a token and a device name.
    std::size_t hello_bytes = 16 * 1024;
    /// Custom status text, in code points; its bytes are bounded at 1,024 apart from this.
    std::size_t custom_status_text = 100;
    /// Members of a room that are listed live.
    std::size_t room_members = 500;
    /// Members of a room, those included whom not everyone may see, up to which it is listed: each
    /// join looks at all of them, which is a hundred thousand records a second where fifty people
    /// join (docs/adr/0004-rooms.md). `room_members`, where that is more.
    std::size_t room_looked_at = 2'000;
    [[nodiscard]] std::size_t most_looked_at() const noexcept {
        return std::max(room_looked_at, room_members);
    }
    /// Members of a room on one node: somewhat more than the connections of a node, so that it is
    /// never the room that is full and tells by that how many hidden ones are in it.
    std::size_t room_total = 20'000;
    /// Rooms that one connection and its session are in or hear: all channels of a busy person.
    std::size_t rooms_per_connection = 200;
    /// Rooms of the node, at some 500 bytes each.
    std::size_t rooms = 200'000;
    /// Joins of one connection per second, and burst: all its rooms at once after a reconnect.
    double joins_per_second = 10;
    double joins_burst = 200;
    /// Deliveries of signals of one room by one thread per second, and burst: a hundred signals a
    /// second among five hundred people, three among fifteen thousand. Beyond it signals are lost.
    double room_signals_per_second = 50'000;
    double room_signals_burst = 100'000;
    /// Unsent bytes of one connection before it counts as not reading. State, not events, is
    /// queued, so only answers and one update frame can be in it.
    std::size_t send_queue_bytes = 1024 * 1024;
    /// Users in one contact or block list, and in one privacy rule.
    std::size_t list_users = 10'000;
    /// Messages of one connection: sustained per second and burst. Over it `rateLimited`; ten
    /// times over it 4429.
    double messages_per_second = 50;
    double messages_burst = 200;
    /// Status changes of one user: sustained per second and burst. Over it the newest is applied
    /// when the bucket refills (RULINGS 12).
    double status_per_second = 1;
    double status_burst = 10;
    /// Signals of one connection per second, and burst.
    double signals_per_second = 5;
    double signals_burst = 20;
    /// Users looked up (watch, get) by one connection per second, and burst: enough for screens
    /// that scroll, too little to list strangers (FO-052).
    double lookups_per_second = 500;
    double lookups_burst = 5'000;
    /// Mistakes (`badRequest`) of one connection per second, and burst, before it is closed 4429.
    double errors_per_second = 1;
    double errors_burst = 100;
    /// REST calls of one user per second, and burst. Back ends are not limited.
    double rest_per_second = 20;
    double rest_burst = 100;
    /// Streams and waiting polls of one user: tabs, not a program that forgets to close.
    std::size_t readers_per_user = 20;
    /// Streams and waiting polls of the node; each holds a socket and a watch list.
    std::size_t readers = 8'000;
    /// New connections per second and burst, of the node; presence is shed before connections are.
    double accepts_per_second = 2'000;
    double accepts_burst = 4'000;
    /// New connections of one address (loopback spared) per second, and burst.
    double address_accepts_per_second = 20;
    double address_accepts_burst = 100;
    /// Connections of one address that have not said hello yet (loopback spared).
    std::size_t address_pending = 100;
    /// Connections of the node. A process here may open 20,000 files.
    std::size_t connections = 18'000;
    /// Sessions that wait for the journal or the database; over it attaches are refused.
    std::size_t journal_queue = 200'000;
    /// Ends of presences that one thread holds for the database or the spool, both of which take
    /// them once a second; over it they are counted lost.
    std::size_t last_seen_queue = 200'000;
    /// Bytes of the file in which ends of presences wait while the database is away, some 70 each:
    /// at a thousand ends a second an hour.
    std::size_t last_seen_spool = std::size_t{256} << 20;
    /// Users whose signs of life one thread holds for `store.write_every_heartbeat`: all who beat
    /// within five seconds, and some more. Beyond it a sign is not written, and counted.
    std::size_t beat_mirror = 100'000;
    /// Events for webhooks, times receivers, that one thread holds for the outbox, which takes them
    /// ten times a second; over it they are dropped and counted.
    std::size_t webhook_queue = 100'000;
    /// Events in the outbox; from there on new ones are dropped and counted. At half a KiB each
    /// that is half a GiB of database.
    std::size_t webhook_outbox = 1'000'000;
    /// Profiles kept in memory by one thread that nobody is using.
    std::size_t profile_cache = 50'000;
    /// Users of whom one thread keeps the newest versions that it read or heard of, for `unknown`
    /// while the store is away: all whom its clients lately saw. Some 50 bytes each.
    std::size_t known_versions = 65'536;
    /// Bytes in which one thread remembers the transitions of the last hour for `explain`, some
    /// fifty each: eighty thousand, five an hour of each of fifteen thousand people. 0: none.
    std::size_t transition_memory = std::size_t{4} << 20;
    /// A reader that takes nothing for that long is closed (4408), DESIGN rule 21.
    Millis slow_reader{30'000};
    /// From the upgrade to `hello`.
    Millis hello_timeout{10'000};
    /// An attach waits that long for a store (DESIGN rule 34).
    Millis attach_timeout{2'000};
};

}  // namespace presence
