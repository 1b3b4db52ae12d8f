#pragma once

#include "presence/model/custom_status.h"
#include "presence/stores/sqlite/connection.h"

#include <memory>
#include <string>

namespace presence::sqlite {

/// Binds text, emoji and end; three nulls for none.
inline void bind_custom(Statement& statement, const CustomStatusRef& custom) {
    if (custom) {
        statement.bind(custom->text).bind(custom->emoji).bind(custom->expires_at);
    } else {
        statement.bind_null().bind_null().bind_null();
    }
}

/// Reads three columns from `first` on.
[[nodiscard]] inline CustomStatusRef custom_at(const Statement& statement, int first) {
    if (statement.null(first)) {
        return nullptr;
    }
    return make_ref<CustomStatus>(CustomStatus{std::string(statement.text(first)),
                                               std::string(statement.text(first + 1)),
                                               statement.time(first + 2)});
}

}  // namespace presence::sqlite
