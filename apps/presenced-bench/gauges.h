#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>

namespace presence::bench {

/// What a server says of itself at `GET /metrics`: `name{labels}` and value.
/// @throws BenchFailure  It does not answer.
[[nodiscard]] std::map<std::string, double> scrape(std::uint16_t port);

/// Descriptors that a process has open.
[[nodiscard]] std::size_t open_files(pid_t process);

}  // namespace presence::bench
