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
    by_id_.emplace(std::string_view(user.id.text), slot);
    return slot;
}

SlotId UserTable::find(const UserId& id) const {
    const auto found = by_id_.find(std::string_view(id.text));
    return found == by_id_.end() ? SlotId{} : found->second;
}

void UserTable::close(SlotId user) {
    by_id_.erase(std::string_view(pool_.at(user).id.text));
    pool_.destroy(user);
}

}  // namespace presence
