#include "presence/app/serve.h"

#include "presence/app/service_manager.h"
#include "presence/base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <sys/resource.h>
#include <thread>

namespace presence::app {

namespace {

log::Level level_named(std::string_view name) {
    return name == "debug"     ? log::Level::debug
           : name == "info"    ? log::Level::info
           : name == "warning" ? log::Level::warning
           : name == "error"   ? log::Level::error
                               : log::Level::off;
}

void configure_log(const Config& config) {
    log::configure(level_named(config.log_level),
                   config.log_format == "json" ? log::Format::json : log::Format::text);
}

/// As many descriptors as the system lets us have: each client needs one.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void reload(Node& node, const ConfigSources& sources) {
    Result<Config> fresh = load_config(sources);
    if (!fresh) {
        log::error("reload_refused", "{}", fresh.error().message);
        return;
    }
    Result<bool> readable = check_files(*fresh);
    if (!readable) {
        log::error("reload_refused", "{}", readable.error().message);
        return;
    }
    configure_log(*fresh);
    Result<bool> reloaded = node.reload(fresh->node);
    if (!reloaded) {
        log::error("reload_refused", "{}", reloaded.error().message);
    } else {
        log::info("reloaded", "the configuration was read anew");
    }
}

/// The next signal. Meanwhile the watchdog is told that the node lives, as long as it does, and the
/// log what it had to leave out.
int next_signal(const sigset_t& signals, Node& node, const ServiceManager& manager) {
    constexpr Millis kTellLeftOut{1'000};
    constexpr std::int64_t kMillisInSecond = 1000;
    constexpr std::int64_t kNanosInMilli = 1'000'000;
    const std::int64_t every =
        std::min(manager.alive_every().value_or(kTellLeftOut), kTellLeftOut).count();
    const timespec pause{every / kMillisInSecond, every % kMillisInSecond * kNanosInMilli};
    for (;;) {
        const int signal = sigtimedwait(&signals, nullptr, &pause);
        if (signal > 0) {
            return signal;
        }
        const bool none_came = errno == EAGAIN;
        log::tell_left_out();
        if (none_came && manager.alive_every() && node.all_threads_moved()) {
            manager.alive();
        }
    }
}

}  // namespace

int serve(const Config& config, const ConfigSources& sources) {
    configure_log(config);
    raise_descriptor_limit();
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&signals, signal);
    }
    // Blocked before any thread starts, so that all threads inherit it and sigwait gets them.
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    for (const std::string& path : {config.node.database_path, config.node.spool_path}) {
        std::error_code ignored;
        if (!path.empty()) {
            std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
        }
    }
    Result<std::unique_ptr<Node>> started = Node::start(config.node);
    if (!started) {
        log::error("not_started", "{}", started.error().message);
        return 1;
    }
    Node& node = **started;
    const bool tls = !config.node.tls_certificate.empty();
    fmt::print("ready http{}://{}\n", tls ? "s" : "", node.address());
    std::fflush(stdout);
    const ServiceManager manager;
    manager.ready(node.address());
    for (;;) {
        const int signal = next_signal(signals, node, manager);
        if (signal == SIGHUP) {
            manager.reloading();
            reload(node, sources);
            manager.ready(node.address());
            continue;
        }
        log::info("draining", "signal {}", signal);
        break;
    }
    // Supervisors may say twice what they want; who presses Ctrl-C now does not want to wait.
    std::thread impatient([&signals] {
        int signal = 0;
        while (signal != SIGINT) {
            sigwait(&signals, &signal);
        }
        log::warning("ended_at_once", "SIGINT came during the drain");
        std::_Exit(1);
    });
    impatient.detach();
    constexpr Millis kForLastWrites{10'000};
    manager.stopping(config.node.core.drain_timeout + kForLastWrites);
    node.drain_and_stop();
    log::info("stopped", "everything that was queued is written");
    return 0;
}

}  // namespace presence::app
