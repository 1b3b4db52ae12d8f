#include "presence/rules/visibility.h"

#include <algorithm>
#include <chrono>

namespace presence::rules {

/// The only maker of verdicts.
struct VerdictMaker {
    static Verdict make(bool online, bool last_seen) {
        return Verdict((online ? Verdict::kOnline : 0U) |
                       (online && last_seen ? Verdict::kLastSeen : 0U));
    }
    static Verdict own() {
        return Verdict(unsigned{Verdict::kOwn} | Verdict::kOnline | Verdict::kLastSeen);
    }
    static Verdict unread() { return Verdict(Verdict::kUnread); }
};

namespace {

enum class Attribute : std::uint8_t { online, last_seen };

const PrivacyRule& rule_of(const Party& party, Attribute attribute,
                           const PrivacyDefaults& defaults) {
    const bool online = attribute == Attribute::online;
    if (party.profile != nullptr) {
        const PrivacySettings& set = party.profile->privacy;
        const std::optional<PrivacyRule>& rule = online ? set.online : set.last_seen;
        if (rule) {
            return *rule;
        }
    }
    return online ? defaults.online : defaults.last_seen;
}

bool has_contact(const Party& party, const UserId& other) {
    return party.profile != nullptr && party.profile->contacts.contains(other);
}

bool blocks(const Party& party, const UserId& other) {
    return party.profile != nullptr && party.profile->blocks.contains(other);
}

/// Whether the rule of `owner` lets `other` see. One that is not understood admits nobody.
bool admits(const Party& owner, const PrivacyRule& rule, const UserId& other) {
    switch (rule.audience) {
        case Audience::everyone:
            return true;
        case Audience::contacts:
            return has_contact(owner, other);
        case Audience::contacts_except:
            return has_contact(owner, other) && !rule.users.contains(other);
        case Audience::only:
            return rule.users.contains(other);
        case Audience::nobody:
            return false;
    }
    return false;
}

/// Everything that the answer for one attribute hangs on, so that the decision and its explanation
/// cannot part.
struct Grounds {
    bool subject_blocks = false;
    bool viewer_blocks = false;
    bool subject_admits = false;
    bool viewer_admits = false;

