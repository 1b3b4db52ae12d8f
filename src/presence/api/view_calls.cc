// Reading: what viewers may see, and for back ends why.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/api/request_target.h"
#include "presence/core/explain.h"
#include "presence/protocol/rest_body.h"
#include "presence/protocol/server_message.h"

#include <algorithm>

namespace presence::api {

namespace {

Task<Result<bool>> take_from_budget(Shard& home, UserId user, std::size_t users) {
    co_return home.calls.take_lookups(user, users, home.limits, home.clock.now());
}

std::string_view name_of(rules::MergePolicy policy) {
    switch (policy) {
        case rules::MergePolicy::most_available:
            return "most_available";
        case rules::MergePolicy::least_interruptible:
            return "least_interruptible";
        case rules::MergePolicy::most_recent:
            return "most_recent";
    }
    return "most_available";
}

/// As the encoders take them, oldest first. The result refers to `sessions`.
std::vector<protocol::SessionFields> fields_of(std::vector<SessionFacts>& sessions) {
    std::ranges::stable_sort(sessions, {},
                             [](const SessionFacts& facts) { return facts.session.connected_at; });
    std::vector<protocol::SessionFields> fields;
    fields.reserve(sessions.size());
    for (const SessionFacts& facts : sessions) {
        fields.push_back({facts.session, facts.last_heartbeat, {}});
    }
    return fields;
}

}  // namespace

Result<std::optional<UserId>> Calls::viewer_of(const AdmittedCall& call) {
    const Result<std::optional<std::string>> named = query_value(call.request.query(), "viewer");
    const std::optional<UserId> own = call.caller.viewer();
    if (own && (!named || (*named && **named != own->text))) {
        return Error{ErrorCode::forbidden, "a user may name only itself as viewer", 0, 0};
    }
    if (!named) {
        return named.error();
    }
    if (!*named) {
        return own;
    }
    if (const char* const fault = check_id(**named)) {
        return Error{ErrorCode::bad_request, std::string("viewer ") + fault, 0, 0};
    }
    return std::optional(UserId(**named));
}

Task<Result<bool>> Calls::take_lookups(const AdmittedCall& call, std::size_t users) const {
    if (!call.caller.user) {
        co_return true;
    }
    const UserId caller = call.caller.user->user;
    Task<Result<bool>> taking = at_home<Result<bool>>(
        caller, [caller, users](Shard& home) { return take_from_budget(home, caller, users); });
    Result<bool> taken = co_await taking;
    co_return taken;
}

Task<Calls::Answer> Calls::get_presence(const AdmittedCall& call) const {
    Result<std::optional<UserId>> viewer = viewer_of(call);
    if (!viewer) {
        co_return viewer.error();
    }
    std::vector<UserId> users{call.user};
    const Result<bool> may = call.caller.may_look_at(users);
    if (!may) {
        co_return may.error();
    }
    Task<Result<std::vector<Seen>>> looking = parts_.shard.reader.look(*viewer, std::move(users));
    Result<std::vector<Seen>> seen = co_await looking;
    if (!seen) {
        co_return seen.error();
    }
    std::string body = protocol::encode_presence(parts_.shard.reader.view(seen->front()));
    const std::string etag = etag_of(body);
    net::HttpResponse answer = json_answer(std::move(body));
    tag_answer(answer, etag, call.request.header("if-none-match"));
    co_return answer;
}

Task<Calls::Answer> Calls::query_presence(const AdmittedCall& call) const {
    Result<std::optional<UserId>> viewer = viewer_of(call);
    if (!viewer) {
        co_return viewer.error();
    }
    Result<std::vector<UserId>> users = protocol::parse_query_body(call.request.body, limits());
    if (!users) {
        co_return users.error();
    }
    const Result<bool> may = call.caller.may_look_at(*users);
    if (!may) {
        co_return may.error();
    }
    Task<Result<bool>> taking = take_lookups(call, users->size());
    Result<bool> taken = co_await taking;
    if (!taken) {
        co_return taken.error();
    }
    Task<Result<std::vector<Seen>>> looking = parts_.shard.reader.look(*viewer, std::move(*users));
    Result<std::vector<Seen>> seen = co_await looking;
    if (!seen) {
        co_return seen.error();
    }
    std::vector<std::string> presences;
    presences.reserve(seen->size());
    for (const Seen& one : *seen) {
        presences.push_back(protocol::encode_presence(parts_.shard.reader.view(one)));
    }
    const std::vector<std::string_view> pieces(presences.begin(), presences.end());
    co_return json_answer(protocol::encode_query_body(pieces, parts_.clock.wall_now()));
}

Task<Calls::Answer> Calls::list_sessions(const AdmittedCall& call) const {
    using Facts = Result<std::vector<SessionFacts>>;
    Task<Facts> listing = at_home<Facts>(
        call.user, [user = call.user](Shard& home) { return home.service.sessions_of(user); });
    Facts sessions = co_await listing;
    if (!sessions) {
        co_return sessions.error();
    }
    co_return json_answer(
        protocol::encode_sessions_body(fields_of(*sessions), parts_.clock.wall_now()));
}

Task<Survey::Remembered> Calls::remember(UserId user) const {
    Survey& survey = parts_.survey;
    const auto ask = [&survey, user = std::move(user)] { return survey.past(user); };
    Task<Survey::Remembered> asking =
        run_there<Survey::Remembered>(parts_.scheduler, parts_.shards.all.front()->scheduler, ask);
    Survey::Remembered remembered = co_await asking;
    co_return remembered;
}

Task<Calls::Answer> Calls::explain(const AdmittedCall& call) const {
    Result<std::optional<UserId>> viewer = viewer_of(call);
    if (!viewer) {
        co_return viewer.error();
    }
    if (!*viewer) {
        co_return Error{ErrorCode::bad_request, "viewer is needed", 0, 0};
    }
    const Result<std::optional<std::int64_t>> at =
        query_integer(call.request.query(), "at", 0, parts_.clock.wall_now().ms());
    if (!at) {
        co_return at.error();
    }
    const UserId looker = **viewer;
    Task<Result<Explanation>> explaining = at_home<Result<Explanation>>(
        call.user,
        [looker, user = call.user](Shard& home) { return explain_view(home, looker, user); });
    Result<Explanation> why = co_await explaining;
    if (!why) {
        co_return why.error();
    }
    if (!*at) {
        co_return explained(call.user, looker, *why, nullptr);
    }
    Task<Survey::Remembered> remembering = remember(call.user);
    const Survey::Remembered subject = co_await remembering;
    Task<Survey::Remembered> remembering_viewer = remember(looker);
    const Survey::Remembered of_viewer = co_await remembering_viewer;
    const ExplainedMoment moment =
        explain_moment(WallTime::from_ms(**at), subject.past, of_viewer.past, *why);
    const bool complete = subject.complete && of_viewer.complete;
    const protocol::ExplainedMomentFields fields{moment.at,
                                                 moment.known && complete,
                                                 moment.faces,
                                                 moment.because ? &*moment.because : nullptr,
                                                 moment.rules_changed,
                                                 complete ? moment.seen : std::nullopt,
                                                 subject.past,
                                                 complete};
    co_return explained(call.user, looker, *why, &fields);
}

net::HttpResponse Calls::explained(const UserId& subject, const UserId& viewer, Explanation& why,
                                   const protocol::ExplainedMomentFields* moment) const {
    const std::vector<protocol::SessionFields> sessions = fields_of(why.sessions);
    std::vector<protocol::ExplainedCheck> checks;
    for (const rules::RuleCheck& check : why.checks) {
        checks.push_back({check.attribute, check.check, check.passes, check.why});
    }
    const std::string view = protocol::encode_presence(why.view);
    const protocol::ExplanationFields fields{
        viewer,       subject,    view,   sessions, name_of(parts_.config.presence.merge.policy),
        why.declared, why.merged, checks, moment};
    return json_answer(protocol::encode_explanation_body(fields, parts_.clock.wall_now()));
}

}  // namespace presence::api
