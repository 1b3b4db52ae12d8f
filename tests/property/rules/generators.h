#pragma once

#include "presence/rules/merge.h"
#include "presence/rules/transition.h"
#include "presence/rules/visibility.h"

#include "unit/rules/people.h"

#include <rapidcheck.h>

#include <string>
#include <vector>

/// In these tests a condition with || or && stands in parentheses of its own: RC_ASSERT takes it
/// apart otherwise, and evaluates both sides.
///
/// Arbitrary people around test::kNow. The ranges are narrow on purpose, so that equal times, names
/// and ends that meet `now` come up often.
namespace presence::rules::test {

inline rc::Gen<WallTime> any_time() {
    return rc::gen::map(rc::gen::inRange<std::int64_t>(-5, 6),
                        [](std::int64_t minutes) { return kNow + minutes * 30s; });
}

inline rc::Gen<std::optional<WallTime>> any_end() {
    return rc::gen::oneOf(rc::gen::just(std::optional<WallTime>{}),
                          rc::gen::map(any_time(), [](WallTime t) { return std::optional(t); }));
}

inline rc::Gen<CustomStatusRef> any_custom() {
    return rc::gen::oneOf(
        rc::gen::just(CustomStatusRef{}),
        rc::gen::apply(
            [](int word, std::optional<WallTime> end) { return words(std::to_string(word), end); },
            rc::gen::inRange(0, 3), any_end()));
}

inline rc::Gen<DeclaredStatus> any_declared_status(bool with_invisible) {
    return rc::gen::map(rc::gen::inRange(0, with_invisible ? 6 : 5),
                        [](int n) { return static_cast<DeclaredStatus>(n); });
}

inline rc::Gen<DeclaredState> any_declared() {
    return rc::gen::apply(
        [](DeclaredStatus status, std::optional<WallTime> end, CustomStatusRef custom) {
            DeclaredState declared = for_all(status, end);
            declared.custom = std::move(custom);
            return declared;
        },
        any_declared_status(true), any_end(), any_custom());
}

inline rc::Gen<Session> any_session(std::string id) {
    return rc::gen::exec([id = std::move(id)] {
        Session made = session(id, static_cast<DeviceKind>(*rc::gen::inRange(0, kDeviceKinds)));
        made.connected_at = kNow - *rc::gen::inRange(0, 2) * 1min;
        made.custom = *any_custom();
        made.declared = *any_declared_status(false);
        made.declared_until = *any_end();
        made.active_rank = *rc::gen::inRange(0U, 4U);
        made.counts = *rc::gen::inRange(0, 4) != 0;
        made.idle = *rc::gen::arbitrary<bool>();
        return made;
    });
}

/// Up to five sessions with different names.
inline rc::Gen<std::vector<Session>> any_sessions() {
    return rc::gen::exec([] {
        std::vector<Session> sessions;
        const int count = *rc::gen::inRange(0, 6);
        for (int i = 0; i < count; ++i) {
            sessions.push_back(*any_session(std::string(1, static_cast<char>('a' + i))));
        }
        return sessions;
    });
}

inline rc::Gen<MergeConfig> any_merge_config() {
    return rc::gen::apply(
        [](int policy, bool devices) {
            return MergeConfig{static_cast<MergePolicy>(policy), devices};
        },
        rc::gen::inRange(0, 3), rc::gen::arbitrary<bool>());
}

inline rc::Gen<Presence> any_presence() {
    return rc::gen::exec([] {
        Presence presence;
        const DeclaredState declared = *any_declared();
        const auto sessions = *any_sessions();
        const Merged merged = merge(declared, sessions, {}, kNow - 10min);
        presence.own = merged.own;
        presence.shown = merged.shown;
        presence.own.since = *any_time();
        presence.shown.since = *any_time();
        presence.own_version = Version{*rc::gen::inRange<std::uint64_t>(0, 1'000)};
        presence.shown_version = Version{*rc::gen::inRange<std::uint64_t>(0, 1'000)};
        presence.last_seen = *any_end();
        presence.declared = declared;
        presence.session_declared = merged.session_declared;
        presence.session_declared_until = merged.session_declared_until;
        return presence;
    });
}

/// The people of these worlds: few, so that lists hit them often.
inline rc::Gen<UserId> any_user() {
    return rc::gen::map(rc::gen::inRange(0, 4),
                        [](int n) { return UserId(std::string(1, static_cast<char>('p' + n))); });
}

inline rc::Gen<UserSet> any_users() {
    return rc::gen::map(rc::gen::container<std::vector<UserId>>(any_user()),
                        [](std::vector<UserId> users) { return UserSet(std::move(users)); });
}

inline rc::Gen<PrivacyRule> any_rule() {
    return rc::gen::apply(
        [](int audience, UserSet users) {
            return PrivacyRule{static_cast<Audience>(audience), std::move(users)};
        },
        rc::gen::inRange(0, 5), any_users());
}

inline rc::Gen<Profile> any_profile() {
    return rc::gen::exec([] {
        Profile profile;
        if (*rc::gen::arbitrary<bool>()) {
            profile.privacy.online = *any_rule();
        }
        if (*rc::gen::arbitrary<bool>()) {
            profile.privacy.last_seen = *any_rule();
        }
        profile.contacts = *any_users();
        if (*rc::gen::inRange(0, 3) == 0) {
            profile.blocks = *any_users();
        }
        return profile;
    });
}

inline rc::Gen<PrivacyDefaults> any_defaults() {
    return rc::gen::apply(
        [](PrivacyRule online, PrivacyRule last_seen, bool reciprocity) {
            return PrivacyDefaults{std::move(online), std::move(last_seen), reciprocity};
        },
        any_rule(), any_rule(), rc::gen::arbitrary<bool>());
}

inline rc::Gen<Viewing> any_viewing() {
    return rc::gen::apply(
        [](WallTime now, bool devices, bool down) {
            return Viewing{now, devices, down};
        },
        any_time(), rc::gen::arbitrary<bool>(), rc::gen::arbitrary<bool>());
}

inline bool equal(const PresenceView& a, const PresenceView& b) {
    const auto same_declared = [&] {
        if (!a.declared() || !b.declared()) {
            return a.declared().has_value() == b.declared().has_value();
        }
        return a.declared()->status == b.declared()->status &&
               a.declared()->session_scope == b.declared()->session_scope &&
               a.declared()->expires_at == b.declared()->expires_at;
    };
    return a.user() == b.user() && a.status() == b.status() && a.version() == b.version() &&
           a.since() == b.since() && same(a.custom(), b.custom()) && a.devices() == b.devices() &&
           a.last_seen() == b.last_seen() && same_declared();
}

}  // namespace presence::rules::test
