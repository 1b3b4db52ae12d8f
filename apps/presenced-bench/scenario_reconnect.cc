#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <memory>
#include <utility>
#include <vector>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kSubjects = 40;

/// Devices that all lose their connection and come back, again and again.
class Returners {
public:
    /// @param call  What each sends after its welcome.
    /// @param resumes  Whether the server knows sessions; the bare loop does not.
    Returners(std::uint16_t port, std::size_t count, std::string call, bool resumes)
        : port_(port), count_(count), call_(std::move(call)), resumes_(resumes) {
        resume_.resize(count);
        come();
    }

    /// Resets all connections and opens them anew, until each has what it asked for.
    void reconnect() {
        clients_.reset();
        come();
    }

    [[nodiscard]] std::size_t answer_bytes() const noexcept { return answer_bytes_; }

private:
    void come() {
        clients_ = std::make_unique<LoadClient>(port_, "r");
        const bool again = std::exchange(has_come_, true) && resumes_;
        if (again) {
            clients_->set_hello_fields(
                [this](std::size_t at) { return fmt::format(R"(,"resume":"{}")", resume_[at]); });
        }
        clients_->on_welcome([this, again](std::size_t at, std::string_view welcome) {
            if (again && welcome.find(R"("resumed":true)") == std::string_view::npos) {
                fail("a session was not resumed: {}", welcome);
            }
            if (resumes_) {
                resume_[at] = text_of(welcome, "resume");
            }
            clients_->send_text(at, call_);
        });
        std::size_t answers = 0;
        clients_->on_message([&](std::size_t, std::string_view message) {
            check(message);
            ++answers;
            answer_bytes_ = message.size();
        });
        clients_->grow_to(count_);
        clients_->poll_until([&] { return answers == count_; }, "snapshots");
        clients_->on_message({});
    }

    void check(std::string_view message) const {
        if (!resumes_) {
            return;
        }
        const std::size_t online = count_of(message, R"("status":"online")");
        if (online != kSubjects) {
            fail("a snapshot shows {} of {} online: {}", online, kSubjects, message.substr(0, 500));
        }
    }

    std::uint16_t port_;
    std::size_t count_;
    std::string call_;
    bool resumes_;
    bool has_come_ = false;
    std::vector<std::string> resume_;
    std::size_t answer_bytes_ = 0;
    std::unique_ptr<LoadClient> clients_;
};

/// Microseconds of the server per reconnect.
double measure(const Target& target, Returners& returners, std::size_t count,
               std::chrono::milliseconds duration) {
    std::size_t reconnects = 0;
    const CpuTime cpu = cpu_during(target, [&] {
        const auto end = SteadyClock::now() + duration;
        do {
            returners.reconnect();
            reconnects += count;
        } while (SteadyClock::now() < end);
    });
    return each_ns(cpu.total, reconnects) / 1'000;
}

}  // namespace

Report run_reconnect(const Options& options) {
    const std::size_t count = options.connections.value_or(1'000);
    const Target server = Target::presenced(options);
    LoadClient subjects(server.port(), "s");
    subjects.grow_to(kSubjects);
    const std::string call =
        fmt::format(R"({{"type":"watch","users":[{}]}})", subjects.user_list(0, kSubjects));
    Returners ours(server.port(), count, call, true);
    ours.reconnect();

    const Target bare = Target::bare(options, {BareAnswer::reply, ours.answer_bytes()});
    Returners base(bare.port(), count, call, false);

    Metric cpu{.name = "cpu_per_reconnect", .unit = "us", .bar_on = BarOn::ratio, .bar = 2};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        cpu.values.push_back(measure(server, ours, count, options.phase));
        cpu.baselines.push_back(measure(bare, base, count, options.phase));
        say_progress(fmt::format("round {}: {:.0f} us a reconnect, bare {:.0f} us", round + 1,
                                 cpu.values.back(), cpu.baselines.back()));
    }
    return {
        "reconnect",
        fmt::format("{} devices, {} watches each, snapshots of {} bytes, {} ms a phase, {} "
                    "rounds",
                    count, kSubjects, ours.answer_bytes(), options.phase.count(), options.rounds),
        {std::move(cpu)}};
}

}  // namespace presence::bench
