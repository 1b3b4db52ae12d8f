#include "presence/model/status_change.h"

#include "presence/protocol/client_message.h"

#include <memory>
#include <utility>

namespace presence::protocol {

Result<presence::StatusChange> resolve(StatusChange given, WallTime now) {
    presence::StatusChange change;
    change.status = given.status;
    const Result<std::optional<WallTime>> until = resolve(given.expiry, now);
    if (!until) {
        return until.error();
    }
    if (change.status != DeclaredStatus::automatic) {
        change.status_until = *until;  // An end of nothing is checked, and means nothing.
    }
    change.sets_custom = given.custom_change != CustomChange::keep;
    if (given.custom_change == CustomChange::set) {
        const Result<std::optional<WallTime>> custom_until =
            resolve(given.custom.expiry, now, "customStatus.");
        if (!custom_until) {
            return custom_until.error();
        }
        change.custom = make_ref<const CustomStatus>(CustomStatus{
            std::move(given.custom.text), std::move(given.custom.emoji), *custom_until});
    }
    return change;
}

}  // namespace presence::protocol
