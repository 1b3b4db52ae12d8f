// GET /v1/stats: what all nodes have counted.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/protocol/rest_body.h"

namespace presence::api {

Task<Calls::Answer> Calls::stats(const AdmittedCall&) const {
    Survey& survey = parts_.survey;
    Task<Survey::People> asking =
        run_there<Survey::People>(parts_.scheduler, parts_.shards.all.front()->scheduler,
                                  [&survey] { return survey.people(); });
    const Survey::People sum = co_await asking;
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
    fields.nodes = sum.nodes;
    fields.exact = sum.exact;
    co_return json_answer(protocol::encode_stats_body(fields, parts_.clock.wall_now()));
}

}  // namespace presence::api
