// What reaches the database, and how many heartbeats a second do not.

#include "core_node.h"
#include "parts.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>

namespace presence::seeds {

namespace {

constexpr double kUsers = 50e6;
constexpr double kConnected = 10e6;
constexpr double kSecondsADay = 86'400;
constexpr std::uint64_t kSessionsADay = 20;
constexpr Millis kSession{9 * 60'000};  // 20 of them are 3 hours.
constexpr Millis kBeat{30'000};

struct Day {
    double rows = 0;
    double beats = 0;
};

/// One day of some people, 20 sessions of 9 minutes each; every other one ends without a word.
class People {
public:
    People(std::size_t count, std::uint64_t seed) : node_({}, seed), people_(count) {
        constexpr Millis kDay{86'400'000};
        const Millis apart = kDay / kSessionsADay;
        for (std::size_t at = 0; at < count; ++at) {
            people_[at].phone.user = UserId(fmt::format("u{}", at));
            const Millis first{static_cast<std::int64_t>(
                node_.random().below(static_cast<std::uint64_t>((apart - kSession).count())))};
            for (std::uint64_t i = 0; i < kSessionsADay; ++i) {
                node_.scheduler().after(first + apart * i,
                                        [this, at, i] { begin(people_[at], i % 2 == 0); });
            }
        }
        node_.run(kDay + 600s);
    }
    [[nodiscard]] Day day() {
        return {static_cast<double>(node_.counters().last_seen_written), beats_};
    }

private:
    struct Person {
        Phone phone;
        MonoTime until;
        bool says_goodbye = false;
    };

    void begin(Person& person, bool says_goodbye) {
        node_.attach(person.phone);
        person.until = node_.now() + kSession;
        person.says_goodbye = says_goodbye;
        beat_later(person);
    }
    void beat_later(Person& person) {
        node_.scheduler().after(kBeat, [this, &person] {
            if (node_.now() < person.until) {
                ++beats_;
                node_.beat(person.phone);
                beat_later(person);
            } else if (person.says_goodbye) {
                node_.leave(person.phone);
            }
        });
    }

    CoreNode node_;
    std::deque<Person> people_;
    double beats_ = 0;
};

Figure rate(std::string what, std::string theirs, double per_second, How how) {
    Figure figure{
        "Rows for the database: 50 M users, 10 M connected at peak, a beat every 30 s, "
        "20 sessions a day of 9 minutes",
        'A',
        std::move(what),
        std::move(theirs),
        fmt::format("{} rows/s", grouped(per_second)),
        how};
    figure.values = {{"rows_per_s", per_second}};
    return figure;
}

/// CPU of one heartbeat in the core of a node with so many sessions, in ns. All sessions beat in
/// turn, as they do where each beats every 30 s.
double heartbeat_ns(std::size_t sessions, std::uint64_t seed) {
    CoreNode node({}, seed);
    std::deque<Phone> phones(sessions);
    for (std::size_t at = 0; at < sessions; ++at) {
        phones[at].user = UserId(fmt::format("u{}", at));
        node.attach(phones[at]);
    }
    constexpr int kRounds = 20;
    const auto began = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round) {
        for (const Phone& phone : phones) {
            node.beat(phone);
        }
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    return took.count() / (kRounds * static_cast<double>(sessions));
}

}  // namespace

Figures database_writes(const Options& options) {
    const std::size_t count = options.quick ? 50 : 1'000;
    const Day day = People(count, options.seed).day();
    const double by_beat = day.beats / static_cast<double>(count) * kUsers / kSecondsADay;
    const double by_end = day.rows / static_cast<double>(count) * kUsers / kSecondsADay;
    Figures figures;
    figures.push_back(rate("last seen with each heartbeat, at peak", "333,000 a second",
                           kConnected / 30, How::computed));
    figures.push_back(rate("last seen with each heartbeat, average day (3 h online)",
                           "208,000 a second", kUsers * 3 * 3600 / 30 / kSecondsADay,
                           How::computed));
    figures.push_back(
        rate("heartbeats that reach the core, average day", "-", by_beat, How::simulated));
    figures.back().ours = grouped(by_beat) + "/s";
    figures.push_back(rate("last seen with each end of a session, average day",
                           "about 11,600 a second", by_end, How::simulated));
    Figure& ends = figures.back();
    ends.holds = day.rows == static_cast<double>(count * kSessionsADay);
    ends.values.emplace_back("rows_per_session",
                             day.rows / static_cast<double>(count * kSessionsADay));
    Figure times{ends.part,
                 'A',
                 "how many times fewer",
                 "about 18",
                 fmt::format("{:.1f}", kUsers * 3 * 3600 / 30 / kSecondsADay / by_end),
                 How::simulated};
    times.values = {{"times", kUsers * 3 * 3600 / 30 / kSecondsADay / by_end}};
    figures.push_back(std::move(times));
    return figures;
}

Figures heartbeat_rates(const Options& options) {
    const std::size_t sessions = options.quick ? 5'000 : 200'000;
    const double ns = heartbeat_ns(sessions, options.seed);
    struct Crowd {
        char text;
        const char* what;
        const char* theirs;
        Rate rate;
    };
    const char* const part =
        "Heartbeats: writes to Redis for the texts, a store to the node's memory for presenced";
    Figures figures;
    Figure cost{part,
                '-',
                fmt::format("one heartbeat in the core, {} sessions",
                            grouped(static_cast<double>(sessions))),
                "-",
                fmt::format("{:.0f} ns", ns),
                How::measured};
    cost.values = {{"ns", ns}};
    figures.push_back(std::move(cost));
    for (const Crowd& crowd :
         {Crowd{'C', "1 M devices, every 15 s", "about 67,000 writes/s", {1e6, 15}},
          Crowd{'C', "1 M devices, every 5 s", "200,000 writes/s", {1e6, 5}},
          Crowd{'A', "10 M devices, every 30 s", "333,000 writes/s", {10e6, 30}},
          Crowd{'B', "50 M devices, every 30 s", "about 1.7 M writes/s", {50e6, 30}},
          Crowd{'B', "50 M devices, every 15 s", "3.4 M writes/s", {50e6, 15}},
          Crowd{'C', "100,000 people who poll every 10 s", "10,000 requests/s", {1e5, 10}}}) {
        const double rate = crowd.rate.per_second();
        Figure figure{
            part,
            crowd.text,
            crowd.what,
            crowd.theirs,
            fmt::format("{}/s; {:.0f} ms of the core a second", grouped(rate), rate * ns / 1e6),
            How::computed};
        figure.values = {{"per_s", rate}, {"core_ms_per_s", rate * ns / 1e6}};
        figures.push_back(std::move(figure));
    }
    return figures;
}

}  // namespace presence::seeds
