#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace presence::sim {

namespace {
constexpr Millis kFirstSecond{1'000};
/// Faults that are under way at the end of the script are over by then.
constexpr Millis kLongestFault{250'000};
constexpr Millis kRest{120'000};
/// Rooms with more members are counted and not listed, in some stories.
constexpr std::size_t kSmallRoom = 4;
constexpr std::uint16_t kReplaced = 4409;
/// A machine's clock is off by that much at most, before anybody sets it.
constexpr std::uint64_t kMostSkewMs = 1'500;
}  // namespace

World::World(const Story& story)
    : story_(story),
      stores_(clock_, story.seed + 11),
      bus_(scheduler_, story.seed + 12),
      truth_(config_) {
    // Otherwise hardly anybody could be told.
    config_.privacy.last_seen.audience = Audience::everyone;
    const bool even = story.hiding != Hiding::none;
    stores_.even = even;
    bus_.set_even(even);
    if (story.small_rooms) {
        limits_.room_members = kSmallRoom;
    }
    SeededRandom random(story.seed + 13);
    for (std::uint32_t i = 0; i < story.machines; ++i) {
        places_.push_back(std::make_unique<Place>(clock_));
        const auto skew = static_cast<std::int64_t>(random.below(2 * kMostSkewMs));
        places_[i]->machine.clock.set_off(Millis{skew} - Millis{kMostSkewMs});
    }
    for (std::uint32_t i = 0; i < story.devices; ++i) {
        // One client's clock runs a little faster than another's.
        const Millis interval =
            config_.heartbeat.interval * static_cast<int>(990 + random.below(20)) / 1000;
        clients_.push_back(
            std::make_unique<Client>(Client::Parts{scheduler_, clock_, *this, *this, interval, i,
                                                   user_name(i % story.users), random.next()}));
    }
}

World::~World() {
    for (auto& server : servers_) {
        server->process.kill();
        // What a process had in memory when it died is never destroyed: flows may still wait in it.
        static_cast<void>(server.release());
    }
}

void World::write_down(std::string* log) {
    log_ = log;
    stores_.on_written = [this](const std::string& line) { note(line); };
}

std::vector<std::string> World::watch_list(std::uint64_t dice) const {
    SeededRandom random(dice);
    std::vector<std::string> users;
    for (std::uint32_t i = 0; i < story_.watched; ++i) {
        users.push_back(user_name(random.below(story_.users)));
    }
    return users;
}

std::string World::room_name(std::uint64_t index) {
    return fmt::format("room{}", index);
}

/// Another tab of the same user, closed until now, starts as a copy of this one.
void World::copy_tab(std::uint32_t index) {
    for (std::size_t other = index % story_.users; other < clients_.size(); other += story_.users) {
        if (other != index && clients_[other]->is_away()) {
            clients_[other]->take_copy(*clients_[index]);
            clients_[other]->come();
            return;
        }
    }
}

World::Place* World::place_of(const Server& server) {
    for (const auto& place : places_) {
        if (place->server == &server) {
            return place.get();
        }
    }
    return nullptr;
}

void World::boot(std::size_t index) {
    Place& place = *places_[index];
    const std::uint64_t serial = servers_.size() + 1;
    servers_.push_back(std::make_unique<Server>(Server::Parts{
        scheduler_, place.machine, stores_, bus_, *this, config_, limits_, serial,
        story_.seed * 1'000 + serial, [this, serial] { truth_.renewed(now(), serial); }}));
    place.server = servers_.back().get();
    place.server->network.set_even(story_.hiding != Hiding::none);
    place.server->start();
    note(fmt::format("server {} starts at machine {} as node {:04x}", serial, index,
                     place.server->member.self().value >> 48U));
}

void World::run_to(MonoTime end) {
    const auto flush = [this] {
        for (const auto& place : places_) {
            if (!place->paused && !place->server->dead()) {
                place->server->gateway.flush();
            }
        }
    };
    scheduler_.run_ready();
    flush();
    while (failure_.empty() && scheduler_.next_deadline() && *scheduler_.next_deadline() <= end) {
        scheduler_.run_next();
        flush();
    }
    if (failure_.empty()) {
        scheduler_.advance_to(end);
    }
}

std::string World::play() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        boot(i);
    }
    started_ = now() + kFirstSecond;
    quiet_from_ = started_;
    hide_first_user();
    audit();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        clients_[i]->watch(watch_list(story_.seed + i));
    }
    for (const Event& event : story_.events) {
        run_to(started_ + event.at);
        if (!failure_.empty()) {
            return failure_;
        }
        play_event(event);
    }
    run_to(started_ + story_.length + kLongestFault + kRest);
    if (failure_.empty()) {
        come_to_rest();
    }
    return failure_;
}

void World::play_event(const Event& event) {
    if (story_.silent && is_of_hidden(story_, event)) {
        return;
    }
    if (log_ != nullptr) {
        *log_ += "     " + to_text(event) + "\n";
    }
    if (is_fault(event.deed)) {
        ++figures_.faults;
        play_fault(event);
    } else {
        play_client(event);
    }
}

void World::play_client(const Event& event) {
    Client& client = *clients_[event.who];
    const std::string other = user_name(event.value % story_.users);
    switch (event.deed) {
        case Deed::come:
            client.come();
            break;
        case Deed::bye:
            if (!client.is_frozen()) {
                client.bye();
            }
            break;
        case Deed::lose:
            client.lose(event.value == 1);
            break;
        case Deed::put_away:
            client.put_away(event.value == 1);
            break;
        case Deed::freeze:
            client.freeze(event.lasts);
            break;
        case Deed::status:
            client.ask(fmt::format(R"("type":"status","status":"{}")", kStatuses[event.value]));
            break;
        case Deed::session_status:
            client.ask(fmt::format(R"("type":"status","status":"{}","scope":"session")",
                                   kStatuses[event.value]));
            break;
        case Deed::custom:
            client.ask(event.value == 0
                           ? std::string(R"("type":"status","customStatus":null)")
                           : fmt::format(R"("type":"status","customStatus":{{"text":"text {}"}})",
                                         event.value));
            break;
        case Deed::watch:
            client.watch(watch_list(event.value));
            break;
        case Deed::hide:
            client.ask(R"("type":"privacy","online":{"mode":"nobody"})");
            break;
        case Deed::show:
            client.ask(R"("type":"privacy","online":{"mode":"everyone"})");
            break;
        case Deed::block:
        case Deed::unblock:
            if (other != client.user()) {
                client.ask(fmt::format(R"("type":"{}","users":["{}"])",
                                       event.deed == Deed::block ? "block" : "unblock", other));
            }
            break;
        case Deed::join:
            client.join(room_name(event.value));
            break;
        case Deed::leave_room:
            client.leave_room(room_name(event.value));
            break;
        case Deed::signal:
            client.signal(room_name(event.value));
            break;
        case Deed::copy:
            copy_tab(event.who);
            break;
        case Deed::quiet:
            client.set_quiet(true);
            scheduler_.after(event.lasts, [&client] { client.set_quiet(false); });
            break;
        case Deed::clog:
            client.set_clogged(true);
            scheduler_.after(event.lasts, [&client] { client.set_clogged(false); });
            break;
        default:
            PRESENCE_ASSERT(false);
    }
}

// --- What the world is told

void World::on_welcome(std::uint64_t connection, std::string_view text) {
    const auto field = [text](std::string_view name) {
        const std::string start = fmt::format("\"{}\":\"", name);
        const std::size_t begin = text.find(start) + start.size();
        return std::string(text.substr(begin, text.find('"', begin) - begin));
    };
    truth_.welcomed(now(), field("userId"), field("sessionId"), connection, connection >> 32U);
}

void World::on_frame(std::uint64_t connection) {
    truth_.frame(now(), connection);
}

void World::on_bye(std::uint64_t connection) {
    truth_.signs_out(now(), connection);
}

void World::on_server_end(std::uint64_t connection, std::uint16_t code, std::string_view word) {
    if (word == "heartbeat_timeout") {
        check_silence(connection);
    }
    if (code == kReplaced) {
        check_replaced(connection);
    }
    truth_.ended(now(), connection, code, word == "heartbeat_timeout");
}

void World::on_asked(const Client& client, std::uint64_t request, const std::string& text) {
    truth_.asked(now(), client.user(), &client, request, text);
}

void World::on_answer(const Client& client, std::uint64_t request, bool done) {
    truth_.answered(now(), client.user(), &client, request, done);
}

Network* World::any_door(SeededRandom& random) {
    std::vector<Network*> doors;
    for (const auto& place : places_) {
        if (!place->server->dead() && !place->server->draining) {
            doors.push_back(&place->server->network);
        }
    }
    return doors.empty() ? nullptr : doors[random.below(doors.size())];
}

}  // namespace presence::sim
