#pragma once

#include "presence/base/ids.h"
#include "presence/stores/redis/command_link.h"
#include "presence/stores/redis/keys.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace presence::redis {

/// Records that one command asks for, and where their answers belong.
struct Question {
    Command command;
    std::vector<std::size_t> places;
};

/// What may stand together in one command.
enum class Grouping : std::uint8_t {
    by_server,     ///< In a cluster a partition; a single server takes all in one.
    by_partition,  ///< In any case a partition.
};

/// As few commands as the slots allow: `word` and then the names of the records, or for a script
/// their number and the names.
[[nodiscard]] std::vector<Question> questions_for(const std::vector<UserId>& users,
                                                  const Keys& keys, const RedisConfig& config,
                                                  const char* word, const Script* script = nullptr,
                                                  Grouping grouping = Grouping::by_server);

}  // namespace presence::redis
