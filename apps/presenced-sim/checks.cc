// What must hold (DESIGN section 2), looked at from outside: at what clients were told and when.

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
/// Takeovers whose word was lost have been found out by then.
constexpr Millis kUntangled{60'000};
/// A server has found its way back to the store, and all have stated what they had.
constexpr Millis kBack{15'000};
constexpr Millis kAuditEvery{1'000};

}  // namespace

std::string told(const Held& held) {
    std::string text = fmt::format("{} v{}{}", held.status, held.version, held.rest);
    if (held.seen_at_ms) {
        text += fmt::format(" seen:{}", *held.seen_at_ms);
    }
    return text;
}

void World::fail(std::string what) {
    if (failure_.empty()) {
        failure_ = fmt::format("at {:.3f} s: {}", seconds_of(now()), what);
    }
}

void World::note(const std::string& line) {
    if (log_ != nullptr) {
        *log_ += fmt::format("{:>9.3f} s  {}\n", seconds_of(now()), line);
    }
}

void World::on_presence(const Client& client, const std::string& user, const Held& held,
                        bool update) {
    ++figures_.presences;
    if (log_ != nullptr) {
        note(fmt::format("{} at server {} is {} {} is {}", client.user(),
                         client.connection() >> 32U, update ? "told" : "shown", user, told(held)));
    }
    Told& before = told_[{&client, user}];
    check_version(client, user, held, before);
    check_seen(client, user, held, before);
    check_early(client, user, held);
}

/// Rule 14 and RULINGS 7: to one viewer no version goes back while there is sight. A server that
/// the store does not answer cannot know what another one has told meanwhile, nor can one to which
/// a user is `unknown` for another reason (docs/protocol.md).
void World::check_version(const Client& client, const std::string& user, const Held& held,
                          Told& before) {
    if (before.connection != client.connection()) {
        before.connection = client.connection();
        before.on_connection = 0;
    }
    if (const int forgotten = truth_.forgotten(user); forgotten != before.forgotten) {
        before.forgotten = forgotten;
        before.version = before.on_connection = 0;
    }
    const Server& server = *servers_[(client.connection() >> 32U) - 1];
    const bool knows_only_its_own = held.status == "unknown" || apart_since(server);
    const std::uint64_t highest = knows_only_its_own ? before.on_connection : before.version;
    if (held.version == 0) {
        before.on_connection = 0;  // Rules that cannot be read: there is no sight for a while.
    } else if (held.version < highest && !truth_.is_doubted(now(), user)) {
        fail(fmt::format("{} was told version {} of {} after {} (rule 14)", client.user(),
                         held.version, user, highest));
    }
    before.on_connection = std::max(before.on_connection, held.version);
    before.version = std::max(before.version, held.version);
}

/// Last seen as it is shown: only of who is offline, never beyond the newest sign of life that
/// others may know of, and never going back.
void World::check_seen(const Client& client, const std::string& user, const Held& held,
                       Told& before) {
    if (!held.seen_at_ms) {
        return;
    }
    const std::int64_t at_ms = *held.seen_at_ms;
    if (held.status != "offline") {
        fail(fmt::format("{} was told when {} was last seen, who is {} (rule 17)", client.user(),
                         user, told(held)));
    }
    const Truth::Seen truth = truth_.seen(now(), user);
    const std::int64_t newest_ms = to_wall(truth.to + kMisjudged).ms();
    if (user != client.user() && truth.sure && at_ms > newest_ms) {
        fail(fmt::format("{} was told that {} is {}, {} ms after what may be known (rules 17, 18)",
                         client.user(), user, told(held), at_ms - newest_ms));
    }
    if (at_ms / kMinuteMs < before.seen_at_ms / kMinuteMs) {
        fail(fmt::format("{} was told that {} is {}, after it was {} (rule 17)", client.user(),
                         user, told(held), before.seen_at_ms));
    }
    before.seen_at_ms = std::max(before.seen_at_ms, at_ms);
}

/// How long what the client is told now may have been under way.
World::Allowed World::allowed_for(const Client& client) {
    Allowed allowed{now() - kOnItsWay,
                    now() - (quiet_from_ + kRules < now() ? kRules : kRulesUnderFaults)};
    const auto since = [&](MonoTime start) {
        allowed.news = std::min(allowed.news, start - kOnItsWay);
        allowed.rules = std::min(allowed.rules, start - kRulesUnderFaults);
    };
    const Server& server = *servers_[(client.connection() >> 32U) - 1];
    if (const Place* const place = place_of(server);
        place != nullptr && (place->paused || place->paused_to + kRulesUnderFaults > now())) {
        since(place->paused_from);
    }
    if (client.behind_since()) {
        since(*client.behind_since());
    }
    return allowed;
}

std::optional<MonoTime> World::apart_since(const Server& server) const {
    std::optional<MonoTime> since;
    if (server.link.is_cut() || server.link.back_at() + kBack > now()) {
        since = server.link.cut_at();
    }
    if (!stores_.store_up || stores_back_at_ + kBack > now()) {
        since = std::min(since.value_or(stores_away_at_), stores_away_at_);
    }
    return since;
}

bool World::may_be_told(const Client& client, const std::string& user) {
    if (user == client.user()) {
        return true;
    }
    const MonoTime rules = allowed_for(client).rules;
    const std::optional<Truth::Sight> sight = truth_.sight(client.user(), user);
    const std::optional<MonoTime> hidden = truth_.invisible_since(user);
    return (!sight || sight->sees || sight->since >= rules) && (!hidden || *hidden >= rules);
}

void World::check_early(const Client& client, const std::string& user, const Held& held) {
    if (!may_be_told(client, user) && held.status != "offline" && held.status != "unknown") {
        fail(fmt::format("{} was told that {} is {}, and may not see it (rules 18, 24 to 27)",
                         client.user(), user, told(held)));
    }
    const std::optional<Truth::Sight> sight = truth_.sight(client.user(), user);
    if (user == client.user() || !sight) {
        return;
    }
    const auto [way, rules] = allowed_for(client);
    if (!sight->sees && sight->since < rules && held.version != 0) {
        fail(fmt::format("{} was told that {} is {}, and may not see it (rules 24 to 27)",
                         client.user(), user, told(held)));
    }
    const std::optional<MonoTime> visible = truth_.visible_since(user);
    const Truth::Person person = truth_.person(now(), user);
    if (held.status == "offline" && sight->sees && sight->since < way && visible &&
        *visible < way && person.present_since && *person.present_since < way &&
        !must_seem_gone(client, user)) {
        fail(
            fmt::format("{} was told that {} is offline, who is present since {:.3f} s "
                        "(rules 2, 4, 30 to 32)",
                        client.user(), user, seconds_of(*person.present_since)));
    }
}

/// RULINGS 29: where a server that the store does not answer has ended the last session that it
/// knew of, and no other node had one, it tells so; who came back elsewhere is beyond its sight.
bool World::must_seem_gone(const Client& client, const std::string& user) {
    const Server& server = *servers_[(client.connection() >> 32U) - 1];
    const std::optional<MonoTime> since = apart_since(server);
    if (since && truth_.seems_gone(now(), user, server.serial, *since)) {
        return true;
    }
    // Of one who came to a server that is cut off no other can know: whom they had is gone.
    return truth_.came_unseen(now(), user, [&](std::uint64_t serial) -> std::optional<MonoTime> {
        const Link& link = servers_[serial - 1]->link;
        const bool apart = link.is_cut() || link.back_at() + kBack > now();
        return apart && serial != server.serial ? std::optional(link.cut_at()) : std::nullopt;
    });
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

/// Rule 7: who is told that another one took its place was replaced by somebody.
void World::check_replaced(std::uint64_t connection) {
    const std::optional<Truth::SessionName> session = truth_.session_on(connection);
    if (!session || quiet_from_ + kUntangled > now()) {
        return;
    }
    // The one that takes over is welcomed at about the same time.
    scheduler_.after(kTold, [this, connection, session] {
        if (truth_.connection_of(*session) == connection) {
            fail(
                fmt::format("a session of {} was closed with 4409, and nobody took its place "
                            "(rule 7)",
                            session->first));
        }
    });
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
        if (store_downs_ > 0) {
            truth_.forgive(now(), alive);
        } else {
            truth_.take_back(now(), alive, stores_away_at_, stores_back_at_);
        }
    }
    look_up_facts();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        const Client& client = *clients_[i];
        if (!client.hears_since() || !is_served(client)) {
            continue;
        }
        const UserFacts& viewer = facts_[i % story_.users];
        for (const auto& [user, held] : client.held()) {
            audit_one(client, viewer, held);
        }
        audit_rooms(client, viewer);
    }
    scheduler_.after(kAuditEvery, [this] { audit(); });
}

void World::look_up_facts() {
    facts_.resize(story_.users);
    for (std::uint32_t i = 0; i < story_.users; ++i) {
        UserFacts& facts = facts_[i];
        facts.name = user_name(i);
        facts.rules = &truth_.rules_of(facts.name);
        facts.person = truth_.person(now(), facts.name);
        facts.visible = truth_.visible_since(facts.name);
        facts.hidden = truth_.invisible_since(facts.name);
        facts.declared = truth_.declared(facts.name);
        for (std::uint64_t room = 0; room < kRooms; ++room) {
            const std::string name = room_name(room);
            facts.in_rooms[name] = is_in_room(i, name);
        }
    }
}

/// What the client holds must be true by now, unless something failed lately.
void World::audit_one(const Client& client, const UserFacts& viewer, const Held& held) {
    const UserFacts& user = facts_[held.user];
    const std::optional<Truth::Sight> sight = Truth::sight(*viewer.rules, *user.rules);
    if (&user == &viewer || !sight) {
        return;
    }
    ++figures_.checks;
    const MonoTime from = std::max({quiet_from_, *client.hears_since(), sight->since});
    if (!sight->sees) {
        if (from + kRules < now() && (held.status != "offline" || held.version != 0)) {
            fail(fmt::format("{} still holds {} as {}, and may not see it (rule 27)", viewer.name,
                             user.name, told(held)));
        }
    } else if (user.hidden) {
        if (std::max(from, *user.hidden) + kTold < now() && held.status != "offline") {
            fail(fmt::format("{} still holds {} as {}, who is invisible (rule 18)", viewer.name,
                             user.name, told(held)));
        }
    } else if (user.person.absent_since) {
        const MonoTime gone = *user.person.absent_since;
        if (std::max(from, gone) + kLate < now() && held.status != "offline") {
            fail(fmt::format("{} still holds {} as {}, who is gone since {:.3f} s (rules 2, 4, 32)",
                             viewer.name, user.name, told(held), seconds_of(gone)));
        }
    } else if (user.person.present_since && user.visible &&
               std::max({from, *user.person.present_since, *user.visible}) + kTold < now()) {
        audit_present(client, user, held);
    }
}

/// The user is there, may be seen, and has been so for long enough.
void World::audit_present(const Client& client, const UserFacts& user, const Held& held) {
    const Truth::Declared& declared = user.declared;
    if (held.status == "offline" || held.status == "unknown") {
        fail(fmt::format("{} still holds {} as {}, who is present since {:.3f} s (rules 12, 20)",
                         client.user(), user.name, told(held),
                         seconds_of(*user.person.present_since)));
    } else if (declared.sure && declared.since + kTold < now() &&
               held.status != (declared.status == "auto" ? "online" : declared.status)) {
        fail(fmt::format("{} still holds {} as {}, who has declared {} (rule 10)", client.user(),
                         user.name, told(held), declared.status));
    }
}

}  // namespace presence::sim
