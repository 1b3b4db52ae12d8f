#pragma once

#include "presence/api/api.h"
#include "presence/api/readers.h"
#include "presence/api/stream_pipe.h"
#include "presence/base/random.h"
#include "presence/core/shard.h"
#include "presence/core/survey.h"
#include "presence/stores/memory/local_bus.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_sessions.h"

#include "support/run_task.h"
#include "support/virtual_time.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::api::testing {

using presence::testing::start_task;
using presence::testing::Started;
using presence::testing::VirtualClock;
using presence::testing::VirtualScheduler;

/// Takes the tokens that a test has written down, and no others.
class KnownTokens final : public TokenVerifier {
public:
    Result<TokenClaims> verify(std::string_view token) const override {
        const auto found = claims.find(token);
        if (found == claims.end()) {
            return Error{ErrorCode::unauthorized, "the token was refused", 0, 0};
        }
        return found->second;
    }
    Task<Result<TokenClaims>> verify_patiently(std::string token, Scheduler&) const override {
        co_return verify(token);
    }
    Millis leeway() const override { return Millis{0}; }

    std::map<std::string, TokenClaims, std::less<>> claims;
};

/// Remembers whose connections were ended, and why.
class EndRecorder final : public SessionOwner {
public:
    void end_connection(SlotId connection, EndReason reason) override {
        ends.emplace_back(connection.slot, reason);
    }
    void ping_connection(SlotId) override {}

    std::vector<std::pair<std::uint32_t, EndReason>> ends;
};

/// Writes down what streams send. By default every client is there and takes everything.
class RecordingPipe final : public StreamPipe {
public:
    void admit(net::ConnectionId id) override { admitted.insert(id.value); }
    bool has_client(net::ConnectionId id) const override { return !gone.contains(id.value); }
    std::optional<MonoTime> blocked_since(net::ConnectionId id) const override {
        const auto found = blocked.find(id.value);
        return found == blocked.end() ? std::nullopt : std::optional(found->second);
    }
    net::SendResult send(net::ConnectionId id, std::string_view bytes) override {
        sent[id.value].append(bytes);
        return result;
    }
    void end(net::ConnectionId id) override { ended.insert(id.value); }
    void abort(net::ConnectionId id) override { aborted.insert(id.value); }
    std::size_t web_sockets() const override { return 3; }

    std::set<std::uint64_t> admitted;
    std::set<std::uint64_t> gone;
    std::map<std::uint64_t, MonoTime> blocked;
    std::map<std::uint64_t, std::string> sent;
    std::set<std::uint64_t> ended;
    std::set<std::uint64_t> aborted;
    net::SendResult result = net::SendResult::sent;
};

/// Hears the bus for a thread, as its gateway does.
class BusEar final : public PresenceBus::Receiver {
public:
    explicit BusEar(Shard& shard) : shard_(shard) {}
    void on_presence(const PresenceEventRef& event) override { shard_.watches.on_presence(event); }
    void on_profile_changed(const UserId& user, std::uint64_t revision) override {
        shard_.cache.invalidate(user);
        shard_.watches.reconsider(user, {});
        if (revision == kErased) {
            shard_.past.forget(user);
            shard_.readers->end_readers(user);
        }
        shard_.readers->on_profile_changed(user);
        end_revoked(user);
    }
    void on_signal(const SignalRef&) override {}
    void on_room(const RoomStatementRef& statement) override { shard_.rooms.on_room(statement); }
    void on_room_asked(const RoomId& room) override { shard_.rooms.on_room_asked(room); }
    void on_end_set(const EndSet&) override {}
    void on_session_stays(const SessionStays&) override {}
    void on_survey(const SurveyQuestionRef&) override {}
    void on_survey_answer(const SurveyAnswerRef&) override {}
    void on_session_taken(const SessionTaken& taken) override {
        shard_.service.session_taken(taken);
    }

private:
    Detached end_revoked(UserId user) {
        ProfileAnswer answer = co_await shard_.cache.get(user);
        if (answer.profile && answer.profile->revoked_before) {
            const WallTime before = *answer.profile->revoked_before;
            co_await shard_.service.end_revoked(std::move(user), before);
        }
    }

    Shard& shard_;
};

