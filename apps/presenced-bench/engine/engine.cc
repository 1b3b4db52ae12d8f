#include "engine/engine.h"

#include "failure.h"
#include "support/run_task.h"

#include <fmt/format.h>

#include <algorithm>

namespace presence::bench {

namespace {

UserId person(std::uint32_t number) {
    return UserId(fmt::format("user-{:08}", number));
}

std::vector<UserId> people_of(const std::vector<std::uint32_t>& numbers) {
    std::vector<UserId> users;
    users.reserve(numbers.size());
    for (const std::uint32_t number : numbers) {
        users.push_back(person(number));
    }
    return users;
}

}  // namespace

Engine::Engine()
    : scheduler_(clock_),
      records_(clock_),
      bus_({&scheduler_}),
      sessions_(records_, &bus_.endpoint(0)),
      profile_store_(profiles_),
      shard_({scheduler_, clock_, random_, sessions_, profile_store_, bus_.endpoint(0), nullptr,
              config_, limits_}) {
    shard_.service.set_owner(this);
    shard_.watches.set_sink(this);
}

Engine::~Engine() = default;

void Engine::pass(Millis time) {
    clock_.pass(time);
    scheduler_.run_ready();
    shard_.service.tick();
    shard_.watches.flush();
}

void Engine::attach(std::uint32_t people) {
    const auto steps =
        static_cast<std::uint32_t>(config_.heartbeat.interval / PresenceService::kTick);
    slots_.reserve(people);
    for (std::uint32_t number = 0; number < people; ++number) {
        AttachRequest request;
        request.user = person(number);
        request.connection = {number, 1};
        request.device = Device{DeviceKind::mobile, {}};
        const Result<Attachment> attached =
            testing::run_until_complete(scheduler_, shard_.service.attach(std::move(request)));
        if (!attached) {
            fail("person {} could not come: {}", number, attached.error().message);
        }
        slots_.push_back(attached->session);
        const auto step_of = [&](std::uint64_t at) { return at * steps / people; };
        for (auto step = step_of(number); step < step_of(number + 1); ++step) {
            pass(PresenceService::kTick);
        }
    }
}

void Engine::beat(const std::vector<std::uint32_t>& order) {
    const MonoTime now = clock_.now();
    for (const std::uint32_t number : order) {
        shard_.service.heartbeat(slots_[number], now);
    }
}

void Engine::look(const std::vector<std::uint32_t>& users) {
    const Result<std::vector<Seen>> seen =
        testing::run_until_complete(scheduler_, shard_.reader.look(person(0), people_of(users)));
    if (!seen || seen->size() != users.size() || !std::ranges::all_of(*seen, [&](const Seen& one) {
            return shard_.reader.view(one).status() == Status::online;
        })) {
        fail("a look did not show everybody online");
    }
}

const UserId* Engine::viewer_of(std::uint32_t connection) {
    viewer_ = person(connection);
    return &viewer_;
}

void Engine::watch(std::uint32_t viewer, const std::vector<std::uint32_t>& users) {
    const Result<std::vector<Seen>> seen = testing::run_until_complete(
        scheduler_, shard_.watches.watch({viewer, person(viewer), people_of(users)}));
    if (!seen || seen->size() != users.size()) {
        fail("a watch was refused");
    }
}

void Engine::unwatch_all(std::uint32_t viewer) {
    shard_.watches.unwatch_all(viewer);
}

std::size_t Engine::sessions() const {
    return shard_.service.session_count();
}

void Engine::expire() {
    const MonoTime end = clock_.now() + config_.heartbeat.ttl + Millis{1'000};
    while (clock_.now() < end) {
        pass(PresenceService::kTick);
    }
    if (sessions() != 0) {
        fail("{} sessions outlived their ttl", sessions());
    }
}

}  // namespace presence::bench
