#include "presence/protocol/client_message.h"

#include "presence/protocol/json_document.h"
#include "presence/protocol/json_fields.h"
#include "presence/protocol/request_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

namespace presence::protocol {

namespace {

struct Reading {
    const JsonDocument& document;
    const JsonFields& fields;
    const ParseLimits& limits;
};

std::string without_white_space(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_string && c == '\\') {
            out.push_back(c);
            out.push_back(json[++i]);
            continue;
        }
        in_string = in_string != (c == '"');
        if (in_string || (c != ' ' && c != '\t' && c != '\r' && c != '\n')) {
            out.push_back(c);
        }
    }
    return out;
}

/// The raw JSON of `name`, without white space; empty where it is not there.
std::string read_raw(const Reading& in, std::string_view name, std::size_t most) {
    const auto index = in.fields.index_of(name);
    if (!index) {
        return {};
    }
    const auto sent = in.document.sent_value(*index);
    if (!sent) {
        in.fields.refuse(name, "holds half of a surrogate pair, -0 or a number beyond a double");
        return {};
    }
    if (sent->size() > most) {
        in.fields.refuse(name, compose("has ", sent->size(), " bytes, at most ", most),
                         ErrorCode::too_large, most);
        return {};
    }
    return without_white_space(*sent);
}

std::optional<std::string> read_secret(const Reading& in, std::string_view name) {
    const auto text = in.fields.text(name);
    return text ? std::optional<std::string>(*text) : std::nullopt;
}

ClientMessage read_hello(const Reading& in) {
    return Hello{read_secret(in, "token"), read_secret(in, "resume"), read_device(in.fields),
                 read_activity(in.fields, "activity"), in.fields.boolean("observe")};
}

ClientMessage read_heartbeat(const Reading& in) {
    const auto idle = in.fields.integer("idleMs", 0, kMaxInteger);
    return Heartbeat{idle ? std::optional(Millis{*idle}) : std::nullopt};
}

ClientMessage read_activity_report(const Reading& in) {
    in.fields.require("state");
    return ActivityReport{read_activity(in.fields, "state").value_or(Activity::active)};
}

ClientMessage read_status(const Reading& in) {
    return read_status_change(in.fields, in.limits);
}

std::vector<std::pair<UserId, Version>> read_known(const Reading& in) {
    std::vector<std::pair<UserId, Version>> known;
    const auto inside = in.fields.object("known", "known.");
    if (!inside) {
        return known;
    }
    const std::size_t given = inside->members().size();
    if (given > in.limits.watch) {
        in.fields.refuse("known", compose("holds ", given, " users, at most ", in.limits.watch),
                         ErrorCode::limit_exceeded, in.limits.watch);
        return known;
    }
    std::unordered_map<std::string_view, std::size_t> places;
    known.reserve(given);
    for (const auto& [user, value] : inside->members()) {
        std::int64_t version = 0;
        if (const char* complaint = check_id(user)) {
            in.fields.refuse("known", compose("the name of a member ", complaint));
            return known;
        }
        if (!value.is<std::int64_t>() || value.get(version) || version < 0 ||
            version > kMaxInteger) {
            in.fields.refuse("known",
                             compose("a version must be an integer from 0 to ", kMaxInteger));
            return known;
        }
        const Version held{static_cast<std::uint64_t>(version)};
        const auto [place, is_new] = places.try_emplace(user, known.size());
        if (is_new) {
            known.emplace_back(UserId(user), held);
        } else {
            known[place->second].second = held;
        }
    }
    return known;
}

ClientMessage read_watch(const Reading& in) {
    static constexpr std::array<Choice<Watch::Mode>, 2> kModes{
        {{"add", Watch::Mode::add}, {"set", Watch::Mode::set}}};
    Watch watch;
    watch.users = read_users(in.fields, "users", in.limits.watch);
    watch.mode = in.fields.choice("mode", kModes).value_or(Watch::Mode::add);
    watch.known = read_known(in);
    if (watch.users.empty() && watch.mode == Watch::Mode::add) {
        in.fields.refuse("users", "names nobody");
    }
    return watch;
}

ClientMessage read_unwatch(const Reading& in) {
    Unwatch unwatch;
    unwatch.all = in.fields.boolean("all").value_or(false);
    if (!unwatch.all || in.fields.has("users")) {
        unwatch.users = read_users(in.fields, "users", in.limits.watch);
    }
    return unwatch;
}

ClientMessage read_get(const Reading& in) {
    Get get{read_users(in.fields, "users", in.limits.watch)};
    if (get.users.empty()) {
        in.fields.refuse("users", "names nobody");
    }
    return get;
}

ClientMessage read_join(const Reading& in) {
    Join join;
    join.room = RoomId(read_id(in.fields, "room"));
    if (in.fields.object("meta", "meta.")) {
        join.meta = read_raw(in, "meta", kRoomMetaBytes);
    }
    join.observe = in.fields.boolean("observe").value_or(false);
    join.updates = in.fields.boolean("updates").value_or(true);
    return join;
}

