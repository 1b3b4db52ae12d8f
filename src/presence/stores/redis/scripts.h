#pragma once

#include "presence/stores/redis/command_link.h"

namespace presence::redis {

// Everything that a script touches is in the slot of its first key. Channels are no keys to the
// server, which therefore does not check them. What is at a record's key and not ours counts as no
// record.

/// For each of some records of one partition: compares the commit counter, writes with a TTL, keeps
/// the indices of the nodes, and publishes.
///
///     KEYS  tombstone of the node that commits, records
///     ARGV  head of the indices' names, their TTL in ms, the ends that the node owes; then for
///           each record: expected counter (8 bytes; empty: no record), record, TTL in ms, user,
///           channel (empty: tell nobody), message, end (empty: none)
///
/// One number for each: 1 done, 0 the counter is another, 2 the node is buried.
[[nodiscard]] const Script& commit_script();
/// The same where memory is short: for what gives memory free.
[[nodiscard]] const Script& ending_script();

/// KEYS record; ARGV head of the indices' names, user.
[[nodiscard]] const Script& erase_script();

/// KEYS records. What stands before the nodes of each; nothing where there is none.
[[nodiscard]] const Script& heads_script();
/// The same, for records of one partition, and those that name a node live on, as does its index.
///
///     KEYS  records     ARGV  name of the node (8 bytes), its index, TTLs in ms of record and
///     index
[[nodiscard]] const Script& keep_script();

/// The first users of an index, without those whose records are gone, which it drops.
///
///     KEYS  index, ends, perhaps the tombstone of the node, which is put there
///     ARGV  how many, head of the records' names, the tombstone's TTL in ms
///
/// How many it looked at, the users, and how many ends the node owes.
[[nodiscard]] const Script& users_script();

/// KEYS ends that a node owes; ARGV users, each with the end that the database has. Those that are
/// not newer go.
[[nodiscard]] const Script& drop_ends_script();
/// KEYS ends that one node owes, those of another; ARGV how many, TTL in ms. Moves them there;
/// users and ends.
[[nodiscard]] const Script& take_ends_script();

/// Takes or renews a lease.
///
///     KEYS  nodes           ARGV  node, ttl in ms, leaving (0, 1), asserted, life of the store if
///     it
///                                 has none, how long in ms what is not renewed stays known
///
/// Nothing: the name is burnt. Else the time of the server in ms, then names and entries.
[[nodiscard]] const Script& lease_script();
/// KEYS nodes; ARGV node. Its lease is not renewed any more.
[[nodiscard]] const Script& burn_script();
/// KEYS nodes; ARGV node. It is known no more; if its name is burnt, that stays.
[[nodiscard]] const Script& forget_script();

/// Writes down what all nodes must agree on if nobody has, and keeps it.
///
///     KEYS  deployment      ARGV  what this node has, TTL in ms
///
/// What stands there now.
[[nodiscard]] const Script& deployment_script();

/// Begins an incarnation if there is none, keeps it, and tells it on the partition's channel.
///
///     KEYS  incarnation     ARGV  a new one, TTL in ms, channel, what stands before it in a probe
[[nodiscard]] const Script& probe_script();

/// Does nothing, and is refused where writes are: to find out whether they are.
[[nodiscard]] const Script& room_script();

/// Keeps the sorted set of last beats: adds, never backwards, takes out, and drops what is too old.
///
///     KEYS  the set          ARGV  TTL in ms, what is older goes, number of beats; for each its
///                                  score and user; then users to take out
[[nodiscard]] const Script& beats_script();

}  // namespace presence::redis
