#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/time.h"
#include "presence/model/privacy.h"
#include "presence/model/session.h"
#include "presence/model/status.h"
#include "presence/model/status_change.h"
#include "presence/protocol/expiry.h"
#include "presence/protocol/limits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace presence::protocol {

/// What clients say, PROTOCOL.md section 1, one struct a message. What stands in one has passed
/// every check that needs neither a clock nor a store: ids are ids, numbers within their bounds,
/// texts valid UTF-8 within their lengths. Lists of users are without doubles, in the order given.

enum class Activity : std::uint8_t { active, idle };

struct Hello {
    std::optional<std::string> token;   ///< Secret: never logged. May be empty.
    std::optional<std::string> resume;  ///< Secret: never logged. May be empty.
    std::optional<Device> device;
    std::optional<Activity> activity;
    std::optional<bool> observe;
};

struct Heartbeat {
    std::optional<Millis> idle;  ///< Since the last input; a report of activity (RULINGS 39).
};

struct ActivityReport {
    Activity state = Activity::active;
};

/// A custom status as the request gave it. At least one of text and emoji is not empty.
struct CustomStatusGiven {
    std::string text;
    std::string emoji;
    Expiry expiry;
};

enum class CustomChange : std::uint8_t { keep, clear, set };

/// A change of the declared status, of the custom status, or of both. Shared by `status` and by
/// PUT .../status.
struct StatusChange {
    std::optional<DeclaredStatus> status;  ///< Never `invisible` in session scope.
    Expiry expiry;                         ///< Of `status`; only where `status` is given.
    CustomChange custom_change = CustomChange::keep;
    CustomStatusGiven custom;  ///< With `set`.
    bool session_scope = false;
};

/// The change that was asked for, with the moments that its expiries mean at `now`.
/// @retval ErrorCode::bad_request  An end that is not in the future, or too far in it.
[[nodiscard]] Result<presence::StatusChange> resolve(StatusChange given, WallTime now);

struct Watch {
    enum class Mode : std::uint8_t { add, set };
    std::vector<UserId> users;  ///< Not empty with `add`.
    Mode mode = Mode::add;
    /// Versions held from before, one a user. May name users that `users` does not.
    std::vector<std::pair<UserId, Version>> known;
};

struct Unwatch {
    std::vector<UserId> users;
    bool all = false;  ///< Then `users` does not matter.
};

struct Get {
    std::vector<UserId> users;  ///< Not empty.
};

struct Join {
    RoomId room;
    std::string meta;  ///< Raw JSON of an object, without white space; empty: not given.
    bool observe = false;
    bool updates = true;
};

struct Leave {
    RoomId room;
};

struct Signal {
    std::variant<UserId, RoomId> to;
    std::string kind;  ///< 1 to 32 of A-Z a-z 0-9 _ . -
    std::string data;  ///< Raw JSON of any kind, without white space; empty: not given.
    bool active = false;
};

/// Rules that are not given stay as they are; with none given it is a question.
struct PrivacyChange {
    PrivacySettings rules;
};

struct Block {
    std::vector<UserId> users;
};

struct Unblock {
    std::vector<UserId> users;
};

struct Delivery {
    bool paused = false;
};

struct Auth {
    std::string token;  ///< Secret: never logged.
};

struct Bye {};

using ClientMessage =
    std::variant<Hello, Heartbeat, ActivityReport, StatusChange, Watch, Unwatch, Get, Join, Leave,
                 Signal, PrivacyChange, Block, Unblock, Delivery, Auth, Bye>;

/// A request and its answer carry the same id, 0 to 2^53 - 1.
using RequestId = std::optional<std::uint64_t>;

struct ParsedMessage {
    RequestId id;  ///< Also known on an error, where the JSON could be read and gave a valid one.
    Result<ClientMessage> message;
};

/// Reads one message. Any thread; each keeps a parser of its own. Takes no more time and memory
/// than proportional to `text`, at most as long as net lets in.
///
/// Unknown fields are ignored; of a key given twice the last counts, as in JavaScript. Nesting
/// over 32 levels is refused. Integers are written as integers: 1.0, 1e3 and -0 are refused.
/// The message of an error names the field and the bound and repeats nothing of `text`.
/// @retval ErrorCode::bad_request     Not JSON, not an object, an unknown type, or a field outside
///                                    its type, list or bounds.
/// @retval ErrorCode::too_large       `data` or `meta` of more than 1,024 bytes.
/// @retval ErrorCode::limit_exceeded  A list longer than its limit.
[[nodiscard]] ParsedMessage parse_client_message(std::string_view text, const ParseLimits& limits);

/// Whether `text` is a heartbeat that reports nothing, `{"type":"heartbeat"}` or with an `id`
/// behind, without white space: what a client library sends. It is told apart without parsing;
/// false says nothing. `id` is written on true only.
[[nodiscard]] bool is_bare_heartbeat(std::string_view text, RequestId& id) noexcept;

}  // namespace presence::protocol
