#include "targets.h"

#include "failure.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <sched.h>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;

/// Limits that stand against strangers, far above anything a scenario does on purpose.
constexpr std::array kLiftedLimits{
    "limits.accepts_per_second", "limits.accepts_burst",     "limits.messages_per_second",
    "limits.messages_burst",     "limits.status_per_second", "limits.status_burst",
    "limits.lookups_per_second", "limits.lookups_burst",     "limits.connections",
};

/// Puts every thread of a process on `core` under `policy`.
void schedule_threads(pid_t process, int core, int policy) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<std::size_t>(core), &cores);
    const sched_param normal{};
    std::error_code gone;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
        const pid_t thread = std::stoi(entry.path().filename());
        ::sched_setaffinity(thread, sizeof cores, &cores);
        ::sched_setscheduler(thread, policy, &normal);
    }
}

}  // namespace

Target::Target(std::string name, std::unique_ptr<TemporaryFolder> folder,
               std::unique_ptr<ChildProcess> child)
    : name_(std::move(name)), folder_(std::move(folder)), child_(std::move(child)) {
    port_ = child_->wait_ready(15s);
}

Target Target::presenced(const Options& options) {
    return serve(options, options.server_core, {});
}

Target Target::node(const Options& options, const std::string& store_url) {
    return serve(options, kAnyCore, {"store.url=" + store_url});
}

Target Target::serve(const Options& options, int core, const std::vector<std::string>& sets) {
    auto folder = std::make_unique<TemporaryFolder>();
    std::vector<std::string> arguments{options.server_binary, "serve", "--dev"};
    const auto set = [&arguments](const std::string& pair) {
        arguments.emplace_back("--set");
        arguments.push_back(pair);
    };
    set("listen=127.0.0.1:0");
    set("threads=1");
    set("data_dir=" + folder->path());
    for (const char* limit : kLiftedLimits) {
        set(fmt::format("{}=1000000", limit));
    }
    for (const std::string& pair : sets) {
        set(pair);
    }
    for (const std::string& pair : options.server_sets) {
        set(pair);
    }
    auto child = std::make_unique<ChildProcess>(arguments, core, folder->path() + "/stderr.log");
    return {"presenced", std::move(folder), std::move(child)};
}

Target Target::bare(const Options& options, const BareOptions& bare) {
    auto folder = std::make_unique<TemporaryFolder>();
    std::vector<std::string> arguments{"/proc/self/exe", "bare"};
    if (bare.answer != BareAnswer::none) {
        arguments.emplace_back(bare.answer == BareAnswer::reply ? "--reply" : "--fan-out");
        arguments.push_back(std::to_string(bare.answer_bytes));
    }
    auto child = std::make_unique<ChildProcess>(arguments, options.server_core,
                                                folder->path() + "/stderr.log");
    return {"the bare loop", std::move(folder), std::move(child)};
}

Target Target::peer(const Options& options, const std::string& program) {
    const std::filesystem::path folder = options.peers_folder;
    if (!std::filesystem::exists(folder / "node_modules")) {
        fail("the packages of {} are not installed: ./dev bench peers does it", folder.string());
    }
    auto scratch = std::make_unique<TemporaryFolder>();
    std::vector<std::string> arguments{"/usr/bin/env"};
    if (program.ends_with(".mjs")) {
        arguments.emplace_back("node");
    }
    arguments.push_back(folder / program);
    arguments.push_back(scratch->path());
    auto child = std::make_unique<ChildProcess>(arguments, options.server_core,
                                                scratch->path() + "/stderr.log");
    return {program, std::move(scratch), std::move(child)};
}

OnLoadCore::OnLoadCore(const Target& target, const Options& options)
    : process_(target.process()), home_core_(options.server_core) {
    schedule_threads(process_, options.load_core, SCHED_BATCH);
}

OnLoadCore::~OnLoadCore() {
    schedule_threads(process_, home_core_, SCHED_OTHER);
}

void say_progress(const std::string& text) {
    fmt::print(stderr, "  {}\n", text);
}

}  // namespace presence::bench
