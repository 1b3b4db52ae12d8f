// What somebody does who may not be seen leaves no trace in what a viewer gets over HTTP: answers,
// ETags, cursors, streams, polls, and the moments at which they come (DESIGN rule 26). Rooms over a
// WebSocket are in tests/property/core/room_property_test.cc.

#include "property/core/story.h"
#include "unit/api/readers_world.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace presence::api::testing {

namespace {

using presence::testing::any_script;
using presence::testing::Deed;

/// How the one is hidden from the viewer.
enum class Hidden { invisible, blocks, is_blocked, admits_others, is_not_admitted };
constexpr int kWays = 5;
/// Longer silences add only work.
constexpr Millis kLongest{5'000};
constexpr std::array<const char*, 3> kUsers{"ghost", "person", "never"};
constexpr std::array<const char*, 2> kRooms{"hall", "garden"};

Limits limits_of(std::size_t listed) {
    Limits limits;
    limits.room_members = listed;
    return limits;
}

/// Somebody who is looked at, and what they do.
struct Doer {
    std::string name;
    /// What would show somebody who is only invisible, or another rule than that which hides them.
    bool keeps_hidden = false;
    std::vector<Attachment> devices;
};

class Watched final : public ReadersWorld {
public:
    explicit Watched(std::size_t listed) : ReadersWorld(limits_of(listed)) {}
    void TestBody() override {}

    /// Everybody has been there once, so that there is a last seen; then the ghost is hidden.
    void begin(Hidden how) {
        start();
        for (const char* const user : {"ghost", "person"}) {
            put("/v1/users/" + std::string(user) + "/contacts", R"({"users":["spy"]})");
            leave(user, attach(user, ++connections_));
        }
        pass(kLongest);
        switch (how) {
            case Hidden::invisible:
                put("/v1/users/ghost/status", R"({"status":"invisible"})");
                break;
            case Hidden::blocks:
                put("/v1/users/ghost/blocks", R"({"users":["spy"]})");
                break;
            case Hidden::is_blocked:
                put("/v1/users/spy/blocks", R"({"users":["ghost"]})");
                break;
            case Hidden::admits_others:
                put("/v1/users/ghost/privacy", R"({"online":{"mode":"only","users":["friend"]}})");
                break;
            case Hidden::is_not_admitted:
                put("/v1/users/spy/privacy", R"({"online":{"mode":"contacts"}})");
                put("/v1/users/spy/contacts", R"({"users":["person"]})");
                break;
        }
        pass(kLongest);
    }

    /// The one who looks on, by every road there is.
    void look(std::uint64_t dice) {
        const auto which = static_cast<std::size_t>(dice / 16);
        const std::string user = kUsers.at(which % kUsers.size());
        const std::size_t thread = which % 2;
        switch (dice % 10) {
            case 0:
                ask(thread, "GET", "/v1/users/" + user + "/presence");
                return;
            case 1:
                ask(thread, "POST", "/v1/presence/query",
                    R"({"users":["never","ghost","person"]})");
                return;
            case 2:
            case 3:
                turn_pages(thread, kRooms.at(which % kRooms.size()), which % 3 + 1);
                return;
            case 4:
                open_stream(thread);
                return;
            case 5:
                close_stream(which);
                return;
            case 6:
                stop_reading(which % 3 == 0);
                return;
            case 7:
            case 8:
                begin_poll(thread, which % 3'000);
                return;
            default:
                ask(thread, "GET", "/v1/users/" + user + (which % 2 ? "/status" : "/sessions"));
                return;
        }
    }

    void act(Doer& doer, std::uint64_t dice) {
        const auto which = static_cast<std::size_t>(dice / 16);
        const RoomId room(kRooms.at(which % kRooms.size()));
        Shard& home = home_of(doer.name).shard;
        const std::string path = "/v1/users/" + doer.name;
        switch (dice % 12) {
            case 0:
            case 1:
                come(doer, static_cast<DeviceKind>(which % kDeviceKinds));
                return;
            case 2:
                go(doer, [&](const Attachment& one) {
                    wait(home.service.end(one.session, Cause::goodbye));
                });
                return;
            case 3:
                go(doer, [&](const Attachment& one) {
                    wait(home.service.connection_lost(one.session, which % 2 == 0));
                });
                return;
            case 4:
                if (!doer.keeps_hidden) {
                    constexpr std::array<const char*, 5> kWords{"busy", "away", "auto", "dnd",
                                                                "invisible"};
                    do_call(
                        doer, "PUT", path + "/status",
                        R"({"status":")" + std::string(kWords.at(which % kWords.size())) + R"("})");
                }
                return;
            case 5:
                do_call(doer, "PUT", path + "/status",
                        R"({"customStatus":{"text":"text )" + std::to_string(which % 3) + R"("}})");
                return;
            case 6:
                do_call(doer, "POST", "/v1/heartbeat",
                        R"({"deviceId":"d1","activity":")" +
                            std::string(which % 2 ? "active" : "idle") + R"("})");
                return;
            case 7:
                do_call(doer, "DELETE", "/v1/heartbeat?deviceId=d1", "");
                return;
            case 8:
                do_call(doer, "POST", path + "/blocks",
                        which % 2 ? R"({"add":["stranger"]})" : R"({"remove":["stranger"]})");
                return;
            case 9:
            case 10:
                if (!doer.devices.empty()) {
                    home.rooms.take_over(
                        {{},
                         UserId(doer.name),
                         doer.devices.back().id,
                         {{room, R"({"n":)" + std::to_string(which % 3) + "}", clock.wall_now()}}});
                }
                return;
            default:
                if (!doer.devices.empty()) {
                    wait(home.rooms.leave(0, doer.devices.back().id, UserId(doer.name), room));
                }
                return;
        }
    }

    void run_to(MonoTime end) {
        while (clock.now() < end) {
            pass(Millis{50});
            collect();
        }
    }
    [[nodiscard]] const std::vector<std::string>& seen() const { return seen_; }
    [[nodiscard]] MonoTime now() const { return clock.now(); }
    [[nodiscard]] std::size_t acts() const { return acts_; }

private:
    static constexpr std::uint64_t kMostStreams = 3;
    static constexpr std::size_t kMostPolls = 5;

    struct Stream {
        std::uint64_t connection = 0;
        std::size_t thread = 0;
    };

    // --- Who is looked at ------------------------------------------------------------------------
    void come(Doer& doer, DeviceKind kind) {
        if (doer.devices.size() < 5) {
            doer.devices.push_back(attach(doer.name, ++connections_, kind));
            ++acts_;
        }
    }
    template <class End>
    void go(Doer& doer, End end) {
        if (!doer.devices.empty()) {
            end(doer.devices.back());
            doer.devices.pop_back();
            ++acts_;
        }
    }
    void do_call(const Doer& doer, const char* method, const std::string& target,
                 std::string body) {
        const Reply reply = call_as(doer.name, method, target, std::move(body));
        RC_ASSERT(reply.status < 300 || reply.status == 429);
        ++acts_;
    }

    // --- Who looks -------------------------------------------------------------------------------
    void keep(const std::string& what) {
        seen_.push_back(std::to_string((clock.now() - MonoTime{}).count()) + " " + what);
    }
    void keep(const Reply& reply) {
        keep(std::to_string(reply.status) + " " + reply.header("ETag") + " " + reply.body);
    }
    Reply ask(std::size_t thread, const char* method, const std::string& target,
              std::string body = "") {
        Sending sending = by("spy");
        sending.body = std::move(body);
        const Reply reply = call_on(thread, method, target, sending);
        keep(reply);
        return reply;
    }
    void turn_pages(std::size_t thread, const std::string& room, std::size_t limit) {
        std::string next;
        for (int page = 0; page < 5; ++page) {
            const Reply reply = ask(thread, "GET",
                                    "/v1/rooms/" + room + "?limit=" + std::to_string(limit) +
                                        (next.empty() ? "" : "&cursor=" + next));
            const std::string_view mark = R"("next":")";
            const std::size_t at = reply.body.find(mark);
            if (at == std::string::npos) {
                return;
            }
            next = reply.body.substr(at + mark.size());
            next.resize(next.find('"'));
        }
    }
    void open_stream(std::size_t thread) {
        if (streams_.size() < kMostStreams) {
            const std::uint64_t connection = ++opened_;
            keep(stream("spy", "ghost,person,never", connection, thread));
            streams_.push_back({connection, thread});
        }
    }
    void close_stream(std::size_t which) {
        if (!streams_.empty()) {
            const auto one =
                streams_.begin() + static_cast<std::ptrdiff_t>(which % streams_.size());
            pipe.blocked.erase(one->connection);
            apis[one->thread]->on_request_lost(net::ConnectionId{one->connection});
            streams_.erase(one);
        }
    }
    void stop_reading(bool stops) {
        for (const Stream& one : streams_) {
            if (stops) {
                pipe.blocked.emplace(one.connection, clock.now());
            } else if (pipe.blocked.erase(one.connection) > 0) {
                apis[one.thread]->on_drained(net::ConnectionId{one.connection});
            }
        }
    }
    void begin_poll(std::size_t thread, std::size_t wait_ms) {
        if (polls_.size() < kMostPolls) {
            polls_.push_back(poll("spy",
                                  "users=ghost,never,person&waitMs=" + std::to_string(wait_ms) +
                                      (cursor_.empty() ? "" : "&cursor=" + cursor_),
                                  100'000 + ++polled_, thread));
        }
    }
    void collect() {
        for (auto& [connection, bytes] : pipe.sent) {
            if (!bytes.empty()) {
                keep("stream " + std::to_string(connection) + " " + std::exchange(bytes, {}));
            }
        }
        std::erase_if(polls_, [this](const Started<net::HttpResponse>& poll) {
            if (!poll->has_value()) {
                return false;
            }
            const Reply reply = reply_of(**poll);
            keep(reply);
            if (reply.status == 200) {
                cursor_ = cursor_of(reply);
            }
            return true;
        });
    }

    std::vector<std::string> seen_;
    std::vector<Started<net::HttpResponse>> polls_;
    std::vector<Stream> streams_;
    std::uint32_t connections_ = 0;
    std::uint64_t opened_ = 0;
    std::uint64_t polled_ = 0;
    std::size_t acts_ = 0;
    std::string cursor_;
};

std::vector<std::string> seen_by_spy(const std::vector<Deed>& script, Hidden how, bool busy,
                                     std::size_t listed) {
    Watched world(listed);
    world.begin(how);
    Doer ghost{"ghost", how == Hidden::invisible, {}};
    Doer person{"person", false, {}};
    MonoTime at = world.now();
    for (const Deed& deed : script) {
        if (deed.who == 0) {
            if (busy) {
                world.act(ghost, deed.dice);
            }
        } else if (deed.who == 1) {
            world.act(person, deed.dice);
        } else {
            world.look(deed.dice);
        }
        at = at + std::min(deed.then, kLongest);
        world.run_to(at);
    }
    world.run_to(at + kLongest);
    if (busy) {
        RC_CLASSIFY(world.acts() > 10, "busy");
    }
    return world.seen();
}

}  // namespace

RC_GTEST_PROP(HttpNoninterference, WhatTheHiddenDoChangesNoByteAndNoMomentOnAnyRoad, ()) {
    const std::vector<Deed> script = *any_script(4);
    const auto how = static_cast<Hidden>(*rc::gen::inRange(0, kWays));
    const std::vector<std::string> quiet = seen_by_spy(script, how, false, 500);
    const std::vector<std::string> busy = seen_by_spy(script, how, true, 500);
    RC_ASSERT(quiet == busy);
}

/// The same in rooms of which only the count is given, for those who are not counted (RULINGS 10).
RC_GTEST_PROP(HttpNoninterference, WhoIsNotCountedMovesNoCountAndNoPage, ()) {
    const std::vector<Deed> script = *any_script(4);
    const auto how = *rc::gen::element(Hidden::invisible, Hidden::admits_others);
    const std::vector<std::string> quiet = seen_by_spy(script, how, false, 1);
    const std::vector<std::string> busy = seen_by_spy(script, how, true, 1);
    RC_ASSERT(quiet == busy);
}

}  // namespace presence::api::testing
