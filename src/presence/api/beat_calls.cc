// /v1/heartbeat: sessions that live by HTTP.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/api/request_target.h"
#include "presence/protocol/rest_body.h"

namespace presence::api {

Task<Calls::Answer> Calls::beat(const AdmittedCall& call) const {
    Result<protocol::BeatBody> body = protocol::parse_beat_body(call.request.body);
    if (!body) {
        co_return body.error();
    }
    const TokenClaims& claims = *call.caller.user;
    BeatRequest request;
    request.user = claims.user;
    request.token_issued_at = claims.issued_at;
    request.session = beating_session(body->device_id);
    request.device = std::move(body->device);
    if (body->activity) {
        request.active = *body->activity == protocol::Activity::active;
    }
    Task<Result<Attachment>> beating = at_home<Result<Attachment>>(
        claims.user,
        [request = std::move(request)](Shard& home) { return home.service.beat(request); });
    Result<Attachment> attached = co_await beating;
    if (!attached) {
        co_return attached.error();
    }
    const HeartbeatConfig& heartbeat = parts_.config.heartbeat;
    co_return json_answer(protocol::encode_beat_body(attached->id, heartbeat.interval,
                                                     heartbeat.ttl, parts_.clock.wall_now()));
}

Task<Calls::Answer> Calls::sign_out(const AdmittedCall& call) const {
    Result<std::optional<std::string>> device = query_value(call.request.query(), "deviceId");
    if (!device) {
        co_return device.error();
    }
    const char* const fault = *device ? check_id(**device) : "is needed";
    if (fault != nullptr) {
        co_return Error{ErrorCode::bad_request, std::string("deviceId ") + fault, 0, 0};
    }
    const UserId user = call.caller.user->user;
    const SessionId session = beating_session(**device);
    Task<Result<bool>> ending = at_home<Result<bool>>(
        user, [user, session](Shard& home) { return home.service.sign_out(user, session); });
    Result<bool> ended = co_await ending;
    if (!ended) {
        co_return ended.error();
    }
    co_return no_content();
}

}  // namespace presence::api
