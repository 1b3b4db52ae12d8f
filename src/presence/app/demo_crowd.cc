#include "presence/app/demo_crowd.h"

#include <fmt/format.h>

#include <utility>

namespace presence::app {

namespace {

/// So many are always there beyond those that a room lists; of each thread up to kAway are not.
constexpr std::size_t kBeyond = 40;
constexpr std::size_t kAway = 3;
constexpr Millis kBetweenArrivals{10};
constexpr Millis kBetweenTurns{3'000};
/// No connection of any gateway: nothing can be sent to it or closed.
constexpr SlotId kNoConnection{UINT32_MAX, 1};

}  // namespace

DemoCrowd::DemoCrowd(const Clock& clock, const Shards& shards)
    : clock_(clock), stands_(shards.all.size()) {
    for (std::size_t i = 0; i < stands_.size(); ++i) {
        stands_[i].shard = shards.all[i];
    }
    const std::size_t crowd =
        shards.all.front()->limits.room_members + kBeyond + kAway * stands_.size();
    for (std::size_t i = 0; i < crowd; ++i) {
        UserId id(fmt::format("fan-{}", i + 1));
        const std::size_t home = shards.homes.index_of(id);
        stands_[home].fans.push_back({std::move(id), {}});
    }
}

void DemoCrowd::start() {
    for (Stand& stand : stands_) {
        if (stand.fans.size() > kAway) {
            stand.shard->scheduler.post([this, &stand] {
                take_turn(stand);
                beat(stand);
            });
        }
    }
}

void DemoCrowd::stop() {
    stopped_ = true;
}

/// First they all come. Later kAway leave, one each turn, and are back one after the other.
Detached DemoCrowd::take_turn(Stand& stand) {
    if (stopped_) {
        co_return;
    }
    const std::size_t size = stand.fans.size();
    const std::size_t turn = stand.turn++;
    const bool first_round = turn < size;
    const std::size_t phase = turn % (2 * kAway);
    const std::size_t group = turn / (2 * kAway) * kAway;
    Fan& fan = stand.fans[first_round ? turn : (group + phase % kAway) % size];
    if (first_round || phase >= kAway) {
        co_await come(stand, fan);
    } else if (fan.session) {
        const SlotId session = std::exchange(fan.session, {});
        co_await stand.shard->service.end(session, Cause::goodbye);
    }
    stand.shard->scheduler.after(first_round ? kBetweenArrivals : kBetweenTurns,
                                 [this, &stand] { take_turn(stand); });
}

/// False: the store does not answer; perhaps the next time.
Task<bool> DemoCrowd::come(Stand& stand, Fan& fan) {
    Shard& shard = *stand.shard;
    if (fan.session) {
        co_return true;
    }
    AttachRequest request;
    request.user = fan.id;
    request.device = Device{DeviceKind::mobile, "simulated"};
    request.active = true;
    request.connection = kNoConnection;
    Result<Attachment> attached = co_await shard.service.attach(std::move(request));
    if (!attached) {
        co_return false;
    }
    fan.session = attached->session;
    // In the room without hearing of it, as a session is that another node has handed over.
    if (const SessionId* const session = shard.service.name_of(fan.session)) {
        shard.rooms.take_over({{}, fan.id, *session, {{RoomId(kRoom), "", clock_.wall_now()}}});
    }
    co_return true;
}

void DemoCrowd::beat(Stand& stand) {
    if (stopped_) {
        return;
    }
    Shard& shard = *stand.shard;
    for (const Fan& fan : stand.fans) {
        if (fan.session) {
            shard.service.heartbeat(fan.session, clock_.now());
        }
    }
    shard.scheduler.after(shard.config.heartbeat.interval / 2, [this, &stand] { beat(stand); });
}

}  // namespace presence::app
