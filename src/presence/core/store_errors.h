#pragma once

#include "presence/base/result.h"

namespace presence {

/// What is answered while a store is away: to be asked again in a second.
[[nodiscard]] inline Error store_away() {
    return {ErrorCode::unavailable, "the store does not answer", 1000, 0};
}
[[nodiscard]] inline Error database_away() {
    return {ErrorCode::unavailable, "the database does not answer", 1000, 0};
}

}  // namespace presence
