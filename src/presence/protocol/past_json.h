#pragma once

#include "presence/model/past.h"
#include "presence/protocol/json_writer.h"

#include <optional>

namespace presence::protocol {

/// A moment of the last hour, with `at`.
struct ExplainedMomentFields {
    WallTime at;
    bool known = false;
    PastTransition::Faces faces;  ///< With `known`.
    const PastTransition* because = nullptr;
    bool rules_changed = false;
    std::optional<Status> seen;
    const Past& past;
    bool complete = true;  ///< All nodes said what they remember.
};

/// Adds the members `then` and `past`.
void append_moment(ObjectWriter& object, const ExplainedMomentFields& fields);

}  // namespace presence::protocol
