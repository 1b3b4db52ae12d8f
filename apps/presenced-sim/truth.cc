#include "truth.h"

#include <algorithm>

namespace presence::sim {

namespace {

/// What stands between the quotes after `"field":"`; empty: the field is not there.
std::string field_of(const std::string& text, const std::string& field) {
    const std::string start = "\"" + field + "\":\"";
    const std::size_t at = text.find(start);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + start.size();
    return text.substr(begin, text.find('"', begin) - begin);
}

/// The one user of a list.
std::string listed_in(const std::string& text) {
    const std::string start = "\"users\":[\"";
    const std::size_t begin = text.find(start) + start.size();
    return text.substr(begin, text.find('"', begin) - begin);
}

bool is(const std::string& text, const char* type) {
    return field_of(text, "type") == type;
}

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
    const auto lease = leases_.find(session.server);
    const MonoTime last = lease == leases_.end() ? MonoTime{} : lease->second;
    return std::min(session.absent_from, last + config_.death_patience() + Millis{1'000});
}

void Truth::look(MonoTime now, PersonState& person) {
    MonoTime present;
    MonoTime absent;
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
    auto& sessions = people_[found->second.first].sessions;
    const auto session = sessions.find(found->second.second);
    // Another connection may have taken it over.
    return session != sessions.end() && session->second.connection == connection ? &session->second
                                                                                 : nullptr;
}

void Truth::welcomed(MonoTime now, const std::string& user, const std::string& session,
                     std::uint64_t connection, std::uint64_t server) {
    PersonState& person = people_[user];
    look(now, person);
    person.sessions[session] = {connection, server, now + config_.heartbeat.ttl,
                                now + config_.heartbeat.ttl, now};
    sessions_[connection] = {user, session};
    look(now, person);
}

void Truth::frame(MonoTime now, std::uint64_t connection) {
    if (Session* const session = session_of(connection)) {
        PersonState& person = people_[sessions_[connection].first];
        look(now, person);
        session->present_until = session->absent_from = now + config_.heartbeat.ttl;
        session->last_frame = now;
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
    PersonState& person = people_[sessions_[connection].first];
    look(now, person);
    const bool in_grace = !silence && code != 1000 && code != 4409 && code != 4403 && code != 4401;
    session->present_until = session->absent_from = in_grace ? now + config_.heartbeat.grace : now;
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
                }
            }
        }
    }
    lease = now;
}

void Truth::died(MonoTime now, std::uint64_t server) {
    for (auto& [name, person] : people_) {
        look(now, person);
    }
    dead_.insert(server);
}

void Truth::store_lost(MonoTime now) {
    for (auto& [name, person] : people_) {
        look(now, person);
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
            lease = now;
        }
    }
}

bool Truth::was_invisible(const std::string& user) const {
    const auto found = people_.find(user);
    return found != people_.end() && found->second.ever_invisible;
}

void Truth::doubt(MonoTime now, const std::string& user, Millis lasts) {
    PersonState& person = people_[user];
    person.doubt_until = std::max(person.doubt_until, now + lasts);
}

void Truth::asked(MonoTime now, const std::string& user, const void* asker, std::uint64_t request,
                  const std::string& text) {
    PersonState& person = people_[user];
    asked_[{asker, request}] = text;
    if (is(text, "status")) {
        ++person.statuses_pending;
        if (field_of(text, "status") == "invisible" || person.invisible) {
            person.invisible = person.ever_invisible = true;
            person.maybe_invisible = now;
        }
        if (field_of(text, "scope") == "session") {
            person.in_session_scope = true;
        }
    } else {
        ++person.rules.pending;
    }
}

void Truth::answered(MonoTime now, const std::string& user, const void* asker,
                     std::uint64_t request, bool done) {
    const auto found = asked_.find({asker, request});
    if (found == asked_.end()) {
        return;
    }
    const std::string text = std::move(found->second);
    asked_.erase(found);
    take_answer(now, people_[user], text, done);
}

void Truth::take_answer(MonoTime now, PersonState& person, const std::string& text, bool done) {
    if (is(text, "status")) {
        --person.statuses_pending;
        const std::string status = field_of(text, "status");
        if (status.empty() || field_of(text, "scope") == "session") {
            return;
        }
        // Of two at once, or one that may have been done, nobody knows which holds.
        if (!done || person.statuses_pending > 0) {
            person.declared.sure = false;
            person.maybe_invisible = now;
            person.invisible = true;
            return;
        }
        person.invisible = status == "invisible" || !person.declared.sure;
        person.maybe_invisible = now;
        person.declared.status = status;
        person.declared.since = now;
        return;
    }
    Rules& rules = person.rules;
    --rules.pending;
    rules.changed = now;
    if (!done) {
        rules.sure = false;
        return;
    }
    if (is(text, "privacy")) {
        rules.hidden = text.find("nobody") != std::string::npos;
    } else if (is(text, "block")) {
        rules.blocks.insert(listed_in(text));
    } else {
        rules.blocks.erase(listed_in(text));
    }
}

Truth::Person Truth::person(MonoTime now, const std::string& user) {
    PersonState& state = people_[user];
    look(now, state);
    Person person{state.present_since, state.absent_since};
    if (person.present_since && state.doubt_until > *person.present_since) {
        person.present_since = state.doubt_until;
    }
    return person;
}

std::optional<MonoTime> Truth::visible_since(const std::string& user) const {
    const auto found = people_.find(user);
    if (found == people_.end()) {
        return MonoTime{};
    }
    const PersonState& person = found->second;
    return person.invisible || person.statuses_pending > 0 ? std::nullopt
                                                           : std::optional(person.maybe_invisible);
}

std::optional<Truth::Sight> Truth::sight(const std::string& viewer, const std::string& subject) {
    const Rules& of_viewer = people_[viewer].rules;
    const Rules& of_subject = people_[subject].rules;
    if (of_viewer.pending > 0 || of_subject.pending > 0 || !of_viewer.sure || !of_subject.sure) {
        return std::nullopt;
    }
    // With reciprocity, who hides sees nobody.
    const bool sees = !of_viewer.hidden && !of_subject.hidden &&
                      !of_viewer.blocks.contains(subject) && !of_subject.blocks.contains(viewer);
    return Sight{sees, std::max(of_viewer.changed, of_subject.changed)};
}

}  // namespace presence::sim
