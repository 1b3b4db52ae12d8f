#include "truth.h"

#include <algorithm>

namespace presence::sim {

namespace {

/// A session that is over for that long is of no interest.
constexpr Millis kOver{60'000};
/// By then a server has found out that its clock was set.
constexpr Millis kClockFound{5'000};
/// By then the database, or a disk, knows of an end.
constexpr Millis kSaved{10'000};
/// By then all servers have stated again what the store lost.
constexpr Millis kStated{60'000};

}  // namespace

MonoTime Truth::present_until(const Session& session) const {
    const auto lease = leases_.find(session.server);
    return lease == leases_.end()
               ? MonoTime{}
               : std::min(session.present_until, lease->second + config_.death_patience());
}

MonoTime Truth::absent_from(const Session& session) const {
    if (!dead_.contains(session.server)) {
        return session.absent_from;
    }
    const auto missed = missed_.find(session.server);
    const MonoTime last = missed == missed_.end() ? MonoTime{} : missed->second;
    return std::min(session.absent_from, last + config_.death_patience() + Millis{1'000});
}

void Truth::look(MonoTime now, PersonState& person) {
    MonoTime present;
    MonoTime absent = person.lingers_until;
    for (const auto& [name, session] : person.sessions) {
        present = std::max(present, present_until(session));
        absent = std::max(absent, absent_from(session));
    }
    if (present <= now) {
        person.present_since.reset();
    } else if (!person.present_since) {
        person.present_since = now;
    }
    if (absent > now) {
        person.absent_since.reset();
    } else if (!person.absent_since) {
        person.absent_since = absent;
    }
}

Truth::Session* Truth::session_of(std::uint64_t connection) {
    const auto found = sessions_.find(connection);
    if (found == sessions_.end()) {
        return nullptr;
    }
    auto& sessions = person_of(found->second.first).sessions;
    const auto session = sessions.find(found->second.second);
    // Another connection may have taken it over.
    return session != sessions.end() && session->second.connection == connection ? &session->second
                                                                                 : nullptr;
}

Truth::PersonState& Truth::person_of(const std::string& user) {
    const auto [found, fresh] = people_.try_emplace(user);
    if (fresh) {
        found->second.rules.user = user;
    }
    return found->second;
}

std::optional<Truth::SessionName> Truth::session_on(std::uint64_t connection) const {
    const auto found = sessions_.find(connection);
    return found == sessions_.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t Truth::connection_of(const SessionName& session) const {
    const auto person = people_.find(session.first);
    if (person == people_.end()) {
        return 0;
    }
    const auto found = person->second.sessions.find(session.second);
    return found == person->second.sessions.end() ? 0 : found->second.connection;
}

void Truth::prune(MonoTime now, PersonState& person) {
    std::erase_if(person.sessions, [&](const auto& one) {
        const Session& session = one.second;
        const bool over =
            !sessions_.contains(session.connection) && session.absent_from + kOver < now;
        if (over) {
            person.seen_from = std::max(person.seen_from, session.seen_from);
        }
        return over;
    });
}

bool Truth::is_surely_invisible(const PersonState& person) {
    return person.declared.status == "invisible" && !person.declared_doubt.open &&
           person.statuses_pending == 0;
}

void Truth::sign_of_life(MonoTime now, PersonState& person, Session& session) {
    session.last_frame = now;
    if (is_surely_invisible(person)) {
        return;
    }
    person.seen_to = now;
    if (!person.invisible) {
        session.seen_from = now;
    }
}

void Truth::forget_signs(MonoTime renewal, PersonState& person, Session& session, bool all) const {
    if (session.absent_from + kWritten < renewal) {
        return;
    }
    // One that came so late was perhaps never written down.
    const bool unknown = all || session.began + kWritten > renewal;
    session.seen_from = unknown ? MonoTime{} : std::min(session.seen_from, renewal);
    if (!is_surely_invisible(person)) {
        person.seen_to = std::max(person.seen_to, renewal);
    }
}

void Truth::welcomed(MonoTime now, const std::string& user, const std::string& session,
                     std::uint64_t connection, std::uint64_t server) {
    PersonState& person = person_of(user);
    prune(now, person);
    look(now, person);
    Session& one = person.sessions[session];
    one.connection = connection;
    one.server = server;
    one.began = now;
    one.way.push_back({now, server});
    one.present_until = one.absent_from = now + config_.heartbeat.ttl;
    sign_of_life(now, person, one);
    sessions_[connection] = {user, session};
    look(now, person);
}

void Truth::frame(MonoTime now, std::uint64_t connection) {
    if (Session* const session = session_of(connection)) {
        PersonState& person = person_of(sessions_[connection].first);
        look(now, person);
        session->present_until = session->absent_from = now + config_.heartbeat.ttl;
        if (session->way.back().server == 0) {
            session->way.push_back({now, session->server});  // The others may have ended it.
        }
        sign_of_life(now, person, *session);
        look(now, person);
        return;
    }
    const auto gone = sessions_.find(connection);
    const auto woken = woken_.find(connection >> 32U);
    if (gone != sessions_.end() && woken != woken_.end() && now < woken->second + kWritten) {
        // What the socket held while its server slept is life for a session that was ended
        // elsewhere meanwhile (RULINGS 32).
        PersonState& person = person_of(gone->second.first);
        person.lingers_until = now + config_.heartbeat.ttl + config_.heartbeat.grace;
        if (!is_surely_invisible(person)) {
            person.seen_to = now;
        }
        look(now, person);
    }
}

void Truth::signs_out(MonoTime now, std::uint64_t connection) {
    if (Session* const session = session_of(connection)) {
        PersonState& person = person_of(sessions_[connection].first);
        look(now, person);
        session->present_until = now;
        look(now, person);
    }
}

std::optional<MonoTime> Truth::last_frame(std::uint64_t connection) {
    const Session* const session = session_of(connection);
    return session != nullptr ? std::optional(session->last_frame) : std::nullopt;
}

void Truth::ended(MonoTime now, std::uint64_t connection, std::uint16_t code, bool silence) {
    Session* const session = session_of(connection);
    if (session == nullptr) {
        return;
    }
    PersonState& person = person_of(sessions_[connection].first);
    look(now, person);
    const bool in_grace = !silence && code != 1000 && code != 4409 && code != 4403 && code != 4401;
    session->absent_from = in_grace ? now + config_.heartbeat.grace : now;
    // One that others have ended, and that has shown no life since, counts as nothing (RULINGS 32).
    const bool counts = session->way.back().server != 0;
    session->present_until =
        counts ? session->absent_from : std::min(session->present_until, session->absent_from);
    const auto set = clocks_set_.find(session->server);
    if (set != clocks_set_.end() && now < set->second + kClockFound) {
        session->seen_from = MonoTime{};
        if (!is_surely_invisible(person)) {
            person.seen_to = now + config_.heartbeat.grace + Millis{2'000};
        }
    } else if (in_grace && !is_surely_invisible(person)) {
        person.seen_to = now;  // A reset is no sign of life, but may be what is written down.
    }
    look(now, person);
    sessions_.erase(connection);
}

void Truth::renewed(MonoTime now, std::uint64_t server) {
    MonoTime& lease = leases_[server];
    // After that much it may have gone by another name meanwhile, and then vouches only for those
    // who have shown life since.
    if (lease != MonoTime{} && now - lease > config_.cluster.lease - Millis{1'000}) {
        for (auto& [name, person] : people_) {
            look(now, person);
            for (auto& [id, session] : person.sessions) {
                if (session.server == server) {
                    session.present_until =
                        std::min(session.present_until, lease + config_.death_patience());
                    forget_signs(renewals_[server], person, session, false);
                    session.way.push_back({lease + config_.death_patience(), 0});
                }
            }
        }
    }
    lease = missed_[server] = renewals_[server] = now;
}

void Truth::died(MonoTime now, std::uint64_t server) {
    const MonoTime renewal = renewals_[server];
    for (auto& [name, person] : people_) {
        look(now, person);
        const bool all =
            renewal == MonoTime{} || now < store_doubt_until_ || now < person.doubt_until;
        bool held = false;
        for (auto& [id, session] : person.sessions) {
            if (session.server == server) {
                held = held || session.absent_from + kOver > now;
                forget_signs(renewal, person, session, all);
            }
        }
        person.forgotten += held && all ? 1 : 0;
    }
    dead_.insert(server);
}

void Truth::stalled(MonoTime now, std::uint64_t server, Millis lasted) {
    woken_[server] = now;
    for (auto& [name, person] : people_) {
        look(now, person);
        for (auto& [id, session] : person.sessions) {
            if (session.server == server && session.absent_from > now - lasted) {
                session.absent_from = session.absent_from + lasted;
            }
        }
        look(now, person);
    }
}

/// What was known of the sessions that are over, before the end of the user's presence.
void Truth::forget_ended(MonoTime now, PersonState& person) {
    if (person.absent_since && *person.absent_since + kSaved < now) {
        return;
    }
    person.seen_from = MonoTime{};
    ++person.forgotten;
    for (auto& [id, session] : person.sessions) {
        if (!dead_.contains(session.server) && session.absent_from > now) {
            --person.forgotten;  // That server knows.
            break;
        }
    }
    for (auto& [id, session] : person.sessions) {
        if (!sessions_.contains(session.connection) || dead_.contains(session.server)) {
            session.seen_from = MonoTime{};
        }
    }
}

void Truth::writes_lost(MonoTime now) {
    store_doubt_until_ = now + kStated;
    for (auto& [name, person] : people_) {
        look(now, person);
        forget_ended(now, person);
    }
}

void Truth::store_lost(MonoTime now) {
    writes_lost(now);
    for (auto& [name, person] : people_) {
        for (auto& [id, session] : person.sessions) {
            if (dead_.contains(session.server)) {
                session.present_until = std::min(session.present_until, now);
            }
        }
        look(now, person);
    }
}

void Truth::forgive(MonoTime now, const std::set<std::uint64_t>& alive) {
    for (auto& [server, lease] : leases_) {
        if (alive.contains(server)) {
            lease = missed_[server] = now;
        }
    }
}

void Truth::take_back(MonoTime now, const std::set<std::uint64_t>& alive, MonoTime away_at,
                      MonoTime back_at) {
    const bool all_noticed = back_at - away_at >= config_.cluster.renew_every;
    const MonoTime spared =
        all_noticed ? back_at + config_.cluster.lease - config_.death_patience() : MonoTime{};
    for (auto& [server, lease] : leases_) {
        if (renewals_[server] > back_at) {
            continue;
        }
        lease = std::min(lease, std::max(renewals_[server], spared));
        if (alive.contains(server)) {
            missed_[server] = now;
        }
    }
}

void Truth::stopped(std::uint64_t server) {
    leases_[server] = renewals_[server];
}

void Truth::doubt(MonoTime now, const std::string& user, Millis lasts) {
    PersonState& person = person_of(user);
    person.doubt_until = std::max(person.doubt_until, now + lasts);
    look(now, person);
    forget_ended(now, person);
}

}  // namespace presence::sim
