// What must hold (DESIGN section 2), looked at from outside: at what clients were told and when.

#include "support/run_task.h"
#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace presence::sim {

namespace {
/// Rule 2, with the second of rule 13, and what messages take on their way.
constexpr Millis kLate{1'800};
/// A change that is no end of silence: the second of rule 13, and a try that is made again.
constexpr Millis kTold{3'000};
/// Rule 27.
constexpr Millis kRules{2'500};
/// The same where something has failed: until it is found (rule 35) and healed.
constexpr Millis kRulesUnderFaults{9'000};
/// A message that was right when it left may arrive that late.
constexpr Millis kOnItsWay{5'000};
constexpr Millis kAuditEvery{1'000};

std::string told(const Held& held) {
    return fmt::format("{} v{}{}", held.status, held.version, held.rest);
}
}  // namespace

void World::fail(std::string what) {
    if (failure_.empty()) {
        failure_ = fmt::format("at {:.3f} s: {}",
                               static_cast<double>((now() - started_).count()) / 1000, what);
    }
}

void World::on_presence(const Client& client, const std::string& user, const Held& held,
                        bool update) {
    ++figures_.presences;
    if (log_ != nullptr) {
        *log_ += fmt::format("{:>9.3f} s  {} of {} at server {} is {} {} is {}\n",
                             static_cast<double>((now() - started_).count()) / 1000,
                             fmt::ptr(&client), client.user(), client.connection() >> 32U,
                             update ? "told" : "shown", user, told(held));
    }
    // Rule 14 and RULINGS 7: to one viewer no version goes back while there is sight.
    std::uint64_t& highest = told_[{&client, user}];
    if (held.version > 0 && held.version < highest) {
        fail(fmt::format("{} was told version {} of {} after {} (rule 14)", client.user(),
                         held.version, user, highest));
    }
    highest = std::max(highest, held.version);
    check_early(client, user, held);
}

void World::check_early(const Client& client, const std::string& user, const Held& held) {
    MonoTime way = now() - kOnItsWay;
    MonoTime rules = now() - (quiet_from_ + kRules < now() ? kRules : kRulesUnderFaults);
    const Server& server = *servers_[(client.connection() >> 32U) - 1];
    if (const Place* const place = place_of(server);
        place != nullptr && (place->paused || place->paused_to + kRulesUnderFaults > now())) {
        way = std::min(way, place->paused_from - kOnItsWay);
        rules = std::min(rules, place->paused_from - kRulesUnderFaults);
    }
    if (client.behind_since()) {
        way = std::min(way, *client.behind_since() - kOnItsWay);
        rules = std::min(rules, *client.behind_since() - kRulesUnderFaults);
    }
    const std::optional<Truth::Sight> sight = truth_.sight(client.user(), user);
    if (user == client.user() || !sight) {
        return;
    }
    if (!sight->sees && sight->since < rules && held.status != "offline" &&
        !(held.status == "unknown" && held.version == 0)) {
        fail(fmt::format("{} was told that {} is {}, and may not see it (rules 24 to 27)",
                         client.user(), user, told(held)));
    }
    const std::optional<MonoTime> visible = truth_.visible_since(user);
    const Truth::Person person = truth_.person(now(), user);
    if (held.status == "offline" && sight->sees && sight->since < way && visible &&
        *visible < way && person.present_since && *person.present_since < way) {
        fail(
            fmt::format("{} was told that {} is offline, who is present since {:.3f} s "
                        "(rules 2, 4, 30 to 32)",
                        client.user(), user,
                        static_cast<double>((*person.present_since - started_).count()) / 1000));
    }
}

/// Rule 2 to the millisecond, where the server closes for silence.
void World::check_silence(std::uint64_t connection) {
    const std::optional<MonoTime> last = truth_.last_frame(connection);
    if (!last) {
        return;
    }
    const Millis silent = now() - *last;
    const bool calm = quiet_from_ < *last;
    if (silent < config_.heartbeat.ttl || (calm && silent > config_.heartbeat.ttl + Millis{500})) {
        fail(fmt::format("a session was ended after {} ms of silence (rule 2)", silent.count()));
    }
}

void World::on_closed(const Client& client, std::uint16_t code) {
    // No device here opens two connections for one session while all is well.
    if (code == 4409 && quiet_from_ + Millis{60'000} < now()) {
        fail(fmt::format("{} was closed with 4409, and nobody took its place (rule 7)",
                         client.user()));
    }
}

bool World::is_served(const Client& client) const {
    const Server& server = *servers_[(client.connection() >> 32U) - 1];
    return !server.dead() && !server.process.paused() &&
           server.network.is_live(client.connection());
}

void World::audit() {
    if (store_downs_ > 0 || stores_back_at_ + Millis{10'000} > now()) {
        std::set<std::uint64_t> alive;
        for (const auto& place : places_) {
            if (!place->server->dead() && !place->paused && !place->server->link.is_cut()) {
                alive.insert(place->server->serial);
            }
        }
        truth_.forgive(now(), alive);
    }
    for (const auto& client : clients_) {
        if (client->hears_since() && is_served(*client)) {
            for (const auto& [user, held] : client->held()) {
                audit_one(*client, user, held);
            }
        }
    }
    scheduler_.after(kAuditEvery, [this] { audit(); });
}

/// What the client holds must be true by now, unless something failed lately.
void World::audit_one(const Client& client, const std::string& user, const Held& held) {
    const std::optional<Truth::Sight> sight = truth_.sight(client.user(), user);
    if (user == client.user() || !sight) {
        return;
    }
    ++figures_.checks;
    const MonoTime from = std::max({quiet_from_, *client.hears_since(), sight->since});
    if (!sight->sees) {
        if (from + kRules < now() && (held.status != "offline" || held.version != 0)) {
            fail(fmt::format("{} still holds {} as {}, and may not see it (rule 27)", client.user(),
                             user, told(held)));
        }
        return;
    }
    const Truth::Person person = truth_.person(now(), user);
    if (person.absent_since) {
        if (std::max(from, *person.absent_since) + kLate < now() && held.status != "offline") {
            fail(
                fmt::format("{} still holds {} as {}, who is gone since {:.3f} s (rules 2, 4, 32)",
                            client.user(), user, told(held),
                            static_cast<double>((*person.absent_since - started_).count()) / 1000));
        }
        return;
    }
    const std::optional<MonoTime> visible = truth_.visible_since(user);
    if (!person.present_since || !visible ||
        std::max({from, *person.present_since, *visible}) + kTold >= now()) {
        return;
    }
    const Truth::Declared& declared = truth_.declared(user);
    if (held.status == "offline" || held.status == "unknown") {
        fail(fmt::format("{} still holds {} as {}, who is present since {:.3f} s (rules 12, 20)",
                         client.user(), user, told(held),
                         static_cast<double>((*person.present_since - started_).count()) / 1000));
    } else if (declared.sure && declared.since + kTold < now() &&
               held.status != (declared.status == "auto" ? "online" : declared.status)) {
        fail(fmt::format("{} still holds {} as {}, who has declared {} (rule 10)", client.user(),
                         user, told(held), declared.status));
    }
}

void World::come_to_rest() {
    check_agreement();
    std::set<std::string> at_home;
    for (const auto& client : clients_) {
        if (client->is_open()) {
            at_home.insert(client->user());
        }
    }
    for (const auto& client : clients_) {
        client->bye();
    }
    run_to(now() + Millis{1'000});
    const WallTime gone = clock_.wall_now();
    run_to(now() + config_.heartbeat.ttl + config_.heartbeat.grace + Millis{60'000});
    if (failure_.empty()) {
        check_nothing_left();
        check_last_seen(at_home, gone);
    }
}

/// Rules 20 and 23: whoever watches holds what a fresh look would show.
void World::check_agreement() {
    looked_ = 0;
    std::size_t asked = 0;
    for (const auto& client : clients_) {
        if (client->hears_since() && is_served(*client)) {
            ++asked;
            client->look();
        } else if (client->is_open() && !client->watched().empty()) {
            fail(fmt::format("{} has had no snapshot at the end", client->user()));
        }
    }
    run_to(now() + Millis{2'000});
    if (failure_.empty() && looked_ != asked) {
        fail(fmt::format("{} of {} looks were not answered", asked - looked_, asked));
    }
}

void World::on_looked(const Client& client, const std::map<std::string, Held>& seen) {
    ++looked_;
    for (const auto& [user, fresh] : seen) {
        const auto held = client.held_before().find(user);
        if (held == client.held_before().end()) {
            fail(fmt::format("{} watches {} and holds nothing (rule 20)", client.user(), user));
        } else if (held->second.status != fresh.status || held->second.version != fresh.version ||
                   held->second.rest != fresh.rest) {
            fail(fmt::format("{} holds {} as {}, and a fresh look shows {} (rules 20, 23)",
                             client.user(), user, told(held->second), told(fresh)));
        }
        if (fresh.status == "unknown") {
            fail(fmt::format("{} is unknown to {} at the end", user, client.user()));
        }
    }
}

void World::check_nothing_left() {
    std::string left;
    for (const auto& place : places_) {
        if (!place->server->dead()) {
            left += place->server->leftovers();
        }
    }
    for (std::uint32_t i = 0; i < story_.users; ++i) {
        const UserRecordRef record = stores_.sessions.load(UserId(user_name(i)));
        if (record && !record->sessions.empty()) {
            left += fmt::format("the store still has {} sessions of {}\n", record->sessions.size(),
                                user_name(i));
        }
    }
    if (!left.empty()) {
        fail("left behind at the end:\n" + left);
    }
}

/// Rules 16 and 17, for those whose last sign of life is known to the second: they said goodbye.
void World::check_last_seen(const std::set<std::string>& at_home, WallTime gone) {
    MemoryProfileStore store(stores_.profiles);
    for (const std::string& user : at_home) {
        if (truth_.was_invisible(user)) {
            continue;
        }
        std::vector<UserId> one{UserId(user)};
        const Result<std::vector<ProfileRef>> loaded =
            testing::run_until_complete(store.load(std::move(one)));
        const ProfileRef& profile = loaded->front();
        const std::optional<WallTime> seen = profile ? profile->last_seen : std::nullopt;
        if (!seen || *seen < gone - Millis{1'500} || *seen > gone + Millis{1'000}) {
            fail(fmt::format("last seen of {} is {} ms before they left (rule 17)", user,
                             seen ? (gone - *seen).count() : -1));
        }
    }
}

}  // namespace presence::sim
