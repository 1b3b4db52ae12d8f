#include "command.h"

#include "report.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

namespace presence::plan {

namespace {

struct Chosen {
    Deployment deployment;
    Costs costs;
    std::uint64_t seed = 1;
    bool json = false;
};

int run(const Chosen& chosen) {
    for (const Result<bool>& checked : {chosen.deployment.validate(), chosen.costs.validate()}) {
        if (!checked) {
            fmt::print(stderr, "presenced-sim plan: {}\n", checked.error().message);
            return 2;
        }
    }
    Found found{chosen.deployment, chosen.costs, size(chosen.deployment, chosen.costs), {}, {}};
    found.peak = simulate_peak(found.deployment, found.costs, found.plan, chosen.seed);
    found.outage = simulate_outage(found.deployment, found.costs, found.plan, chosen.seed);
    fmt::print("{}{}", chosen.json ? as_json(found) : as_text(found), chosen.json ? "\n" : "");
    return 0;
}

template <class Of>
void add_fields(CLI::App& command, Of& of, std::span<const Field<Of>> fields,
                const std::string& group) {
    for (const Field<Of>& field : fields) {
        command
            .add_option(fmt::format("--{}", field.name), of.*field.value,
                        fmt::format("{} ({} to {})", field.what, field.least, field.most))
            ->capture_default_str()
            ->group(group);
    }
}

}  // namespace

void add_command(CLI::App& app, int& exit_code) {
    CLI::App& command = *app.add_subcommand(
        "plan",
        "says what a deployment needs: nodes, Redis, database, network; and plays its peak minute "
        "and the outage of a region.\nExit: 0, or 2 if a field is out of its bounds");
    const auto chosen = std::make_shared<Chosen>();
    add_fields(command, chosen->deployment, deployment_fields(), "Deployment");
    add_fields(command, chosen->costs, cost_fields(), "Costs");
    command.add_option("--seed", chosen->seed, "of all chance")->capture_default_str();
    command.add_flag("--json", chosen->json, "one JSON object on one line");
    command.callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

}  // namespace presence::plan
