#pragma once

#include "deployment.h"
#include "simulation.h"
#include "sizing.h"

#include <string>

namespace presence::plan {

/// All that was found out about a deployment.
struct Found {
    Deployment deployment;
    Costs costs;
    Plan plan;
    Course peak;
    Course outage;
};

/// For people: what is asked, the load, what it takes, how the peak and the outage went, and the
/// costs by which all of it was reckoned.
[[nodiscard]] std::string as_text(const Found& found);
/// For programs: one line, {"deployment", "costs", "load", "tiers", "bottleneck", "peak",
/// "outage"}, with the names of the flags and snake_case with units.
[[nodiscard]] std::string as_json(const Found& found);

}  // namespace presence::plan
