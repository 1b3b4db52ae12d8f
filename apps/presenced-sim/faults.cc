// What goes wrong in a story, one function for each kind.

#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace presence::sim {

namespace {
/// `clock_step` sets the clock by up to that much, either way.
constexpr Millis kMostStep{500'000};
/// A subscription that is gone with its connection is found at once, and made again.
constexpr Millis kReconnected{1'000};
/// What a client of the store needs to notice that it is back.
constexpr Millis kNoticed{700};
}  // namespace

void World::play_fault(const Event& event) {
    struct Row {
        Deed deed;
        void (World::*play)(const Event&, Place&);
    };
    static constexpr Row kRows[] = {
        {Deed::kill, &World::kill},
        {Deed::pause, &World::pause},
        {Deed::drain, &World::drain},
        {Deed::store_down, &World::store_down},
        {Deed::cut_off, &World::cut_off},
        {Deed::store_slow, &World::store_slow},
        {Deed::answers_lost, &World::answers_lost},
        {Deed::fail_over, &World::fail_over},
        {Deed::store_lost, &World::store_lost},
        {Deed::record_lost, &World::record_lost},
        {Deed::database_down, &World::database_down},
        {Deed::deaf, &World::deaf},
        {Deed::bus_slow, &World::bus_slow},
        {Deed::clock_step, &World::clock_step},
    };
    const Row* const row = std::ranges::find(kRows, event.deed, &Row::deed);
    PRESENCE_ASSERT(row != std::end(kRows));
    (this->*row->play)(event, *places_[event.who]);
}

/// `undo` at the end of a fault; watchers may be late until `allowance` after it.
void World::for_a_while(Millis lasts, Millis allowance, Scheduler::Work undo) {
    disturb(now() + lasts + allowance);
    scheduler_.after(lasts, [this, allowance, undo = std::move(undo)]() mutable {
        undo();
        disturb(now() + allowance);
    });
}

/// Its subscriptions are gone, and found after a while.
void World::lose_bus(Server& server, Millis lasts) {
    server.endpoint.lose();
    scheduler_.after(lasts, [one = &server] {
        if (!one->dead()) {
            one->endpoint.heal();
        }
    });
}

void World::lose_all_buses(Millis lasts) {
    for (const auto& each : places_) {
        lose_bus(*each->server, lasts);
    }
}

/// The process is no more: the others see to what it left, and another one starts after a while.
void World::died(std::size_t index, Millis comes_back_after) {
    truth_.died(now(), places_[index]->server->serial);
    // The bound of rule 32 is for one death at a time (RULINGS 26).
    const bool alone = died_at_ == MonoTime{} || died_at_ + config_.death_patience() < now();
    died_at_ = now();
    disturb(now() + config_.death_patience() + (alone ? Millis{3'000} : Millis{8'000}));
    for_a_while(comes_back_after, Millis{1'000}, [this, index] { boot(index); });
}

void World::kill(const Event& event, Place& place) {
    if (place.server->dead() || place.paused) {
        return;
    }
    place.server->kill(event.value == 1);
    truth_.stopped(place.server->serial);
    died(event.who, event.lasts);
}

void World::drain(const Event& event, Place& place) {
    Server* const server = place.server;
    if (server->dead() || place.paused || server->draining) {
        return;
    }
    disturb(now() + Millis{5'000} + config_.death_patience());
    scheduler_.after(config_.drain_timeout, [this, &place, server] {
        if (!server->dead() && !place.paused) {
            fail(fmt::format("server {} drains for longer than it may (rule 33)", server->serial));
        }
    });
    server->drain([this, index = event.who, lasts = event.lasts] { died(index, lasts); });
}

void World::pause(const Event& event, Place& place) {
    Server* const server = place.server;
    if (server->dead() || place.paused || server->draining) {
        return;
    }
    place.paused = true;
    place.paused_from = now();
    server->process.pause();
    truth_.stopped(server->serial);
    for_a_while(event.lasts, config_.death_patience() + Millis{4'000}, [this, &place, server] {
        place.paused = false;
        place.paused_to = now();
        truth_.stalled(now(), server->serial, place.paused_to - place.paused_from);
        server->process.go_on();
    });
}

void World::store_down(const Event& event, Place&) {
    if (store_downs_++ == 0) {
        stores_away_at_ = now();
    }
    stores_.store_up = false;
    bus_.set_up(false);
    for (const auto& each : places_) {
        each->server->endpoint.lose();
    }
    for_a_while(event.lasts, Millis{15'000}, [this] {
        if (--store_downs_ == 0) {
            store_back();
        }
    });
}

void World::store_back() {
    stores_.store_up = true;
    stores_back_at_ = now();
    bus_.set_up(true);
    scheduler_.after(kNoticed, [this] {
        for (const auto& each : places_) {
            if (!each->server->dead()) {
                each->server->endpoint.heal();
            }
        }
    });
}

void World::cut_off(const Event& event, Place& place) {
    Server* const server = place.server;
    if (server->dead()) {
        return;
    }
    server->link.set_cut(true);
    server->endpoint.set_cut(true);
    lose_bus(*server, event.lasts + Millis{500});
    for_a_while(event.lasts, config_.death_patience() + Millis{4'000}, [server] {
        server->link.set_cut(false);
        server->endpoint.set_cut(false);
    });
}

void World::store_slow(const Event& event, Place&) {
    stores_.slowest = Millis{static_cast<std::int64_t>(event.value) + 3};
    for_a_while(event.lasts, Millis{5'000}, [this] { stores_.slowest = Millis{3}; });
}

void World::answers_lost(const Event& event, Place&) {
    stores_.lost_answer_in = event.value + 1;
    for_a_while(event.lasts, Millis{15'000}, [this] { stores_.lost_answer_in = 0; });
}

void World::fail_over(const Event& event, Place&) {
    stores_.fail_over(Millis{static_cast<std::int64_t>(event.value)});
    truth_.writes_lost(now());
    lose_all_buses(kReconnected);
    disturb(now() + Millis{15'000});
}

void World::store_lost(const Event&, Place&) {
    stores_.nodes.lose_all();
    truth_.store_lost(now());
    lose_all_buses(kReconnected);
    disturb(now() + Millis{20'000});
}

void World::record_lost(const Event& event, Place&) {
    const std::string user = user_name(event.value % story_.users);
    stores_.lose_record(UserId(user));
    truth_.doubt(now(), user, config_.heartbeat.interval + Millis{5'000});
    disturb(now() + config_.heartbeat.interval + Millis{3'000});
}

void World::database_down(const Event& event, Place&) {
    ++database_downs_;
    stores_.database_up = false;
    for_a_while(event.lasts, Millis{5'000},
                [this] { stores_.database_up = --database_downs_ == 0; });
}

void World::deaf(const Event& event, Place& place) {
    if (!place.server->dead()) {
        lose_bus(*place.server, event.lasts);
        disturb(now() + event.lasts + Millis{3'000});
    }
}

void World::bus_slow(const Event& event, Place&) {
    bus_.set_slowest(Millis{static_cast<std::int64_t>(event.value) + 3});
    for_a_while(event.lasts, Millis{3'000}, [this] { bus_.set_slowest(Millis{3}); });
}

void World::clock_step(const Event& event, Place& place) {
    place.machine.clock.set_off(Millis{static_cast<std::int64_t>(event.value)} - kMostStep);
    truth_.clock_set(now(), place.server->serial);
    disturb(now() + Millis{5'000});
}

}  // namespace presence::sim
