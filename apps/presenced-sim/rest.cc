// What must hold when the story is over and nothing fails any more.

#include "support/run_task.h"
#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace presence::sim {

namespace {
constexpr Millis kRounded{500};
}  // namespace

void World::come_to_rest() {
    check_agreement();
    bytes_ = nullptr;  // All say goodbye at once: whose is heard first says nothing of anybody.
    for (const auto& client : clients_) {
        client->bye();
    }
    run_to(now() + config_.heartbeat.ttl + config_.heartbeat.grace + Millis{60'000});
    if (failure_.empty()) {
        check_nothing_left();
        check_last_seen();
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
        if (fresh.seen_at_ms && held != client.held_before().end() && held->second.seen_at_ms &&
            *held->second.seen_at_ms / kMinuteMs != *fresh.seen_at_ms / kMinuteMs) {
            fail(fmt::format("{} holds {} as {}, and a fresh look shows {} (rule 17)",
                             client.user(), user, told(held->second), told(fresh)));
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

/// Rules 16 to 18: what the database knows of when people were last seen.
void World::check_last_seen() {
    MemoryProfileStore store(stores_.profiles);
    for (std::uint32_t i = 0; i < story_.users; ++i) {
        const std::string user = user_name(i);
        std::vector<UserId> one{UserId(user)};
        const Result<std::vector<ProfileRef>> loaded =
            testing::run_until_complete(store.load(std::move(one)));
        const ProfileRef& profile = loaded->front();
        const std::optional<WallTime> seen = profile ? profile->last_seen : std::nullopt;
        const Truth::Seen truth = truth_.seen(now(), user);
        if (!seen && truth.from != MonoTime{}) {
            fail(fmt::format("nobody knows when {} was last seen (rule 16)", user));
        } else if (seen && truth.sure &&
                   (truth.to == MonoTime{} || *seen > to_wall(truth.to) + kMisjudged)) {
            fail(fmt::format("{} was last seen at {}, {} ms after what may be known (rules 17, 18)",
                             user, seen->ms(), (*seen - to_wall(truth.to)).count()));
        } else if (seen && truth.from != MonoTime{} &&
                   *seen < to_wall(truth.from) - kMisjudged - kRounded) {
            fail(
                fmt::format("{} was last seen at {}, {} ms before their newest sign of life "
                            "(rules 16, 17)",
                            user, seen->ms(), (to_wall(truth.from) - *seen).count()));
        }
    }
}

}  // namespace presence::sim
