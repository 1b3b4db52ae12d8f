#include "presence/rules/merge.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <tuple>

namespace presence::rules {

namespace {

bool over(const std::optional<WallTime>& end, WallTime now) {
    return end && *end <= now;
}

std::optional<Status> status_named(DeclaredStatus declared) {
    switch (declared) {
        case DeclaredStatus::automatic:
            return std::nullopt;
        case DeclaredStatus::online:
            return Status::online;
        case DeclaredStatus::away:
            return Status::away;
        case DeclaredStatus::busy:
            return Status::busy;
        case DeclaredStatus::dnd:
            return Status::dnd;
        case DeclaredStatus::invisible:
            return Status::invisible;
    }
    return std::nullopt;
}

DeclaredStatus declared_by(const Session& session, WallTime now) {
    PRESENCE_ASSERT(session.declared != DeclaredStatus::invisible);
    return over(session.declared_until, now) ? DeclaredStatus::automatic : session.declared;
}

/// How much a status weighs in a merge; the heaviest wins, the latest among equals.
int weight(Status status, MergePolicy policy) {
    switch (policy) {
        case MergePolicy::most_available:
            return status == Status::online ? 3
                   : status == Status::busy ? 2
                   : status == Status::away ? 1
                                            : 0;
        case MergePolicy::least_interruptible:
            return status == Status::dnd      ? 3
                   : status == Status::busy   ? 2
                   : status == Status::online ? 1
                                              : 0;
        case MergePolicy::most_recent:
            return 0;
    }
    return 0;
}

/// Whether `a` was active after `b`. Sessions that never reported activity are ordered by their
/// attach, and equal ones by name, so that the order in which they are listed means nothing.
bool later(const Session& a, const Session& b) {
    return std::tie(a.active_rank, a.connected_at, a.id) >
           std::tie(b.active_rank, b.connected_at, b.id);
}

/// What the counting sessions of a user come to.
struct Tally {
    const Session* deciding = nullptr;
    Status status = Status::offline;
    /// The session active last of those with a custom status that is not over: a device that says
    /// nothing does not unsay what another one says.
    const Session* speaking = nullptr;
    DeviceSet devices;
};

Tally tally(std::span<const Session> sessions, MergePolicy policy, WallTime now) {
    Tally tally;
    for (const Session& session : sessions) {
        const std::optional<Status> status = status_of(session, now);
        if (!status) {
            continue;
        }
        tally.devices.insert(session.device.kind);
        const int difference = weight(*status, policy) - weight(tally.status, policy);
        if (tally.deciding == nullptr || difference > 0 ||
            (difference == 0 && later(session, *tally.deciding))) {
            tally.deciding = &session;
            tally.status = *status;
        }
        if (unless_over(session.custom, now) &&
            (tally.speaking == nullptr || later(session, *tally.speaking))) {
            tally.speaking = &session;
        }
    }
    return tally;
}

}  // namespace

std::optional<Status> status_of(const Session& session, WallTime now) {
    if (!session.counts) {
        return std::nullopt;
    }
    if (const auto declared = status_named(declared_by(session, now))) {
        return declared;
    }
    return session.idle ? Status::away : Status::online;
}

Merged merge(const DeclaredState& declared, std::span<const Session> sessions,
             const MergeConfig& config, WallTime now) {
    Merged merged;
    const Tally counting = tally(sessions, config.policy, now);
    if (counting.deciding == nullptr) {
        return merged;
    }
    const auto for_all_devices =
        over(declared.expires_at, now) ? std::nullopt : status_named(declared.status);
    if (for_all_devices) {
        merged.own.status = *for_all_devices;
    } else {
        merged.own.status = counting.status;
        merged.session_declared = declared_by(*counting.deciding, now);
        if (merged.session_declared != DeclaredStatus::automatic) {
            merged.session_declared_until = counting.deciding->declared_until;
        }
    }
    merged.own.custom = unless_over(declared.custom, now);
    if (!merged.own.custom && counting.speaking != nullptr) {
        merged.own.custom = counting.speaking->custom;
    }
    if (config.show_devices) {
        merged.own.devices = counting.devices;
    }
    if (merged.own.status != Status::invisible) {
        merged.shown = merged.own;
    }
    return merged;
}

std::optional<WallTime> next_change(const DeclaredState& declared,
                                    std::span<const Session> sessions, WallTime now) {
    std::optional<WallTime> next;
    const auto consider = [&](const std::optional<WallTime>& end) {
        if (end && *end > now && (!next || *end < *next)) {
            next = end;
        }
    };
    const auto consider_custom = [&](const CustomStatusRef& custom) {
        if (custom) {
            consider(custom->expires_at);
        }
    };
    if (declared.status != DeclaredStatus::automatic) {
        consider(declared.expires_at);
    }
    consider_custom(declared.custom);
    for (const Session& session : sessions) {
        if (!session.counts) {
            continue;
        }
        if (session.declared != DeclaredStatus::automatic) {
            consider(session.declared_until);
        }
        consider_custom(session.custom);
    }
    return next;
}

bool has_lapsed(const DeclaredState& declared, std::span<const Session> sessions, WallTime now) {
    const auto custom_over = [now](const CustomStatusRef& custom) {
        return custom && over(custom->expires_at, now);
    };
    return over(declared.expires_at, now) || custom_over(declared.custom) ||
           std::ranges::any_of(sessions, [&](const Session& session) {
               return over(session.declared_until, now) || custom_over(session.custom);
           });
}

}  // namespace presence::rules
