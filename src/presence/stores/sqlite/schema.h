#pragma once

#include "presence/base/result.h"
#include "presence/stores/sqlite/connection.h"

#include <cstdint>

namespace presence::sqlite {

/// The schema that this release writes. Older ones are brought up to it.
[[nodiscard]] std::int64_t known_schema();

/// Brings the database up to `known_schema`, all steps in one transaction.
/// @return The schema that it found.
/// @retval ErrorCode::conflict  The file was written by a newer release, and was left as it is.
[[nodiscard]] Result<std::int64_t> migrate(Connection& connection);

}  // namespace presence::sqlite
