#pragma once

#include "bare_server.h"
#include "child_process.h"
#include "cpu_clock.h"
#include "options.h"

#include <cstdint>
#include <memory>
#include <string>

namespace presence::bench {

/// A server that is measured: `presenced` itself or the bare loop. Its process ends with it.
class Target {
public:
    /// Starts the release binary on a free port with one thread, an empty folder and no limits
    /// that the load could meet. Durations of liveness stay at their defaults.
    [[nodiscard]] static Target presenced(const Options& options);

    /// The same on any core, as one of several nodes on the store at `store_url`.
    [[nodiscard]] static Target node(const Options& options, const std::string& store_url);

    /// Starts the bare loop.
    [[nodiscard]] static Target bare(const Options& options, const BareOptions& bare);

    /// Starts a server of `bench/peers/` by its program, `PEER.mjs` or `PEER.sh`.
    [[nodiscard]] static Target peer(const Options& options, const std::string& program);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] pid_t process() const noexcept { return child_->id(); }

private:
    Target(std::string name, std::unique_ptr<TemporaryFolder> folder,
           std::unique_ptr<ChildProcess> child);

    static Target serve(const Options& options, int core, const std::vector<std::string>& sets);

    std::string name_;
    std::unique_ptr<TemporaryFolder> folder_;
    std::unique_ptr<ChildProcess> child_;
    std::uint16_t port_ = 0;
};

/// CPU that `target` spends from the beginning of `work` until it is quiet after it.
template <class Work>
[[nodiscard]] CpuTime cpu_during(const Target& target, Work&& work) {
    wait_until_quiet(target.process());
    const CpuTime before = cpu_time(target.process());
    work();
    wait_until_quiet(target.process());
    return cpu_time(target.process()) - before;
}

/// CPU of `count` equal things, each, in nanoseconds.
[[nodiscard]] inline double each_ns(std::chrono::nanoseconds cpu, std::size_t count) {
    return static_cast<double>(cpu.count()) / static_cast<double>(count);
}

/// While it lives, `target` runs on the load's core and never interrupts the load, so that it finds
/// what the load sends in one step all at once. So two loops wake equally often under one load,
/// and their costs differ only by what they do with each message.
class OnLoadCore {
public:
    OnLoadCore(const Target& target, const Options& options);
    ~OnLoadCore();
    OnLoadCore(const OnLoadCore&) = delete;
    OnLoadCore& operator=(const OnLoadCore&) = delete;

private:
    pid_t process_;
    int home_core_;
};

/// Says on standard error what is going on; standard output is for results.
void say_progress(const std::string& text);

}  // namespace presence::bench