struct Sending {
    std::optional<std::string> as;     ///< A user, by the token of that name.
    std::optional<std::string> token;  ///< Any credential.
    bool anonymous = false;            ///< Else, with neither, the back end's key.
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
};

struct Reply {
    int status = 0;
    std::string body;
    std::string content_type;
    std::vector<std::pair<std::string, std::string>> headers;

    [[nodiscard]] std::string header(std::string_view name) const {
        for (const auto& [key, value] : headers) {
            if (net::same_header_name(key, name)) {
                return value;
            }
        }
        return "";
    }
    [[nodiscard]] bool has(std::string_view text) const {
        return body.find(text) != std::string::npos;
    }
    /// The word of an error answer.
    [[nodiscard]] std::string code() const {
        constexpr std::string_view kBefore = R"({"error":{"code":")";
        if (!body.starts_with(kBefore)) {
            return "no error: " + body;
        }
        const std::string rest = body.substr(kBefore.size());
        return rest.substr(0, rest.find('"'));
    }
};

/// A node of two threads in virtual time, without sockets: what the API answers to requests that
/// come in on either thread.
class ApiWorld : public ::testing::Test {
protected:
    explicit ApiWorld(Limits with = {}) : limits(with) {
        assets.protocol_json = R"({"version":1})";
        assets.openapi_yaml = "openapi: 3.1.0\n";
        const auto page = std::make_shared<const std::string>("<p>hello</p>");
        assets.pages["/"] = {"text/html; charset=utf-8", page, "\"p1\""};
        assets.pages["/admin/"] = {"text/html; charset=utf-8", page, "\"p3\""};
        assets.pages["/assets/a.js"] = {"text/javascript; charset=utf-8", page, "\"p2\""};
        facts.version = "1.2.3";
        facts.ready = true;
    }

    /// Builds the threads, once a test has set what it wants set.
    void start() {
        for (std::size_t i = 0; i < 2; ++i) {
            threads.push_back(std::make_unique<Thread>(*this, i));
            shards.all.push_back(&threads.back()->shard);
        }
        shards.connect_rooms();
        survey.emplace(Survey::Parts{first, clock, shards, {}});
        for (std::size_t i = 0; i < 2; ++i) {
            apis.push_back(std::make_unique<Api>(
                ApiParts{i, *schedulers[i], clock, threads[i]->shard, shards, *survey, tokens,
                         [](std::string_view key) { return key == "key"; }, origins, config, limits,
                         node_readers, facts, assets, demo ? &*demo : nullptr, cookie}));
            apis.back()->connect(pipe);
        }
    }

    struct Thread {
        Thread(ApiWorld& world, std::size_t index)
            : store(world.sessions, &world.bus.endpoint(index), world.schedulers[index]),
              profile_store(world.profiles, world.schedulers[index]),
              shard({*world.schedulers[index], world.clock, world.random, store, profile_store,
                     world.bus.endpoint(index), nullptr, world.config, world.limits}) {
            shard.service.set_owner(&owner);
            world.bus.endpoint(index).set_receiver(&ear);
        }
        MemorySessionStore store;
        MemoryProfileStore profile_store;
        Shard shard;
        EndRecorder owner;
        BusEar ear{shard};
    };

