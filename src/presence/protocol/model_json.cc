#include "presence/protocol/model_json.h"

namespace presence::protocol {

void append_users(ObjectWriter& object, std::string_view name, std::span<const UserId> users) {
    object.name(name);
    std::string& out = object.out();
    out.push_back('[');
    bool first = true;
    for (const UserId& user : users) {
        if (!first) {
            out.push_back(',');
        }
        append_json_string(out, user.text);
        first = false;
    }
    out.push_back(']');
}

void append_rule(ObjectWriter& object, std::string_view name, Audience audience,
                 std::span<const UserId> users) {
    object.name(name);
    ObjectWriter inside(object.out());
    inside.text("mode", wire_name(audience));
    if (has_users(audience)) {
        append_users(inside, "users", users);
    }
    inside.close();
}

}  // namespace presence::protocol
