// What users declare, and whom they let see it. Each change is one flow on the user's home, which
// ends with what stands from then on.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/protocol/rest_body.h"

#include <memory>

namespace presence::api {

namespace {

/// What the user has declared, as stored; while the database is away as the record has it, which is
/// what others see.
Task<Result<ProfileRef>> declared_by(Shard& home, UserId user) {
    Result<ProfileRef> stored = co_await home.editor.stored_profile(user);
    if (stored || stored.error().code != ErrorCode::unavailable) {
        co_return stored;
    }
    Result<UserRecordRef> record = co_await home.service.record_of(std::move(user));
    if (!record || !*record) {
        co_return stored;
    }
    auto profile = make_ref<Profile>();
    profile->declared = (*record)->presence.declared;
    co_return ProfileRef(std::move(profile));
}

Task<Result<ProfileRef>> declare(Shard& home, UserId user, StatusChange change, bool limited) {
    Result<StatusOutcome> outcome =
        co_await home.service.change_status(user, std::move(change), limited, OverRate::refuse);
    if (!outcome) {
        co_return outcome.error();
    }
    Result<ProfileRef> profile = co_await declared_by(home, user);
    co_return profile;
}

Task<Result<ProfileRef>> set_privacy(Shard& home, UserId user, PrivacySettings settings) {
    Task<Result<ProfileChange>> changing = home.editor.set_privacy(user, std::move(settings));
    Result<ProfileChange> changed = co_await changing;
    if (!changed) {
        co_return changed.error();
    }
    Result<ProfileRef> profile = co_await home.editor.profile(user);
    co_return profile;
}

Task<Result<ProfileRef>> set_list(Shard& home, UserId user, UserSetChange change, bool blocks) {
    Task<Result<ProfileChange>> changing =
        blocks ? home.editor.change_blocks(user, std::move(change))
               : home.editor.change_contacts(user, std::move(change));
    Result<ProfileChange> changed = co_await changing;
    if (!changed) {
        co_return changed.error();
    }
    Result<ProfileRef> profile = co_await home.editor.profile(user);
    co_return profile;
}

/// What the body of a call about contacts or blocks asks for.
Result<UserSetChange> wanted_change(const AdmittedCall& call, const protocol::ParseLimits& limits) {
    UserSetChange change;
    if (call.request.method == "PUT") {
        Result<UserSet> users = protocol::parse_user_set_body(call.request.body, limits);
        if (!users) {
            return users.error();
        }
        change.replace = std::move(*users);
        return change;
    }
    Result<protocol::UserSetDelta> delta =
        protocol::parse_user_set_delta_body(call.request.body, limits);
    if (!delta) {
        return delta.error();
    }
    change.add = std::move(delta->add);
    change.remove = std::move(delta->remove);
    return change;
}

bool is_about_blocks(Call call) {
    return call == Call::put_blocks || call == Call::change_blocks;
}

}  // namespace

net::HttpResponse Calls::profile_answer(Call call, const ProfileRef& profile) const {
    static const Profile kNothing;
    const Profile& stored = profile ? *profile : kNothing;
    switch (call) {
        case Call::get_privacy:
        case Call::put_privacy:
            return json_answer(protocol::encode_privacy_body(
                stored.privacy.online.value_or(parts_.config.privacy.online),
                stored.privacy.last_seen.value_or(parts_.config.privacy.last_seen)));
        case Call::get_contacts:
        case Call::put_contacts:
        case Call::change_contacts:
            return json_answer(protocol::encode_user_set_body(stored.contacts));
        case Call::get_blocks:
        case Call::put_blocks:
        case Call::change_blocks:
            return json_answer(protocol::encode_user_set_body(stored.blocks));
        default:
            return json_answer(
                protocol::encode_declared_body(stored.declared, parts_.clock.wall_now()));
    }
}

Task<Calls::Answer> Calls::get_profile(const AdmittedCall& call) const {
    const bool declared = call.route.call == Call::get_status;
    Task<Result<ProfileRef>> reading =
        at_home<Result<ProfileRef>>(call.user, [user = call.user, declared](Shard& home) {
            return declared ? declared_by(home, user) : home.editor.profile(user);
        });
    Result<ProfileRef> profile = co_await reading;
    if (!profile) {
        co_return profile.error();
    }
    net::HttpResponse answer = profile_answer(call.route.call, *profile);
    const std::string etag = etag_of(answer.body_view());
    tag_answer(answer, etag, call.request.header("if-none-match"));
    co_return answer;
}

Task<Calls::Answer> Calls::put_status(const AdmittedCall& call) const {
    Result<protocol::StatusChange> given = protocol::parse_status_body(call.request.body, limits());
    if (!given) {
        co_return given.error();
    }
    Result<StatusChange> change = protocol::resolve(std::move(*given), parts_.clock.wall_now());
    if (!change) {
        co_return change.error();
    }
    const bool limited = call.caller.user.has_value();
    Task<Result<ProfileRef>> declaring = at_home<Result<ProfileRef>>(
        call.user, [user = call.user, wanted = std::move(*change), limited](Shard& home) {
            return declare(home, user, wanted, limited);
        });
    Result<ProfileRef> profile = co_await declaring;
    if (!profile) {
        co_return profile.error();
    }
    co_return profile_answer(call.route.call, *profile);
}

Task<Calls::Answer> Calls::delete_status(const AdmittedCall& call) const {
    StatusChange change;
    change.status = DeclaredStatus::automatic;
    change.sets_custom = true;
    const bool limited = call.caller.user.has_value();
    Task<Result<ProfileRef>> declaring = at_home<Result<ProfileRef>>(
        call.user, [user = call.user, wanted = std::move(change), limited](Shard& home) {
            return declare(home, user, wanted, limited);
        });
    Result<ProfileRef> profile = co_await declaring;
    if (!profile) {
        co_return profile.error();
    }
    co_return no_content();
}

Task<Calls::Answer> Calls::put_privacy(const AdmittedCall& call) const {
    Result<PrivacySettings> settings = protocol::parse_privacy_body(call.request.body, limits());
    if (!settings) {
        co_return settings.error();
    }
    Task<Result<ProfileRef>> setting = at_home<Result<ProfileRef>>(
        call.user, [user = call.user, wanted = std::move(*settings)](Shard& home) {
            return set_privacy(home, user, wanted);
        });
    Result<ProfileRef> profile = co_await setting;
    if (!profile) {
        co_return profile.error();
    }
    co_await forget_copies(call.user);
    co_return profile_answer(call.route.call, *profile);
}

Task<Calls::Answer> Calls::change_list(const AdmittedCall& call) const {
    Result<UserSetChange> change = wanted_change(call, limits());
    if (!change) {
        co_return change.error();
    }
    const bool blocks = is_about_blocks(call.route.call);
    if (blocks && (change->add.contains(call.user) ||
                   (change->replace && change->replace->contains(call.user)))) {
        co_return Error{ErrorCode::bad_request, "nobody can block themselves", 0, 0};
    }
    Task<Result<ProfileRef>> setting = at_home<Result<ProfileRef>>(
        call.user, [user = call.user, wanted = std::move(*change), blocks](Shard& home) {
            return set_list(home, user, wanted, blocks);
        });
    Result<ProfileRef> profile = co_await setting;
    if (!profile) {
        co_return profile.error();
    }
    co_await forget_copies(call.user);
    co_return profile_answer(call.route.call, *profile);
}

}  // namespace presence::api
