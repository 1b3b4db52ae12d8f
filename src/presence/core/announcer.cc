// The anti-flap window of PresenceService (DESIGN rule 13, RULINGS 11): the first transition of a
// quiet user goes out at once, with its commit; further ones within the window are merged, and if
// the end equals what was told last, nothing is sent.

#include "presence/core/presence_service.h"
#include "presence/model/canary.h"
#include "presence/rules/transition.h"
#include "presence/rules/visibility.h"

namespace presence {

namespace {

constexpr Millis kWindow{1000};

/// Whether watchers of the public face are told the same of both.
bool show_the_same(const Presence& a, const Presence& b) {
    return a.shown == b.shown && a.doubts(a.shown) == b.doubts(b.shown);
}

/// Likewise the user's own devices, which are told what is declared too, but not its revision.
bool own_the_same(const Presence& a, const Presence& b) {
    DeclaredState declared = a.declared;
    declared.revision = b.declared.revision;
    return a.own == b.own && a.doubts(a.own) == b.doubts(b.own) && declared == b.declared &&
           a.session_declared == b.session_declared &&
           a.session_declared_until == b.session_declared_until;
}

using SameFace = bool (*)(const Presence& a, const Presence& b);

bool tells_the_same(const ToldFace& told, const Presence& standing, SameFace same) {
    return told.known && same(told.record->presence, standing);
}

/// What was told of the user lately; nothing, with no records, where no window is open.
FlapWindow window_of(const User& user, MonoTime now) {
    FlapWindow window;
    if (user.flap) {
        window = *user.flap;
    } else if (const auto since = user.both_told_for(now); since && *since < kWindow) {
        window.shown.tell(user.record, now + (kWindow - *since));
        window.own = window.shown;
    }
    return window;
}

/// Begins a window.
void tell(ToldFace& told, const UserRecordRef& standing, MonoTime now) {
    told.tell(standing, now + kWindow);
}

/// At the end of a window. True: what stands now is told, and a new window begins.
bool end_window(ToldFace& told, const UserRecordRef& standing, MonoTime now, SameFace same) {
    told.pending = false;
    if (tells_the_same(told, standing->presence, same)) {
        return false;
    }
    tell(told, standing, now);
    return true;
}

}  // namespace

PresenceService::Announcement PresenceService::plan_announcement(
    const User& user, const Ref<UserRecord>& record, const rules::Transition& transition) const {
    if (!transition.shown_changed && !transition.own_changed) {
        return {};
    }
    const MonoTime now = parts_.clock.now();
    FlapWindow window = window_of(user, now);
    const Face shown_before =
        window.shown.pending ? window.shown.record->presence.shown : user.record->presence.shown;
    const auto decide = [&](bool changed, ToldFace& told, SameFace same) {
        if (!changed) {
            return false;
        }
        if (now >= told.quiet_from()) {
            if (told.pending && tells_the_same(told, record->presence, same)) {
                told.pending = false;  // Taken back after the window, before it was looked at.
                return false;
            }
            tell(told, record, now);
            return true;
        }
        told.pending = true;
        record->untold_until = parts_.clock.wall_now() + (told.quiet_from() - now);
        return false;
    };
    const bool tells_shown = decide(transition.shown_changed, window.shown, show_the_same);
    const bool tells_own = decide(transition.own_changed, window.own, own_the_same);
    PresenceEventRef event;
    if (tells_shown || tells_own) {
        event = std::make_shared<const PresenceEvent>(PresenceEvent{
            user.id, record->presence, record->rules_revision, tells_shown, tells_own});
    }
    // An entry without sessions lives as long as its window.
    if (tells_shown && tells_own && !record->sessions.empty()) {
        return {std::move(event), nullptr, now, shown_before};
    }
    return {std::move(event), std::make_unique<FlapWindow>(std::move(window)), std::nullopt,
            shown_before};
}

void PresenceService::announce_pending(User& user, MonoTime now) {
    ToldFace& shown = user.flap->shown;
    ToldFace& own = user.flap->own;
    const Face shown_before = shown.record ? shown.record->presence.shown : Face{};
    const auto end = [&](ToldFace& told, SameFace same) {
        if (!told.pending || now < told.quiet_from()) {
            return false;
        }
        const bool tells = end_window(told, user.record, now, same);
        parts_.counters.swallowed += tells ? 0U : 1U;
        return tells;
    };
    const bool tells_shown = end(shown, show_the_same);
    const bool tells_own = end(own, own_the_same);
    if (tells_shown || tells_own) {
        ++parts_.counters.announced;
        const auto event = std::make_shared<const PresenceEvent>(PresenceEvent{
            user.id, user.record->presence, user.record->rules_revision, tells_shown, tells_own});
        if (parts_.nodes.vouches(now)) {
            parts_.bus.publish(event);
        } else {
            parts_.bus.publish_here(event);
        }
        tell_webhooks(*event, shown_before);
    }
    if (!shown.pending && !own.pending && user.record->untold_until != WallTime{}) {
        auto told = make_ref<UserRecord>(*user.record);
        told->untold_until = {};  // The store hears of it with the next commit.
        user.record = std::move(told);
    }
    if (!shown.pending && !own.pending && now >= shown.quiet_from() && now >= own.quiet_from()) {
        user.flap.reset();
    }
}

void PresenceService::tell_what_others_hold_back(const User& user, Prepared& next) const {
    const FlapWindow* const window = next.plan.window ? next.plan.window.get() : user.flap.get();
    const bool holds_back = window != nullptr && (window->shown.pending || window->own.pending);
    if (parts_.nodes.alone() || holds_back || next.before->untold_until == WallTime{}) {
        return;
    }
    if (!next.plan.event) {
        next.plan.shown_before = next.record->presence.shown;
    }
    next.record->untold_until = {};
    next.plan.event = std::make_shared<const PresenceEvent>(
        PresenceEvent{user.id, next.record->presence, next.record->rules_revision});
}

void PresenceService::note_told_elsewhere(User& user, const UserRecord& before,
                                          const UserRecordRef& stored) {
    const bool shown_elsewhere = stored->presence.shown_version > before.presence.shown_version;
    const bool own_elsewhere = stored->presence.own_version > before.presence.own_version;
    if (!shown_elsewhere && !own_elsewhere) {
        return;
    }
    if (!user.flap) {
        FlapWindow window = window_of(user, parts_.clock.now());
        if (!window.shown.record) {
            return;
        }
        user.flap = std::make_unique<FlapWindow>(std::move(window));
    }
    // Another node may hold something back, and then it is not known what was told last.
    const bool known = stored->untold_until <= parts_.clock.wall_now();
    const auto note = [&](ToldFace& told) {
        told.record = stored;
        told.known = known;
    };
    if (shown_elsewhere) {
        note(user.flap->shown);
    }
    if (own_elsewhere) {
        note(user.flap->own);
    }
}

void PresenceService::tell_webhooks(const PresenceEvent& event, const Face& before) {
    const Presence& presence = event.presence;
    // Who is doubtful was told before the restart, and is told again when the doubt has ended.
    if (parts_.webhooks == nullptr || !parts_.webhooks->wanted() || !event.tells_shown ||
        is_canary(event.user) || presence.doubts(presence.shown) || before == presence.shown) {
        return;
    }
    const WallTime now = parts_.clock.wall_now();
    const rules::Viewing viewing{now, parts_.config.presence.merge.show_devices, false};
    const auto view_of = [&](const Face& face) {
        Presence of = presence;
        of.shown = face;
        of.doubtful = false;
        return rules::view_for(event.user, &of, rules::verdict_for_public_view(), viewing);
    };
    Face told = before;
    if (presence.own.status == Status::offline && !presence.last_seen) {
        told.custom.reset();  // An erasure: nothing that was stored is told any more.
    }
    WebhookEvent said;
    said.type = WebhookType::presence_changed;
    said.user = event.user;
    said.at = now;
    said.version = presence.shown_version;
    said.before = view_of(told);
    said.after = view_of(presence.shown);
    parts_.webhooks->note(said);
    const bool was_there = before.status != Status::offline;
    const bool is_there = presence.shown.status != Status::offline;
    if (was_there == is_there) {
        return;
    }
    said.type = is_there ? WebhookType::user_online : WebhookType::user_offline;
    said.before.reset();
    said.after.reset();
    said.last_seen = is_there ? std::nullopt : presence.last_seen;
    parts_.webhooks->note(std::move(said));
}

}  // namespace presence
