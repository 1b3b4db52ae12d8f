// The `presenced-bench` program: its command line.

#include "bare_server.h"
#include "child_process.h"
#include "failure.h"
#include "scenarios.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sys/resource.h>

namespace presence::bench {
namespace {

/// Children inherit it, so the server gets as many files as this process may have.
void raise_file_limit() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
}

/// Of this program: `build/PRESET/bin` in the sources.
std::filesystem::path own_folder() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// For checking that all still works, not for figures: seconds instead of a minute.
void shorten(Options& options) {
    options.rounds = 1;
    options.phase = std::chrono::milliseconds(500);
    options.settle = std::chrono::milliseconds(200);
    options.beats_per_second = 5'000;
    if (!options.connections) {
        options.connections = 300;
    }
}

std::vector<std::string> scenario_names() {
    std::vector<std::string> names;
    for (const Scenario& scenario : kScenarios) {
        names.emplace_back(scenario.name);
    }
    return names;
}

void list_scenarios() {
    for (const Scenario& scenario : kScenarios) {
        fmt::print("{:<12} {}\n", scenario.name, scenario.summary);
    }
}

/// Runs one scenario and prints what it found; gives whether its bars are kept.
bool run_scenario(const std::string& name, const Options& options, bool json) {
    const auto* scenario = std::ranges::find(kScenarios, name, &Scenario::name);
    fmt::print(stderr, "{}: {}\n", scenario->name, scenario->summary);
    const Report report = scenario->run(options);
    fmt::print("{}\n", json ? as_json(report) : as_table(report));
    std::fflush(stdout);
    return keeps_bars(report);
}

int run_scenarios(const std::vector<std::string>& names, const Options& options, bool json,
                  bool strict) {
    if (!std::filesystem::exists(options.server_binary)) {
        fmt::print(stderr, "presenced-bench: no server at {}; build it or give --bin\n",
                   options.server_binary);
        return 2;
    }
    bool kept = true;
    try {
        raise_file_limit();
        pin_to_core(options.load_core);
        for (const std::string& name : names) {
            kept = run_scenario(name, options, json) && kept;
        }
    } catch (const BenchFailure& failure) {
        fmt::print(stderr, "presenced-bench: {}\n", failure.what());
        return 2;
    }
    return kept || !strict ? 0 : 1;
}

int run_bare(std::size_t reply, std::size_t fan_out) {
    BareOptions options;
    if (reply > 0) {
        options = {BareAnswer::reply, reply};
    } else if (fan_out > 0) {
        options = {BareAnswer::fan_out, fan_out};
    }
    run_bare_server(options);
    return 2;
}

/// What the command line says beside Options.
struct CommandLine {
    std::vector<std::string> names;
    bool json = false;
    bool strict = false;
    bool brief = false;
    long phase_ms = 0;
    std::size_t connections = 0;
    std::size_t bare_reply = 0;
    std::size_t bare_fan_out = 0;
};

/// A process may open 20,000 files; what needs none may have more.
constexpr std::size_t kMostSockets = 19'000;

void add_options(CLI::App& app, CommandLine& line, Options& options) {
    app.add_option("scenarios", line.names, "Which to run; none lists them, `all` runs all")
        ->check(CLI::IsMember([] {
            std::vector<std::string> known = scenario_names();
            known.emplace_back("all");
            return known;
        }()));
    app.add_option("--bin", options.server_binary, "The server")->capture_default_str();
    app.add_option("--peers", options.peers_folder, "Other servers, of `peers`")
        ->capture_default_str();
    app.add_option("--set", options.server_sets, "key=value for the server")
        ->allow_extra_args(false);
    app.add_option("--rounds", options.rounds, "Rounds")->check(CLI::Range(1, 100));
    app.add_option("--phase-ms", line.phase_ms, "Length of a phase")
        ->check(CLI::Range(100, 7'200'000));
    app.add_option("--connections", line.connections,
                   fmt::format("Connections, instead of the scenario's own; over {}: `engine` only",
                               kMostSockets))
        ->check(CLI::Range(1, 10'000'000));
    app.add_option("--rate", options.beats_per_second, "Heartbeats a second, over all connections")
        ->check(CLI::Range(1.0, 1e6));
    app.add_flag("--acked", options.acked, "Heartbeats that ask for an answer");
    app.add_option("--server-core", options.server_core, "Core of the server and the bare loop");
    app.add_option("--load-core", options.load_core, "Core of the load");
    app.add_flag("--json", line.json, "One JSON object a scenario, one a line");
    app.add_flag("--short", line.brief, "A quick check of the answers; its figures mean nothing");
    app.add_flag("--strict", line.strict, "Exit 1 if a bar is not kept");
}

}  // namespace

int run(int argc, char** argv) {
    CLI::App app{
        "presenced-bench: what presenced costs, beside a bare loop that only makes the system "
        "calls.\nExit: 0 measured, 1 a bar is not kept (--strict), 2 something went wrong"};
    Options options;
    options.server_binary = own_folder() / "presenced";
    options.peers_folder = (own_folder() / "../../../bench/peers").lexically_normal();
    CommandLine line;
    line.phase_ms = options.phase.count();
    add_options(app, line, options);
    CLI::App* bare = app.add_subcommand("bare", "")->group("");
    bare->add_option("--reply", line.bare_reply);
    bare->add_option("--fan-out", line.bare_fan_out);

    CLI11_PARSE(app, argc, argv);
    if (*bare) {
        return run_bare(line.bare_reply, line.bare_fan_out);
    }
    if (line.names.empty()) {
        list_scenarios();
        return 0;
    }
    if (line.connections > kMostSockets && line.names != std::vector<std::string>{"engine"}) {
        fmt::print(stderr, "presenced-bench: --connections: at most {} with sockets\n",
                   kMostSockets);
        return 2;
    }
    if (line.connections > 0) {
        options.connections = line.connections;
    }
    options.phase = std::chrono::milliseconds(line.phase_ms);
    if (line.brief) {
        shorten(options);
    }
    std::vector<std::string> names = line.names;
    if (std::ranges::find(names, "all") != names.end()) {
        names = scenario_names();
        std::erase(names, "peers");  // Needs more than this project's own programs.
    }
    return run_scenarios(names, options, line.json, line.strict);
}

}  // namespace presence::bench

int main(int argc, char** argv) {
    return presence::bench::run(argc, argv);
}