    [[nodiscard]] bool allow(const PrivacyDefaults& defaults) const {
        return !subject_blocks && !viewer_blocks && subject_admits &&
               (viewer_admits || !defaults.reciprocity);
    }
};

Grounds grounds_for(const Party& subject, const Party& viewer, Attribute attribute,
                    const PrivacyDefaults& defaults) {
    return {.subject_blocks = blocks(subject, viewer.user),
            .viewer_blocks = blocks(viewer, subject.user),
            .subject_admits = admits(subject, rule_of(subject, attribute, defaults), viewer.user),
            .viewer_admits = admits(viewer, rule_of(viewer, attribute, defaults), subject.user)};
}

std::string why_admitted(const Party& owner, const PrivacyRule& rule, const UserId& other) {
    const std::string name = "\"" + other.text + "\"";
    switch (rule.audience) {
        case Audience::everyone:
            return "it admits everyone";
        case Audience::contacts:
            return name + (has_contact(owner, other) ? " is a contact" : " is no contact");
        case Audience::contacts_except:
            if (!has_contact(owner, other)) {
                return name + " is no contact";
            }
            return name + (rule.users.contains(other) ? " is a contact, but an exception"
                                                      : " is a contact and no exception");
        case Audience::only:
            return name + (rule.users.contains(other) ? " is named" : " is not named");
        case Audience::nobody:
            return "it admits nobody";
    }
    return "it is not understood and admits nobody";
}

std::string why_blocked(bool blocked, const UserId& who, const UserId& whom) {
    return "\"" + who.text + (blocked ? "\" has blocked \"" : "\" has not blocked \"") + whom.text +
           "\"";
}

void explain_attribute(const Party& subject, const Party& viewer, Attribute attribute,
                       const PrivacyDefaults& defaults, std::vector<RuleCheck>& checks) {
    const std::string name = attribute == Attribute::online ? "online" : "lastSeen";
    const Grounds grounds = grounds_for(subject, viewer, attribute, defaults);
    checks.push_back({name, "subject blocks viewer", !grounds.subject_blocks,
                      why_blocked(grounds.subject_blocks, subject.user, viewer.user)});
    checks.push_back({name, "viewer blocks subject", !grounds.viewer_blocks,
                      why_blocked(grounds.viewer_blocks, viewer.user, subject.user)});
    const PrivacyRule& rule = rule_of(subject, attribute, defaults);
    checks.push_back({name, "subject's rule is " + std::string(wire_name(rule.audience)),
                      grounds.subject_admits, why_admitted(subject, rule, viewer.user)});
    if (defaults.reciprocity) {
        const PrivacyRule& back = rule_of(viewer, attribute, defaults);
        checks.push_back({name,
                          "viewer's rule is " + std::string(wire_name(back.audience)) +
                              ", and hiding costs seeing",
                          grounds.viewer_admits, why_admitted(viewer, back, subject.user)});
    }
}

WallTime cut_to_minute(WallTime time) {
    return {std::chrono::floor<std::chrono::minutes>(time.since_epoch)};
}

/// What is in force of what was declared, for the user's own sessions and back ends.
PresenceView::DeclaredView declared_view(const Presence& presence, WallTime now) {
    const DeclaredState& declared = presence.declared;
    const bool over = declared.expires_at && *declared.expires_at <= now;
    if (declared.status != DeclaredStatus::automatic && !over) {
        return {declared.status, false, declared.expires_at};
    }
    const std::optional<WallTime>& end = presence.session_declared_until;
    if (presence.session_declared != DeclaredStatus::automatic && !(end && *end <= now)) {
        return {presence.session_declared, true, end};
    }
    return {};
}

bool has_since(Status status) {
    return status == Status::away || status == Status::busy || status == Status::dnd;
}

}  // namespace

Verdict judge(const Party& subject, const Party& viewer, const PrivacyDefaults& defaults) {
    if (subject.user == viewer.user) {
        return VerdictMaker::own();
    }
    const Grounds online = grounds_for(subject, viewer, Attribute::online, defaults);
    const Grounds last_seen = grounds_for(subject, viewer, Attribute::last_seen, defaults);
    return VerdictMaker::make(online.allow(defaults), last_seen.allow(defaults));
}

Verdict verdict_for_back_end() {
    return VerdictMaker::own();
}

Verdict verdict_for_public_view() {
    return VerdictMaker::make(true, true);
}

Verdict VerdictRow::at(std::size_t place) const {
    return VerdictMaker::make(sees_.test(place), false);
}

Verdict verdict_unread() {
    return VerdictMaker::unread();
}

PresenceView view_for(const UserId& subject, const Presence* presence, Verdict verdict,
                      const Viewing& viewing) {
    PresenceView view(subject);
    if (verdict.unread()) {
        view.status_ = Status::unknown;
        return view;
    }
    if (!verdict.online() && !verdict.own()) {
        view.status_ = viewing.nobody_as;
        return view;
    }
    view.version_ = viewing.told;
    if (presence != nullptr) {
        view.version_ = verdict.own() ? presence->own_version : presence->shown_version;
        if (verdict.own()) {
            view.declared_ = declared_view(*presence, viewing.now);
        }
    }
    if (viewing.store_down) {
        // The store may lack what the viewer was told since, and a version never goes back.
        view.version_ = std::max(view.version_, viewing.told);
        view.status_ = viewing.unknown_as;
        return view;
    }
    if (presence == nullptr) {
        view.status_ = viewing.nobody_as;
        return view;
    }
    const Face& face = verdict.own() ? presence->own : presence->shown;
    const bool times = verdict.last_seen() || verdict.own();
    view.status_ = face.status;
    if (face.status == Status::offline) {
        // A stored 0 is a value that was never set, no day in 1970.
        if (times && presence->last_seen && *presence->last_seen > WallTime{}) {
            view.last_seen_ = last_seen_view(*presence->last_seen, viewing.now);
        }
        return view;
    }
    view.custom_ = unless_over(face.custom, viewing.now);
    if (viewing.show_devices && face.devices.bits != 0) {
        view.devices_ = face.devices;
    }
    if (times && has_since(face.status)) {
        view.since_ = cut_to_minute(face.since);
    }
    return view;
}

LastSeenView last_seen_view(WallTime last_seen, WallTime now) {
    const WallTime at = std::min(last_seen, now);
    if (now - at < 1min) {
        return {Granularity::exact, at};
    }
    const WallTime cut = cut_to_minute(at);
    const Millis age = now - cut;
    if (age < 1h) {
        return {Granularity::recent, cut};
    }
    constexpr auto kDay = 24h;
    if (age < kDay) {
        return {Granularity::today, std::nullopt};
    }
    if (age < 7 * kDay) {
        return {Granularity::this_week, std::nullopt};
    }
    if (age < 30 * kDay) {
        return {Granularity::this_month, std::nullopt};
    }
    return {Granularity::long_ago, std::nullopt};
}

std::vector<RuleCheck> explain(const Party& subject, const Party& viewer,
                               const PrivacyDefaults& defaults) {
    std::vector<RuleCheck> checks;
    if (subject.user == viewer.user) {
        for (const char* attribute : {"online", "lastSeen"}) {
            checks.push_back({attribute, "viewer is subject", true, "everyone sees themselves"});
        }
        return checks;
    }
    explain_attribute(subject, viewer, Attribute::online, defaults, checks);
    explain_attribute(subject, viewer, Attribute::last_seen, defaults, checks);
    const bool online = grounds_for(subject, viewer, Attribute::online, defaults).allow(defaults);
    checks.push_back({"lastSeen", "viewer may see online", online,
                      online ? "online is shown to this viewer"
                             : "who may not see online is not told last seen"});
    return checks;
}

}  // namespace presence::rules
