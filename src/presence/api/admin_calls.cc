// Ending sessions, revoking tokens, erasing users: for back ends only.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/protocol/rest_body.h"

namespace presence::api {

namespace {

Task<Result<ProfileRef>> revoke_tokens(Shard& home, UserId user, WallTime before) {
    Result<ProfileChange> changed = co_await home.editor.revoke(user, before);
    if (!changed) {
        co_return changed.error();
    }
    Result<ProfileRef> profile = co_await home.editor.profile(user);
    co_return profile;
}

/// What is durable goes first, in one transaction: a database that is away leaves everything as it
/// was. Should the store go away in the middle, every thread and node that hears of the erasure
/// ends what is left of the user once it can (Gateway::on_profile_changed); to ask again does no
/// harm.
Task<Result<bool>> erase_user(Shard& home, UserId user) {
    Result<bool> may = home.service.may_erase();
    if (!may) {
        co_return may.error();
    }
    Result<bool> erased = co_await home.editor.erase(user, home.clock.wall_now());
    if (!erased) {
        co_return erased.error();
    }
    home.service.forget_events(user);
    Result<bool> ended = co_await home.service.erase(user);
    if (!ended) {
        co_return ended.error();
    }
    // What the user's own sessions wrote before they were over.
    Result<bool> rest = co_await home.editor.erase(user, home.clock.wall_now());
    home.service.forget_events(user);
    co_return rest;
}

}  // namespace

Task<Calls::Answer> Calls::end_session(const AdmittedCall& call) const {
    Task<Result<bool>> ending =
        at_home<Result<bool>>(call.user, [user = call.user, session = call.session](Shard& home) {
            return home.service.kick(user, session);
        });
    Result<bool> ended = co_await ending;
    if (!ended) {
        co_return ended.error();
    }
    if (!*ended) {
        co_return Error{ErrorCode::not_found, "the user has no such session", 0, 0};
    }
    co_return no_content();
}

Task<Calls::Answer> Calls::revoke(const AdmittedCall& call) const {
    Result<WallTime> before = protocol::parse_revoke_body(call.request.body);
    if (!before) {
        co_return before.error();
    }
    Task<Result<ProfileRef>> revoking =
        at_home<Result<ProfileRef>>(call.user, [user = call.user, moment = *before](Shard& home) {
            return revoke_tokens(home, user, moment);
        });
    Result<ProfileRef> profile = co_await revoking;
    if (!profile) {
        co_return profile.error();
    }
    co_await forget_copies(call.user);
    const WallTime in_force = *profile ? (*profile)->revoked_before.value_or(*before) : *before;
    co_return json_answer(protocol::encode_revoke_body(in_force));
}

Task<Calls::Answer> Calls::erase(const AdmittedCall& call) const {
    Task<Result<bool>> erasing = at_home<Result<bool>>(
        call.user, [user = call.user](Shard& home) { return erase_user(home, user); });
    Result<bool> erased = co_await erasing;
    if (!erased) {
        co_return erased.error();
    }
    co_await forget_copies(call.user);
    co_await end_readers(call.user);
    co_return no_content();
}

}  // namespace presence::api
