// What users declare, and whom they let see it: the other half of Truth.

#include "truth.h"

#include <algorithm>

namespace presence::sim {

namespace {

/// By then what was asked for on a connection that broke is done, or never will be: the longest
/// pause of a server, and some more.
constexpr Millis kUndecided{60'000};

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

void Truth::asked(MonoTime now, const std::string& user, const void* asker, std::uint64_t request,
                  const std::string& text) {
    PersonState& person = person_of(user);
    asked_[{asker, request}] = {text, now};
    if (!is(text, "status")) {
        ++person.rules.pending;
        return;
    }
    ++person.statuses_pending;
    if (field_of(text, "status") == "invisible" || person.invisible) {
        person.invisible = true;
        person.maybe_invisible = now;
    }
    if (field_of(text, "scope") == "session") {
        person.in_session_scope = true;
    }
}

void Truth::answered(MonoTime now, const std::string& user, const void* asker,
                     std::uint64_t request, bool done) {
    const auto found = asked_.find({asker, request});
    if (found == asked_.end()) {
        return;
    }
    const Asked asked = std::move(found->second);
    asked_.erase(found);
    if (is(asked.text, "status")) {
        take_status(now, person_of(user), asked, done);
    } else {
        take_rules(now, person_of(user).rules, asked, done);
    }
}

void Truth::settle_doubt(MonoTime now, Doubt& doubt, const Asked& asked, bool done) {
    if (!done) {
        doubt = {true, now + kUndecided};
    } else if (asked.at >= doubt.until) {
        doubt.open = false;
    }
}

void Truth::take_status(MonoTime now, PersonState& person, const Asked& asked, bool done) {
    --person.statuses_pending;
    const std::string status = field_of(asked.text, "status");
    if (status.empty() || field_of(asked.text, "scope") == "session") {
        return;
    }
    // Of two at once nobody knows which holds.
    settle_doubt(now, person.declared_doubt, asked, done && person.statuses_pending == 0);
    person.maybe_invisible = now;
    person.declared.since = now;
    person.declared.status = status;
    if (status == "invisible" && !person.absent_since) {
        person.seen_to = now;  // That moment is when others see them last.
    }
    person.invisible = status == "invisible" || person.declared_doubt.open;
}

void Truth::take_rules(MonoTime now, Rules& rules, const Asked& asked, bool done) {
    --rules.pending;
    rules.changed = now;
    if (is(asked.text, "privacy")) {
        settle_doubt(now, rules.hidden_doubt, asked, done);
        rules.hidden = asked.text.find("nobody") != std::string::npos;
        return;
    }
    const std::string other = listed_in(asked.text);
    settle_doubt(now, rules.block_doubts[other], asked, done);
    if (is(asked.text, "block")) {
        rules.blocks.insert(other);
    } else {
        rules.blocks.erase(other);
    }
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

std::optional<MonoTime> Truth::invisible_since(const std::string& user) const {
    const auto found = people_.find(user);
    return found != people_.end() && is_surely_invisible(found->second)
               ? std::optional(found->second.declared.since)
               : std::nullopt;
}

Truth::Declared Truth::declared(const std::string& user) {
    const PersonState& person = person_of(user);
    Declared declared = person.declared;
    declared.sure =
        !person.declared_doubt.open && !person.in_session_scope && person.statuses_pending == 0;
    return declared;
}

std::optional<Truth::Sight> Truth::sight(const Rules& viewer, const Rules& subject) {
    const auto is_doubted = [](const Rules& rules, const Rules& other) {
        if (rules.pending > 0 || rules.hidden_doubt.open) {
            return true;
        }
        const auto found = rules.block_doubts.find(other.user);
        return found != rules.block_doubts.end() && found->second.open;
    };
    if (is_doubted(viewer, subject) || is_doubted(subject, viewer)) {
        return std::nullopt;
    }
    // With reciprocity, who hides sees nobody.
    const bool sees = !viewer.hidden && !subject.hidden && !viewer.blocks.contains(subject.user) &&
                      !subject.blocks.contains(viewer.user);
    return Sight{sees, std::max(viewer.changed, subject.changed)};
}

std::optional<Truth::Sight> Truth::public_sight(const Rules& rules) {
    if (rules.pending > 0 || rules.hidden_doubt.open) {
        return std::nullopt;
    }
    return Sight{!rules.hidden, rules.changed};
}

}  // namespace presence::sim
