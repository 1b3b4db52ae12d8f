#pragma once

#include "presence/api/api.h"
#include "presence/api/caller.h"
#include "presence/api/readers.h"
#include "presence/api/routes.h"
#include "presence/base/task.h"
#include "presence/net/http.h"
#include "presence/protocol/client_message.h"

#include <string>

namespace presence {

struct Explanation;
namespace protocol {
struct ExplainedMomentFields;
}

namespace api {

/// One call whose caller may make it.
struct AdmittedCall {
    Route route;
    Caller caller;
    UserId user;        ///< That the path names; empty for a query.
    SessionId session;  ///< Likewise.
    RoomId room;        ///< Likewise.
    net::HttpRequest request;
    net::ConnectionId connection;  ///< Whose it is; 0 in tests.
};

/// The calls themselves. What belongs to a user is done on the user's home thread; views are made
/// on this one. One thread.
class Calls {
public:
    using Answer = Result<net::HttpResponse>;

    Calls(const ApiParts& parts, Readers& readers);

    /// @param call  Outlives the task.
    [[nodiscard]] Task<Answer> answer(const AdmittedCall& call) const;

private:
    // Views, in view_calls.cc
    [[nodiscard]] Task<Answer> get_presence(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> query_presence(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> explain(const AdmittedCall& call) const;
    [[nodiscard]] net::HttpResponse explained(const UserId& subject, const UserId& viewer,
                                              Explanation& why,
                                              const protocol::ExplainedMomentFields* moment) const;
    /// What all nodes remember of a user.
    [[nodiscard]] Task<Survey::Remembered> remember(UserId user) const;
    [[nodiscard]] Task<Answer> list_sessions(const AdmittedCall& call) const;

    // What users say and who may see it, in profile_calls.cc
    [[nodiscard]] Task<Answer> get_profile(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> put_status(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> delete_status(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> put_privacy(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> change_list(const AdmittedCall& call) const;

    // Rooms, in room_calls.cc
    [[nodiscard]] Task<Answer> get_room(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> list_rooms(const AdmittedCall& call) const;

    // For back ends, in admin_calls.cc
    [[nodiscard]] Task<Answer> end_session(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> revoke(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> erase(const AdmittedCall& call) const;

    // Streams and polls, in reader_calls.cc
    [[nodiscard]] Task<Answer> open_stream(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> poll(const AdmittedCall& call) const;

    // Sessions that live by HTTP, in beat_calls.cc
    [[nodiscard]] Task<Answer> beat(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> sign_out(const AdmittedCall& call) const;

    [[nodiscard]] Task<Answer> stats(const AdmittedCall& call) const;
    // Webhooks, in webhook_calls.cc
    [[nodiscard]] Task<Answer> get_webhooks() const;
    [[nodiscard]] Task<Answer> list_dead_letters(const AdmittedCall& call) const;
    [[nodiscard]] Task<Answer> test_webhooks() const;

    /// What is stored about `user` as an answer to the call `call`.
    [[nodiscard]] net::HttpResponse profile_answer(Call call, const ProfileRef& profile) const;
    /// Drops every thread's copy of what was stored about the user, so that whoever has the answer
    /// to a change finds it done, on whichever thread the next call comes in.
    [[nodiscard]] Task<bool> forget_copies(UserId user) const;
    /// Ends the user's streams and polls on every thread.
    [[nodiscard]] Task<bool> end_readers(UserId user) const;

    /// Runs the flow that `make` returns, called with the user's home, on that thread.
    template <class T, class Make>
    [[nodiscard]] Task<T> at_home(const UserId& user, Make make) const {
        Shard& home = parts_.shards.home_of(user);
        return run_there<T>(parts_.scheduler, home.scheduler,
                            [&home, make = std::move(make)]() mutable { return make(home); });
    }

    /// Whose view is wanted; empty: everything.
    /// @retval ErrorCode::forbidden    A user named somebody else.
    /// @retval ErrorCode::bad_request  It is no user id.
    [[nodiscard]] static Result<std::optional<UserId>> viewer_of(const AdmittedCall& call);
    /// Takes looks at so many users from the budget of the caller, if it is a user.
    [[nodiscard]] Task<Result<bool>> take_lookups(const AdmittedCall& call,
                                                  std::size_t users) const;

    /// Those in force now: a reload may have changed them.
    [[nodiscard]] protocol::ParseLimits limits() const;

    ApiParts parts_;
    Readers& readers_;
};

}  // namespace api
}  // namespace presence