    /// A request on thread `thread`, to its answer.
    Reply call_on(std::size_t thread, std::string_view method, std::string_view target,
                  const Sending& sending = {}, net::ConnectionId connection = {}) {
        const Started<net::HttpResponse> answer =
            begin_on(thread, method, target, sending, connection);
        for (int idle = 0; !answer->has_value(); ++idle) {
            PRESENCE_ASSERT(idle < 1000);
            if (turn() == 0) {
                clock.pass(Millis{1});
            }
        }
        return reply_of(**answer);
    }
    static Reply reply_of(const net::HttpResponse& response) {
        return {response.status, std::string(response.body_view()), response.content_type,
                response.headers};
    }
    /// The same without waiting for the answer.
    Started<net::HttpResponse> begin_on(std::size_t thread, std::string_view method,
                                        std::string_view target, const Sending& sending = {},
                                        net::ConnectionId connection = {}) {
        if (apis.empty()) {
            start();
        }
        net::HttpRequest request;
        request.method = method;
        request.target = target;
        request.body = sending.body;
        request.headers = sending.headers;
        if (sending.as) {
            request.headers.emplace_back("Authorization", "Bearer " + token_of(*sending.as));
        } else if (!sending.anonymous) {
            request.headers.emplace_back("Authorization",
                                         "Bearer " + sending.token.value_or("key"));
        }
        return start_task(apis[thread]->answer(std::move(request), connection));
    }
    /// What is due now on both threads, to its end.
    std::size_t turn() {
        std::size_t ran = 0;
        for (std::size_t now = 1; now > 0; ran += now) {
            now = first.run_ready() + second.run_ready();
            for (const auto& thread : threads) {
                thread->shard.watches.flush();
            }
        }
        return ran;
    }
    Reply call(std::string_view method, std::string_view target, const Sending& sending = {}) {
        return call_on(0, method, target, sending);
    }
    Reply call_as(std::string user, std::string_view method, std::string_view target,
                  std::string body = "") {
        Sending sending;
        sending.as = std::move(user);
        sending.body = std::move(body);
        return call_on(0, method, target, sending);
    }
    Reply put(std::string_view target, std::string body) {
        Sending sending;
        sending.body = std::move(body);
        return call("PUT", target, sending);
    }
    Reply post(std::string_view target, std::string body) {
        Sending sending;
        sending.body = std::move(body);
        return call("POST", target, sending);
    }

    std::string token_of(const std::string& user) {
        const std::string token = "token-of-" + user;
        if (!tokens.claims.contains(token)) {
            TokenClaims claims;
            claims.user = UserId(user);
            claims.issued_at = clock.wall_now();
            tokens.claims[token] = claims;
        }
        return token;
    }

    /// Ends a task in virtual time; what is posted between the threads runs, and time passes only
    /// if nothing else can happen.
    template <class T>
    T wait(Task<T> task) {
        const Started<T> result = start_task(std::move(task));
        for (int idle = 0; !result->has_value(); ++idle) {
            PRESENCE_ASSERT(idle < 1000);
            if (turn() == 0) {
                clock.pass(Millis{1});
            }
        }
        return std::move(**result);
    }
    void pass(Millis time) {
        for (Millis done{0}; done < time; done += Millis{50}) {
            clock.pass(Millis{50});
            for (const auto& thread : threads) {
                thread->shard.service.tick();
            }
            for (const auto& api : apis) {
                api->tick();
            }
            turn();
        }
    }

    [[nodiscard]] Thread& home_of(const std::string& user) {
        if (apis.empty()) {
            start();
        }
        return *threads[shards.homes.index_of(UserId(user))];
    }
    /// A device of the user comes in.
    Attachment attach(const std::string& user, std::uint32_t connection = 1,
                      DeviceKind kind = DeviceKind::desktop) {
        AttachRequest request;
        request.user = UserId(user);
        request.device = Device{kind, "name"};
        request.connection = {connection, 1};
        PresenceService& service = home_of(user).shard.service;
        return wait(service.attach(std::move(request))).value();
    }
    /// A user whose home is thread `index`.
    [[nodiscard]] std::string user_at(std::size_t index, int number = 0) {
        for (int i = 0;; ++i) {
            const std::string name = "u" + std::to_string(i);
            if (shards.homes.index_of(UserId(name)) == index && number-- == 0) {
                return name;
            }
        }
    }

    VirtualClock clock;
    VirtualScheduler first{clock};
    VirtualScheduler second{clock};
    std::vector<Scheduler*> schedulers{&first, &second};
    SeededRandom random{1};
    MemorySessions sessions{clock};
    MemoryProfiles profiles;
    LocalBus bus{schedulers};
    CoreConfig config;
    Limits limits;
    KnownTokens tokens;
    OriginCheck origins{{"https://app.example.com"}};
    NodeReaders node_readers;
    NodeFacts facts;
    std::string cookie;
    RecordingPipe pipe;
    Assets assets;
    std::optional<DemoHooks> demo;
    Shards shards{Homes(schedulers), {}};
    std::vector<std::unique_ptr<Thread>> threads;
    std::optional<Survey> survey;
    std::vector<std::unique_ptr<Api>> apis;
};

}  // namespace presence::api::testing
