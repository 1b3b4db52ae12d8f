#include "presence/core/user_table.h"

#include "presence/core/status_change.h"

namespace presence {

SlotId UserTable::open(const UserId& id) {
    if (const SlotId found = find(id)) {
        return found;
    }
    const SlotId slot = pool_.create();
    User& user = pool_.at(slot);
    user.id = id;
    by_id_.insert(slot.slot);
    return slot;
}

SlotId UserTable::find(const UserId& id) const {
    const std::optional<std::uint32_t> place = by_id_.find(id.text);
    return place ? pool_.name_of(*place) : SlotId{};
}

void UserTable::close(SlotId user) {
    by_id_.erase(user.slot);
    pool_.destroy(user);
}

}  // namespace presence
