#pragma once

#include "unit/api/api_world.h"

namespace presence::api::testing {

/// A world with readers in it: streams and polls on connections that a test names by numbers.
class ReadersWorld : public ApiWorld {
protected:
    using ApiWorld::ApiWorld;

    static Sending by(std::string user) {
        Sending sending;
        sending.as = std::move(user);
        return sending;
    }
    /// A stream that begins; its answer so far.
    Reply stream(const std::string& viewer, const std::string& users, std::uint64_t connection = 1,
                 std::size_t thread = 0) {
        return call_on(thread, "GET", "/v1/stream?users=" + users, by(viewer),
                       net::ConnectionId{connection});
    }
    /// A poll; it may wait.
    Started<net::HttpResponse> poll(const std::string& viewer, const std::string& query,
                                    std::uint64_t connection = 1, std::size_t thread = 0) {
        auto answer =
            begin_on(thread, "GET", "/v1/poll?" + query, by(viewer), net::ConnectionId{connection});
        turn();
        return answer;
    }
    Reply answered(const Started<net::HttpResponse>& answer) {
        turn();
        EXPECT_TRUE(answer->has_value()) << "still waiting";
        return answer->has_value() ? reply_of(**answer) : Reply{};
    }
    static std::string cursor_of(const Reply& reply) {
        const std::string_view mark = R"("cursor":")";
        const std::size_t at = reply.body.find(mark);
        if (at == std::string::npos) {
            return "none";
        }
        const std::string rest = reply.body.substr(at + mark.size());
        return rest.substr(0, rest.find('"'));
    }
    /// What is told of time differs; nothing else may.
    static std::string without_times(std::string text) {
        for (const std::string_view mark : {R"("asOf":)", R"("at":)"}) {
            for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
                at += mark.size();
                while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
                    text.erase(at, 1);
                }
            }
        }
        return text;
    }
    [[nodiscard]] std::string& sent(std::uint64_t connection = 1) { return pipe.sent[connection]; }
    [[nodiscard]] std::size_t edges() {
        return threads[0]->shard.watches.index().edge_count() +
               threads[1]->shard.watches.index().edge_count();
    }
    [[nodiscard]] std::size_t places() {
        return threads[0]->shard.places.size() + threads[1]->shard.places.size();
    }
    void leave(const std::string& user, const Attachment& attached) {
        wait(home_of(user).shard.service.end(attached.session, Cause::goodbye));
        turn();
    }
    void declare(const std::string& user, const std::string& status) {
        EXPECT_EQ(put("/v1/users/" + user + "/status", R"({"status":")" + status + R"("})").status,
                  200);
        turn();
    }
    void hide(const std::string& user) {
        EXPECT_EQ(put("/v1/users/" + user + "/privacy", R"({"online":{"mode":"nobody"}})").status,
                  200);
        turn();
    }
};

}  // namespace presence::api::testing
