#pragma once

#include "presence/base/ids.h"
#include "presence/model/census.h"
#include "presence/model/past.h"
#include "presence/model/room.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace presence {

/// What a node asks all others. Each answers for what is its own, so that the answers add up. A
/// message between nodes: fields are only ever added (DESIGN rule 37).
struct SurveyQuestion {
    enum class About : std::uint8_t {
        people,  ///< How many there are.
        room,    ///< Who is in `name`.
        rooms,   ///< Which rooms there are whose names begin with `name`.
        past,    ///< What is remembered of the user `name`.
    };
    NodeId from;
    std::uint64_t number = 0;  ///< The asker's; the answer names it.
    About about = About::people;
    std::string name;
    std::optional<std::string> after;  ///< Members or rooms after that one.
    std::size_t most = 0;              ///< So many of them.
};

using SurveyQuestionRef = std::shared_ptr<const SurveyQuestion>;

struct SurveyAnswer {
    NodeId from;
    NodeId to;
    std::uint64_t number = 0;  ///< Of the question.
    bool exact = true;         ///< False: not all that is its own could be looked at.
    Census census;
    OpenConnections connections;
    std::vector<RoomFacts> rooms;  ///< By name.
    Past past;
};

using SurveyAnswerRef = std::shared_ptr<const SurveyAnswer>;

}  // namespace presence
