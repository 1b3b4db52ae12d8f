// What is true of people and sessions by now, as the checks ask for it.

#include "truth.h"

#include <algorithm>

namespace presence::sim {

bool Truth::seems_gone(MonoTime now, const std::string& user, std::uint64_t server,
                       MonoTime apart_since) {
    // Of what came elsewhere just before, it had not read yet.
    const MonoTime read = apart_since - config_.heartbeat.interval - kWritten;
    bool held = false;
    for (const auto& [id, session] : person_of(user).sessions) {
        if (session.server == server && absent_from(session) > now) {
            return false;
        }
        bool was_here = false;
        // Whenever it read the record since, that named the session, and another server.
        bool is_elsewhere = false;
        for (const Stop& stop : session.way) {
            const bool other = stop.server != 0 && stop.server != server;
            is_elsewhere = stop.from <= read ? other : is_elsewhere && other;
            was_here = was_here || stop.server == server;
        }
        // One that was over by then may have been read to be so.
        if (is_elsewhere && session.absent_from > apart_since) {
            return false;
        }
        held = held || was_here;
    }
    return held;
}

bool Truth::came_unseen(MonoTime now, const std::string& user, const ApartSince& apart_since) {
    bool came = false;
    for (const auto& [id, session] : person_of(user).sessions) {
        if (present_until(session) <= now) {
            continue;
        }
        const std::optional<MonoTime> since = apart_since(session.server);
        if (!since || session.began <= *since) {
            return false;
        }
        came = true;
    }
    return came;
}

Truth::Person Truth::person(MonoTime now, const std::string& user) {
    PersonState& state = person_of(user);
    look(now, state);
    Person person{state.present_since, state.absent_since};
    if (person.present_since && state.doubt_until > *person.present_since) {
        person.present_since = state.doubt_until;
    }
    return person;
}

std::optional<MonoTime> Truth::counts_since(std::uint64_t connection) {
    const Session* const session = session_of(connection);
    const bool counts = session != nullptr && session->way.back().server != 0;
    return counts ? std::optional(session->way.back().from) : std::nullopt;
}

Truth::Seen Truth::seen(MonoTime now, const std::string& user) const {
    const auto found = people_.find(user);
    if (found == people_.end()) {
        return {};
    }
    const PersonState& person = found->second;
    Seen seen{person.seen_from, person.seen_to,
              !person.declared_doubt.open && person.statuses_pending == 0};
    for (const auto& [id, session] : person.sessions) {
        seen.from = std::max(seen.from, session.seen_from);
        // The others may have taken its server for dead, if only because it sleeps.
        const auto renewal = renewals_.find(session.server);
        if (renewal != renewals_.end() && session.absent_from > renewal->second &&
            now - renewal->second > config_.cluster.lease - Millis{1'000} &&
            !is_surely_invisible(person)) {
            seen.to = std::max(seen.to, renewal->second);
        }
    }
    return seen;
}

}  // namespace presence::sim
