#include "presence/protocol/past_json.h"

#include <fmt/format.h>

namespace presence::protocol {

namespace {

void append_faces(ObjectWriter& object, std::string_view name, const PastTransition::Faces& faces) {
    object.name(name);
    ObjectWriter inside(object.out());
    inside.text("status", wire_name(faces.own));
    inside.text("shown", wire_name(faces.shown));
    inside.close();
}

void append_changed(ObjectWriter& object, const PastTransition& one) {
    object.name("changed");
    std::string& out = object.out();
    out.push_back('[');
    const std::size_t empty = out.size();
    const auto add = [&](bool changed, std::string_view what) {
        if (changed) {
            out.append(out.size() == empty ? "" : ",");
            append_json_string(out, what);
        }
    };
    add(!(one.before == one.after), "status");
    add(one.devices_changed, "devices");
    add(one.custom_changed, "customStatus");
    add(one.rules_changed, "rules");
    out.push_back(']');
}

void append_transition(std::string& out, const PastTransition& one) {
    ObjectWriter object(out);
    object.integer("at", one.at.ms());
    object.text("cause", one.cause);
    if (one.node) {
        object.text("node", fmt::format("{:016x}", one.node.value));
    }
    if (!one.session.text.empty()) {
        object.text("sessionId", one.session.text);
    }
    if (!one.rules_changed) {
        append_faces(object, "before", one.before);
        append_faces(object, "after", one.after);
        object.integer("version", static_cast<std::int64_t>(one.shown_version.value));
    }
    append_changed(object, one);
    object.close();
}

}  // namespace

void append_moment(ObjectWriter& object, const ExplainedMomentFields& fields) {
    std::string& out = object.out();
    object.name("then");
    ObjectWriter then(out);
    then.integer("at", fields.at.ms());
    then.boolean("known", fields.known);
    if (fields.known) {
        then.text("status", wire_name(fields.faces.own));
        then.text("shown", wire_name(fields.faces.shown));
    }
    if (fields.seen) {
        then.text("seen", wire_name(*fields.seen));
    }
    then.boolean("rulesChanged", fields.rules_changed);
    if (fields.because != nullptr) {
        then.name("because");
        append_transition(out, *fields.because);
    }
    then.close();
    object.name("past");
    ObjectWriter past(out);
    past.integer("since", fields.past.since.ms());
    past.boolean("complete", fields.complete);
    past.name("transitions");
    out.push_back('[');
    bool first = true;
    for (const PastTransition& one : fields.past.transitions) {
        out.append(first ? "" : ",");
        append_transition(out, one);
        first = false;
    }
    out.push_back(']');
    past.close();
}

}  // namespace presence::protocol
