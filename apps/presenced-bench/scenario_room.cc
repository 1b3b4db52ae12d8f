#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <algorithm>
#include <thread>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kSmallRoom = 20;
/// Of one connection; the server's limit is the same.
constexpr std::size_t kSignalsEach = 5;
constexpr std::size_t kSignalsASecond = 2'000;

struct Storm {
    double right_after_ms = 0;   ///< From the last answer to the last right count.
    double messages_each = 0;    ///< About the room, to one member, during the storm.
    double cpu_per_join_us = 0;  ///< With all that follows from it.
    double rss_per_member = 0;
};

/// Everybody joins one room as fast as the server answers.
Storm join_all(const Target& target, LoadClient& people, const Options& options) {
    const std::size_t members = people.size();
    std::vector<std::size_t> counts(members, 0);
    std::size_t answers = 0;
    std::size_t messages = 0;
    std::size_t right = 0;
    people.on_message([&](std::size_t connection, std::string_view message) {
        if (message.find(R"("type":"error")") != std::string_view::npos) {
            fail("a join was refused: {}", message);
        }
        ++messages;
        answers += message.find(R"("id":1,)") != std::string_view::npos ? 1U : 0U;
        const std::size_t count = count_in(message);
        right += (count == members ? 1U : 0U);
        right -= (counts[connection] == members ? 1U : 0U);
        counts[connection] = count;
    });
    std::this_thread::sleep_for(options.settle);
    const ProcessMemory before = process_memory(target.process());
    Storm storm;
    const CpuTime cpu = cpu_during(target, [&] {
        for (std::size_t at = 0; at < members; ++at) {
            people.send_text(at, R"({"type":"join","id":1,"room":"stadium"})");
            people.poll_until([&] { return answers + 64 > at; }, "answers to joins", 60s);
        }
        people.poll_until([&] { return answers == members; }, "the last answers", 60s);
        const auto answered = SteadyClock::now();
        people.poll_until([&] { return right == members; }, "the right count everywhere", 30s);
        storm.right_after_ms =
            std::chrono::duration<double, std::milli>(SteadyClock::now() - answered).count();
        const auto quiet = SteadyClock::now() + 1'500ms;
        people.poll_until([&] { return SteadyClock::now() > quiet; }, "quiet");
    });
    storm.messages_each = static_cast<double>(messages) / static_cast<double>(members);
    storm.cpu_per_join_us = each_ns(cpu.total, members) / 1'000;
    const ProcessMemory after = process_memory(target.process());
    storm.rss_per_member = (after.resident - before.resident) / static_cast<double>(members);
    return storm;
}

struct Signals {
    double cpu_per_delivery_ns = 0;
    double growth_bytes = 0;  ///< Of the server, over the second half.
};

/// Two thousand signals a second in rooms of twenty.
Signals signal_all(const Target& target, LoadClient& people, const Options& options) {
    const std::size_t senders =
        std::min(people.size(), kSignalsASecond / kSignalsEach) / kSmallRoom * kSmallRoom;
    if (senders == 0) {
        return {};
    }
    std::size_t joined = 0;
    std::size_t delivered = 0;
    people.on_message([&](std::size_t, std::string_view message) {
        joined += message.find(R"("id":2,)") != std::string_view::npos ? 1U : 0U;
        delivered += message.find(R"("type":"signal")") != std::string_view::npos ? 1U : 0U;
    });
    for (std::size_t at = 0; at < senders; ++at) {
        people.send_text(at,
                         fmt::format(R"({{"type":"join","id":2,"room":"r{}"}})", at / kSmallRoom));
        people.poll(0ms);
    }
    people.poll_until([&] { return joined == senders; }, "answers to joins", 30s);
    const auto quiet = SteadyClock::now() + 1'500ms;
    people.poll_until([&] { return SteadyClock::now() > quiet; }, "quiet");
    const auto run = [&](std::chrono::milliseconds duration) {
        const auto step = 1'000'000us / (kSignalsEach * senders);
        auto next = SteadyClock::now();
        const auto end = next + duration;
        for (std::size_t at = 0; next < end; ++at, next += step) {
            people.send_text(at % senders, fmt::format(R"({{"type":"signal","to":{{"room":"r{}"}},)"
                                                       R"("kind":"typing","active":true}})",
                                                       at % senders / kSmallRoom));
            while (SteadyClock::now() < next) {
                people.poll(0ms);
            }
        }
        people.poll(10ms);
    };
    run(options.phase);
    const ProcessMemory before = process_memory(target.process());
    delivered = 0;
    const CpuTime cpu = cpu_during(target, [&] { run(options.phase); });
    const ProcessMemory after = process_memory(target.process());
    return {each_ns(cpu.total, std::max<std::size_t>(delivered, 1)),
            after.resident - before.resident};
}

}  // namespace

Report run_room(const Options& options) {
    const std::size_t members = options.connections.value_or(15'000);
    Metric right{.name = "count_right_after", .unit = "ms", .bar_on = BarOn::value, .bar = 2'000};
    Metric each{.name = "messages_per_member", .unit = ""};
    Metric join{.name = "cpu_per_join", .unit = "us"};
    Metric memory{.name = "rss_per_member", .unit = "B", .bar_on = BarOn::value, .bar = 1'024};
    Metric signal{.name = "cpu_per_signal_delivered", .unit = "ns"};
    Metric growth{.name = "growth_under_signals", .unit = "B"};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Target server = Target::presenced(options);
        LoadClient people(server.port(), "u");
        people.grow_to(members);
        const Storm storm = join_all(server, people, options);
        const Signals signals = signal_all(server, people, options);
        say_progress(
            fmt::format("round {}: right after {:.0f} ms, {:.1f} messages each, {:.0f} B "
                        "a member, signals grew it by {:.0f} B",
                        round + 1, storm.right_after_ms, storm.messages_each, storm.rss_per_member,
                        signals.growth_bytes));
        right.values.push_back(storm.right_after_ms);
        each.values.push_back(storm.messages_each);
        join.values.push_back(storm.cpu_per_join_us);
        memory.values.push_back(storm.rss_per_member);
        signal.values.push_back(signals.cpu_per_delivery_ns);
        growth.values.push_back(signals.growth_bytes);
    }
    return {
        "room",
        fmt::format("{} members of one room, then {} signals a second in rooms of {}, {} rounds",
                    members, kSignalsASecond, kSmallRoom, options.rounds),
        {std::move(right), std::move(each), std::move(join), std::move(memory), std::move(signal),
         std::move(growth)}};
}

}  // namespace presence::bench
