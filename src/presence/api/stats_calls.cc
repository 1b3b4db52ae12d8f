// GET /v1/stats: each thread counts what is its own.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/protocol/rest_body.h"

namespace presence::api {

namespace {

struct Share {
    Census census;
    OpenConnections connections;
};

Task<Share> count(Shard& shard) {
    co_return Share{shard.service.census(),
                    shard.readers != nullptr ? shard.readers->connections() : OpenConnections{}};
}

}  // namespace

Task<Calls::Answer> Calls::stats(const AdmittedCall&) const {
    Share sum;
    for (Shard* const shard : parts_.shards.all) {
        Task<Share> counting =
            run_there<Share>(parts_.scheduler, shard->scheduler, [shard] { return count(*shard); });
        const Share share = co_await counting;
        sum.census += share.census;
        sum.connections += share.connections;
    }
    protocol::StatsFields fields;
    fields.by_status = sum.census.by_status;
    fields.by_device = sum.census.by_device;
    fields.sessions_live = sum.census.live;
    fields.sessions_in_grace = sum.census.grace;
    fields.sessions_observing = sum.census.observing;
    fields.sessions_by_http = sum.census.beating;
    fields.web_sockets = sum.connections.web_sockets;
    fields.streams = sum.connections.streams;
    fields.polls = sum.connections.polls;
    co_return json_answer(protocol::encode_stats_body(fields, parts_.clock.wall_now()));
}

}  // namespace presence::api
