#pragma once

#include "presence/base/result.h"
#include "presence/stores/postgres/connection.h"

#include <cstdint>

namespace presence::postgres {

/// The schema that this release writes. Older ones are brought up to it.
[[nodiscard]] std::int64_t known_schema();

/// Brings the database up to `known_schema`, all steps in one transaction, under a lock, so that
/// nodes that start together do it once. A schema of a newer release is fine as long as that
/// release says that this one can work with it.
/// @return The schema that it found.
/// @retval ErrorCode::unavailable  It cannot be brought up to date, or is too new.
[[nodiscard]] Result<std::int64_t> migrate(Connection& connection);

}  // namespace presence::postgres
