#pragma once

#include "presence/core/cluster_member.h"
#include "presence/core/shard.h"

namespace presence {

/// Makes the threads of a node known to each other, and to the member that answers for it among the
/// nodes: what one of them finds out goes to whom it concerns. Before any thread runs; `shards` and
/// `member` outlive the threads.
///
/// @param home  The thread of `member`.
void connect_shards(Shards& shards, ClusterMember& member, Scheduler& home);

}  // namespace presence
