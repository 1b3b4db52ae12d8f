#pragma once

#include "parts.h"

namespace presence::seeds {

/// How late Redis tells that keys have expired, beside our sweep: among 0, 10,000 and 100,000 keys
/// that live on.
/// @throws bench::BenchFailure  As redis_facts.
[[nodiscard]] Figures expired_events(const Options& options);

}  // namespace presence::seeds
