#include "presence/api/calls.h"

namespace presence::api {

namespace {

Task<bool> drop_copy(Shard& shard, UserId user) {
    shard.cache.invalidate(user);
    co_return true;
}

Task<bool> end_on(Shard& shard, UserId user) {
    if (shard.readers != nullptr) {
        shard.readers->end_readers(user);
    }
    co_return true;
}

}  // namespace

Calls::Calls(const ApiParts& parts, Readers& readers) : parts_(parts), readers_(readers) {}

protocol::ParseLimits Calls::limits() const {
    return protocol::ParseLimits::of(parts_.limits);
}

Task<Calls::Answer> Calls::answer(const AdmittedCall& call) const {
    switch (call.route.call) {
        case Call::get_presence:
            return get_presence(call);
        case Call::query_presence:
            return query_presence(call);
        case Call::get_status:
        case Call::get_privacy:
        case Call::get_contacts:
        case Call::get_blocks:
            return get_profile(call);
        case Call::put_status:
            return put_status(call);
        case Call::delete_status:
            return delete_status(call);
        case Call::put_privacy:
            return put_privacy(call);
        case Call::put_contacts:
        case Call::change_contacts:
        case Call::put_blocks:
        case Call::change_blocks:
            return change_list(call);
        case Call::list_sessions:
            return list_sessions(call);
        case Call::end_session:
            return end_session(call);
        case Call::revoke_tokens:
            return revoke(call);
        case Call::erase_user:
            return erase(call);
        case Call::explain_view:
            return explain(call);
        case Call::open_stream:
            return open_stream(call);
        case Call::poll:
        case Call::post_poll:
            return poll(call);
        case Call::beat:
            return beat(call);
        case Call::sign_out:
            return sign_out(call);
        case Call::get_stats:
            return stats(call);
        case Call::get_webhooks:
            return get_webhooks();
        case Call::list_dead_letters:
            return list_dead_letters(call);
        case Call::test_webhooks:
            return test_webhooks();
        case Call::get_room:
            return get_room(call);
        case Call::list_rooms:
            return list_rooms(call);
    }
    return get_presence(call);
}

Task<bool> Calls::forget_copies(UserId user) const {
    for (Shard* shard : parts_.shards.all) {
        Task<bool> dropping = run_there<bool>(parts_.scheduler, shard->scheduler,
                                              [shard, user] { return drop_copy(*shard, user); });
        co_await dropping;
    }
    co_return true;
}

Task<bool> Calls::end_readers(UserId user) const {
    for (Shard* shard : parts_.shards.all) {
        Task<bool> ending = run_there<bool>(parts_.scheduler, shard->scheduler,
                                            [shard, user] { return end_on(*shard, user); });
        co_await ending;
    }
    co_return true;
}

}  // namespace presence::api