ClientMessage read_leave(const Reading& in) {
    return Leave{RoomId(read_id(in.fields, "room"))};
}

bool is_kind(std::string_view text) {
    return !text.empty() && text.size() <= kSignalKindBytes &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '-';
           });
}

std::variant<UserId, RoomId> read_receiver(const Reading& in) {
    const auto to = in.fields.require("to") ? in.fields.object("to", "to.") : std::nullopt;
    if (!to) {
        return UserId();
    }
    if (to->has("userId") == to->has("room")) {
        in.fields.refuse("to", "must have one of userId and room");
        return UserId();
    }
    if (to->has("room")) {
        return RoomId(read_id(*to, "room"));
    }
    return UserId(read_id(*to, "userId"));
}

ClientMessage read_signal(const Reading& in) {
    Signal signal;
    signal.to = read_receiver(in);
    in.fields.require("kind");
    signal.kind = in.fields.text("kind").value_or("");
    if (!is_kind(signal.kind)) {
        in.fields.refuse("kind",
                         compose("must be 1 to ", kSignalKindBytes, " of A-Z, a-z, 0-9, _, ., -"));
    }
    in.fields.require("active");
    signal.active = in.fields.boolean("active").value_or(false);
    signal.data = read_raw(in, "data", kSignalDataBytes);
    return signal;
}

ClientMessage read_privacy_change(const Reading& in) {
    return PrivacyChange{read_privacy(in.fields, in.limits)};
}

ClientMessage read_block(const Reading& in) {
    return Block{read_users(in.fields, "users", in.limits.list_users)};
}

ClientMessage read_unblock(const Reading& in) {
    return Unblock{read_users(in.fields, "users", in.limits.list_users)};
}

ClientMessage read_delivery(const Reading& in) {
    static constexpr std::array<Choice<bool>, 2> kModes{{{"live", false}, {"paused", true}}};
    in.fields.require("mode");
    return Delivery{in.fields.choice("mode", kModes).value_or(false)};
}

ClientMessage read_auth(const Reading& in) {
    in.fields.require("token");
    return Auth{read_secret(in, "token").value_or("")};
}

ClientMessage read_bye(const Reading&) {
    return Bye{};
}

using Reader = ClientMessage (*)(const Reading&);

constexpr std::array<Choice<Reader>, 16> kReaders{{
    {"hello", read_hello},
    {"heartbeat", read_heartbeat},
    {"activity", read_activity_report},
    {"status", read_status},
    {"watch", read_watch},
    {"unwatch", read_unwatch},
    {"get", read_get},
    {"join", read_join},
    {"leave", read_leave},
    {"signal", read_signal},
    {"privacy", read_privacy_change},
    {"block", read_block},
    {"unblock", read_unblock},
    {"delivery", read_delivery},
    {"auth", read_auth},
    {"bye", read_bye},
}};

Result<ClientMessage> read_message(const Reading& in) {
    Refusal& refusal = in.fields.refusal();
    in.fields.require("type");
    const auto type = in.fields.text("type");
    if (refusal.said()) {
        return refusal.take();
    }
    const auto* reader = std::find_if(kReaders.begin(), kReaders.end(),
                                      [&](const auto& one) { return one.word == *type; });
    if (reader == kReaders.end()) {
        return Error{ErrorCode::bad_request, "type: is not a known message type"};
    }
    ClientMessage message = reader->value(in);
    if (refusal.said()) {
        return refusal.take();
    }
    return message;
}

}  // namespace

ParsedMessage parse_client_message(std::string_view text, const ParseLimits& limits) {
    RequestId id;
    if (is_bare_heartbeat(text, id)) {
        return {id, ClientMessage(Heartbeat{})};
    }
    const auto document = JsonDocument::parse(text);
    if (!document) {
        return {id, document.error()};
    }
    simdjson::dom::object root;
    if (document->root().get(root)) {
        return {id, Error{ErrorCode::bad_request, "a message must be a JSON object"}};
    }
    Refusal refusal;
    const JsonFields fields(root, "", refusal);
    if (const auto given = fields.integer("id", 0, kMaxInteger)) {
        id = static_cast<std::uint64_t>(*given);
    }
    if (refusal.said()) {
        return {id, refusal.take()};
    }
    return {id, read_message({*document, fields, limits})};
}

bool is_bare_heartbeat(std::string_view text, RequestId& id) noexcept {
    constexpr std::string_view kBegin = R"({"type":"heartbeat")";
    constexpr std::string_view kId = R"(,"id":)";
    if (!text.starts_with(kBegin) || !text.ends_with('}')) {
        return false;
    }
    text.remove_prefix(kBegin.size());
    text.remove_suffix(1);
    if (text.empty()) {
        id.reset();
        return true;
    }
    if (!text.starts_with(kId)) {
        return false;
    }
    text.remove_prefix(kId.size());
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool leading_zero = text.size() > 1 && text.front() == '0';
    if (error != std::errc() || end != text.data() + text.size() || leading_zero ||
        value > static_cast<std::uint64_t>(kMaxInteger)) {
        return false;
    }
    id = value;
    return true;
}

}  // namespace presence::protocol
