// GET /v1/stream and /v1/poll: what is asked for, and what goes back first.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/api/request_target.h"
#include "presence/protocol/rest_body.h"

#include <algorithm>
#include <charconv>

namespace presence::api {

namespace {

/// Users named in a URL: so many fit into a request line everywhere (RULINGS 42).
constexpr std::size_t kUrlUsers = 100;
/// Longer waits meet the time-outs of proxies.
constexpr Millis kMostWait{30'000};
constexpr std::uint64_t kMostEventId = (std::uint64_t{1} << 53U) - 1;

/// The id of the last event that a browser had, if it can be gone on from. It never spares the
/// snapshot: all that it does is that ids go on growing.
std::uint64_t last_event_id(const net::HttpRequest& request) {
    const std::string_view text = request.header("last-event-id").value_or("");
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    return whole && id < kMostEventId / 2 ? id : 0;
}

net::HttpResponse stream_head() {
    net::HttpResponse head;
    head.content_type = "text/event-stream";
    head.headers.emplace_back("X-Accel-Buffering", "no");  // nginx would hold events back.
    head.more_follows = true;
    return head;
}

Result<protocol::PollBody> wanted_poll(const AdmittedCall& call,
                                       const protocol::ParseLimits& limits) {
    if (call.route.call == Call::post_poll) {
        return protocol::parse_poll_body(call.request.body, limits, kMostWait);
    }
    const std::string_view query = call.request.query();
    Result<std::vector<UserId>> users = query_users(query, "users", kUrlUsers);
    if (!users) {
        return users.error();
    }
    Result<std::optional<std::string>> cursor = query_value(query, "cursor");
    if (!cursor) {
        return cursor.error();
    }
    const Result<std::optional<std::int64_t>> wait =
        query_integer(query, "waitMs", 0, kMostWait.count());
    if (!wait) {
        return wait.error();
    }
    const Millis waits{call.request.method == "HEAD" ? 0 : wait->value_or(0)};
    return protocol::PollBody{std::move(*users), cursor->value_or(""), waits};
}

}  // namespace

Task<Calls::Answer> Calls::open_stream(const AdmittedCall& call) const {
    Result<std::vector<UserId>> users = query_users(call.request.query(), "users", kUrlUsers);
    if (!users) {
        co_return users.error();
    }
    const Result<bool> may = call.caller.may_look_at(*users);
    if (!may) {
        co_return may.error();
    }
    net::HttpResponse head = stream_head();
    if (call.request.method == "HEAD") {
        head.more_follows = false;
        co_return head;
    }
    ReaderRequest wanted{call.connection, *call.caller.user, std::move(*users)};
    Task<Result<std::string>> opening =
        readers_.open_stream(std::move(wanted), last_event_id(call.request));
    Result<std::string> begun = co_await opening;
    if (!begun) {
        co_return begun.error();
    }
    head.body = std::move(*begun);
    co_return head;
}

Task<Calls::Answer> Calls::poll(const AdmittedCall& call) const {
    Result<protocol::PollBody> body = wanted_poll(call, limits());
    if (!body) {
        co_return body.error();
    }
    const Result<bool> may = call.caller.may_look_at(body->users);
    if (!may) {
        co_return may.error();
    }
    ReaderRequest wanted{call.connection, *call.caller.user, std::move(body->users)};
    Task<Result<PollNews>> polling = readers_.poll(
        std::move(wanted), PollCursor::parse(body->cursor, parts_.limits.watch), body->wait);
    Result<PollNews> news = co_await polling;
    if (!news) {
        co_return news.error();
    }
    const std::vector<std::string_view> pieces(news->presences.begin(), news->presences.end());
    co_return json_answer(
        protocol::encode_poll_body(pieces, news->cursor, parts_.clock.wall_now()));
}

}  // namespace presence::api
