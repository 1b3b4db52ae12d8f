#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/time.h"
#include "presence/model/privacy.h"
#include "presence/model/session.h"
#include "presence/protocol/client_message.h"
#include "presence/protocol/past_json.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::protocol {

/// Bodies of the HTTP calls, as api/openapi.yaml has them. Readers check what parse_client_message
/// checks, in the same words, and return the same codes. Any thread.

/// PUT .../status. Never of session scope.
[[nodiscard]] Result<StatusChange> parse_status_body(std::string_view text,
                                                     const ParseLimits& limits);
/// PUT .../privacy. At least one rule is given.
[[nodiscard]] Result<PrivacySettings> parse_privacy_body(std::string_view text,
                                                         const ParseLimits& limits);
/// PUT .../contacts and .../blocks.
[[nodiscard]] Result<UserSet> parse_user_set_body(std::string_view text, const ParseLimits& limits);

/// What POST .../contacts and .../blocks change. No user is in both.
struct UserSetDelta {
    UserSet add;
    UserSet remove;
};
[[nodiscard]] Result<UserSetDelta> parse_user_set_delta_body(std::string_view text,
                                                             const ParseLimits& limits);
/// POST /v1/presence/query: the users asked for, in that order, each once; may be none.
[[nodiscard]] Result<std::vector<UserId>> parse_query_body(std::string_view text,
                                                           const ParseLimits& limits);
/// POST /v1/poll.
struct PollBody {
    std::vector<UserId> users;  ///< In that order, each once; at most limits.watch.
    std::string cursor;         ///< Empty: none.
    Millis wait{0};
};
[[nodiscard]] Result<PollBody> parse_poll_body(std::string_view text, const ParseLimits& limits,
                                               Millis most_wait);
/// POST /v1/heartbeat.
struct BeatBody {
    std::string device_id;  ///< Has passed check_id.
    std::optional<Device> device;
    std::optional<Activity> activity;
};
[[nodiscard]] Result<BeatBody> parse_beat_body(std::string_view text);
/// POST .../revoke: `before`.
[[nodiscard]] Result<WallTime> parse_revoke_body(std::string_view text);

/// `{"error":{...}}`
[[nodiscard]] std::string encode_error_body(const Error& error);
/// @param presences  Each made by append_presence.
[[nodiscard]] std::string encode_query_body(std::span<const std::string_view> presences,
                                            WallTime as_of);
/// @param presences  Likewise: those that differ from what the cursor before stood for.
[[nodiscard]] std::string encode_poll_body(std::span<const std::string_view> presences,
                                           std::string_view cursor, WallTime as_of);
/// What a user declared for all devices; what is over at `now` is left out.
[[nodiscard]] std::string encode_declared_body(const DeclaredState& declared, WallTime now);
[[nodiscard]] std::string encode_privacy_body(const PrivacyRule& online,
                                              const PrivacyRule& last_seen);
[[nodiscard]] std::string encode_user_set_body(const UserSet& users);
[[nodiscard]] std::string encode_revoke_body(WallTime before);

[[nodiscard]] std::string encode_beat_body(const SessionId& session, Millis interval, Millis ttl,
                                           WallTime now);

/// GET /v1/stats.
struct StatsFields {
    std::array<std::size_t, 7> by_status{};  ///< People, by Status; `offline` is not said.
    std::array<std::size_t, kDeviceKinds> by_device{};
    std::size_t sessions_live = 0;
    std::size_t sessions_in_grace = 0;
    std::size_t sessions_observing = 0;
    std::size_t sessions_by_http = 0;
    std::size_t web_sockets = 0;
    std::size_t streams = 0;
    std::size_t polls = 0;
    std::size_t nodes = 1;
    bool exact = true;
};
[[nodiscard]] std::string encode_stats_body(const StatsFields& fields, WallTime as_of);

/// One session, for back ends.
struct SessionFields {
    const Session& session;
    std::optional<WallTime> last_heartbeat;  ///< Where this node knows it.
    std::string_view node;                   ///< Empty: not said.
};

/// Adds the JSON object of one session; a status that is over at `now` is left out.
void append_session(std::string& out, const SessionFields& fields, WallTime now);
[[nodiscard]] std::string encode_sessions_body(std::span<const SessionFields> sessions,
                                               WallTime now);

/// One check of GET .../explain.
struct ExplainedCheck {
    std::string_view attribute;
    std::string_view check;
    bool passes = false;
    std::string_view why;
};

/// GET .../explain: from the sessions to what the viewer gets. For back ends.
struct ExplanationFields {
    const UserId& viewer;
    const UserId& subject;
    std::string_view view;  ///< Made by append_presence.
    std::span<const SessionFields> sessions;
    std::string_view merge_policy;
    const DeclaredState& declared;
    Status merged = Status::offline;  ///< Before any rule.
    std::span<const ExplainedCheck> checks;
    const ExplainedMomentFields* moment = nullptr;  ///< Null: it was not asked for.
};
[[nodiscard]] std::string encode_explanation_body(const ExplanationFields& fields, WallTime now);

/// A room as GET /v1/rooms and GET /v1/rooms/{room} give it.
struct RoomFields {
    const RoomId& room;
    std::size_t count = 0;
    bool exact = true;
    std::optional<std::size_t> public_count = std::nullopt;  ///< For back ends.
};
/// @param members  Each made by append_member.
/// @param next     The cursor of the next page; empty: there is none.
[[nodiscard]] std::string encode_room_body(const RoomFields& fields,
                                           std::span<const std::string_view> members,
                                           std::optional<std::string_view> next);
[[nodiscard]] std::string encode_rooms_body(std::span<const RoomFields> rooms,
                                            std::optional<std::string_view> next);

}  // namespace presence::protocol
