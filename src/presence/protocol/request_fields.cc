#include "presence/protocol/request_fields.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

namespace presence::protocol {

namespace {

constexpr std::array<Choice<DeviceKind>, kDeviceKinds> kDeviceTypes{{
    {"desktop", DeviceKind::desktop},
    {"mobile", DeviceKind::mobile},
    {"tablet", DeviceKind::tablet},
    {"web", DeviceKind::web},
    {"bot", DeviceKind::bot},
    {"other", DeviceKind::other},
}};

constexpr std::array<Choice<Activity>, 2> kActivities{{
    {"active", Activity::active},
    {"idle", Activity::idle},
}};

constexpr std::array<Choice<DeclaredStatus>, 6> kDeclaredStatuses{{
    {"auto", DeclaredStatus::automatic},
    {"online", DeclaredStatus::online},
    {"away", DeclaredStatus::away},
    {"busy", DeclaredStatus::busy},
    {"dnd", DeclaredStatus::dnd},
    {"invisible", DeclaredStatus::invisible},
}};

constexpr std::array<Choice<bool>, 2> kScopes{{{"user", false}, {"session", true}}};

constexpr std::array<Choice<Audience>, 5> kAudiences{{
    {"everyone", Audience::everyone},
    {"contacts", Audience::contacts},
    {"contactsExcept", Audience::contacts_except},
    {"only", Audience::only},
    {"nobody", Audience::nobody},
}};

/// What is wrong with `text` as an id, or null. Says more than check_id where a repair of the
/// JSON put U+0000 in the place of half a surrogate pair.
const char* complaint_about_id(std::string_view text) {
    const char* complaint = check_id(text);
    return complaint && text.size() <= 128 && text.find('\0') != std::string_view::npos
               ? "holds U+0000 or half of a surrogate pair"
               : complaint;
}

bool is_control(char32_t c) {
    return c <= 0x1F || (c >= 0x7F && c <= 0x9F);
}

bool holds_control(std::string_view text) {
    // Of valid UTF-8: C0 and DEL are single bytes, C1 is C2 80 to C2 9F.
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte < 0x80 && is_control(byte)) ||
            (byte == 0xC2 && i + 1 < text.size() &&
             static_cast<unsigned char>(text[i + 1]) <= 0x9F)) {
            return true;
        }
    }
    return false;
}

Expiry read_expiry(const JsonFields& fields) {
    const auto at = fields.integer("expiresAt", 0, kMaxInteger);
    const auto in = fields.integer("expiresInMs", 1, kMaxInteger);
    if (fields.has("expiresAt") && fields.has("expiresInMs")) {
        fields.refuse("expiresAt", "may not stand beside expiresInMs");
    }
    if (at) {
        return WallTime::from_ms(*at);
    }
    return in ? Expiry(Millis{*in}) : Expiry();
}

CustomStatusGiven read_custom_status(const JsonFields& fields, const ParseLimits& limits) {
    CustomStatusGiven custom;
    custom.text =
        fields.bounded_text("text", limits.custom_status_text, kCustomTextBytes).value_or("");
    custom.emoji =
        fields.bounded_text("emoji", kCustomEmojiCodePoints, kCustomEmojiBytes).value_or("");
    custom.expiry = read_expiry(fields);
    if (custom.text.empty() && custom.emoji.empty()) {
        fields.refuse("text", "or emoji is needed; a customStatus of null takes it away");
    }
    return custom;
}

std::optional<PrivacyRule> read_rule(const JsonFields& fields, std::string_view name,
                                     std::string_view path, const ParseLimits& limits) {
    const auto inside = fields.object(name, path);
    if (!inside || !inside->require("mode")) {
        return std::nullopt;
    }
    const auto audience = inside->choice("mode", kAudiences);
    if (!audience) {
        return std::nullopt;
    }
    PrivacyRule rule{*audience, {}};
    const bool with_users = *audience == Audience::contacts_except || *audience == Audience::only;
    if (with_users || inside->has("users")) {
        UserSet users(read_users(*inside, "users", limits.list_users));
        if (with_users) {
            rule.users = std::move(users);
        }
    }
    return rule;
}

}  // namespace

std::string read_id(const JsonFields& fields, std::string_view name) {
    if (!fields.require(name)) {
        return {};
    }
    const auto text = fields.text(name);
    if (!text) {
        return {};
    }
    if (const char* complaint = complaint_about_id(*text)) {
        fields.refuse(name, complaint);
        return {};
    }
    return std::string(*text);
}

std::vector<UserId> read_users(const JsonFields& fields, std::string_view name, std::size_t most) {
    std::vector<UserId> users;
    const auto list = fields.require(name) ? fields.array(name) : std::nullopt;
    if (!list) {
        return users;
    }
    // The bound is one of different users; with twice as many named it is no oversight any more.
    const std::size_t given = list->size();
    const auto refuse_for_size = [&](std::size_t count) {
        fields.refuse(name, compose("holds ", count, " users, at most ", most),
                      ErrorCode::limit_exceeded, most);
    };
    if (given / 2 > most || (given / 2 == most && given % 2 != 0)) {
        refuse_for_size(given);
        return users;
    }
    std::unordered_set<std::string_view> seen;
    seen.reserve(given);
    users.reserve(std::min(given, most));
    std::size_t index = 0;
    for (const simdjson::dom::element element : *list) {
        std::string_view text;
        const char* complaint = element.get(text) ? "must be a string" : complaint_about_id(text);
        if (complaint) {
            fields.refuse(compose(name, "[", index, "]"), complaint);
            return users;
        }
        if (seen.insert(text).second) {
            users.emplace_back(text);
        }
        ++index;
    }
    if (users.size() > most) {
        refuse_for_size(users.size());
    }
    return users;
}

std::optional<Device> read_device(const JsonFields& fields) {
    const auto inside = fields.object("device", "device.");
    if (!inside || !inside->require("type")) {
        return std::nullopt;
    }
    Device device;
    device.kind = inside->choice("type", kDeviceTypes).value_or(DeviceKind::other);
    device.name =
        inside->bounded_text("name", kDeviceNameCodePoints, kDeviceNameBytes).value_or("");
    if (holds_control(device.name)) {
        inside->refuse("name", "holds a control character");
    }
    return device;
}

std::optional<Activity> read_activity(const JsonFields& fields, std::string_view name) {
    return fields.choice(name, kActivities);
}

StatusChange read_status_change(const JsonFields& fields, const ParseLimits& limits) {
    StatusChange change;
    change.status = fields.choice("status", kDeclaredStatuses);
    change.session_scope = fields.choice("scope", kScopes).value_or(false);
    change.expiry = read_expiry(fields);
    const auto custom = fields.find("customStatus");
    if (custom && custom->is_null()) {
        change.custom_change = CustomChange::clear;
    } else if (const auto inside = fields.object("customStatus", "customStatus.")) {
        change.custom_change = CustomChange::set;
        change.custom = read_custom_status(*inside, limits);
    }
    const bool has_expiry = fields.has("expiresAt") || fields.has("expiresInMs");
    if (!fields.has("status") && (has_expiry || !custom)) {
        fields.refuse("status",
                      has_expiry ? "is missing beside its expiry" : "or customStatus is needed");
    }
    if (change.session_scope && change.status == DeclaredStatus::invisible) {
        fields.refuse("status", "may be invisible in scope user only");
    }
    return change;
}

PrivacySettings read_privacy(const JsonFields& fields, const ParseLimits& limits) {
    return {read_rule(fields, "online", "online.", limits),
            read_rule(fields, "lastSeen", "lastSeen.", limits)};
}

}  // namespace presence::protocol
