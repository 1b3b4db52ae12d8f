// Who is told of a change, and how often that happens.

#include "core_node.h"
#include "parts.h"

#include <fmt/format.h>

#include <deque>

namespace presence::seeds {

namespace {

constexpr double kContacts = 300;
constexpr double kOnline = 60;
constexpr std::size_t kWatching = 5;
constexpr std::size_t kChanges = 2'000;
constexpr const char* kPart =
    "Audience: 300 contacts, 60 of them online, 5 watching; 2,000 changes a second";

/// Deliveries of one second: each of `kChanges` people changes once, each has `kContacts` contacts
/// of whom `kOnline` are connected, and `kWatching` of these look.
double delivered_in_a_second(std::uint64_t seed) {
    constexpr std::size_t kViewers = 500;
    CoreNode node({}, seed);
    std::deque<Phone> people(kChanges);
    std::deque<Phone> viewers(kViewers);
    for (std::size_t at = 0; at < kChanges; ++at) {
        people[at].user = UserId(fmt::format("u{}", at));
        node.attach(people[at]);
    }
    for (std::size_t at = 0; at < kViewers; ++at) {
        viewers[at].user = UserId(fmt::format("v{}", at));
        node.attach(viewers[at]);
    }
    for (std::size_t at = 0; at < kViewers; ++at) {
        std::vector<UserId> watched;
        for (std::size_t i = 0; i < kChanges * kWatching / kViewers; ++i) {
            // Each is watched by as many: 101 i takes each remainder of 4 equally often.
            watched.push_back(people[(4 * at + 101 * i) % kChanges].user);
        }
        node.watch(viewers[at], std::move(watched));
    }
    node.run(5s);
    double told = 0;
    node.on_told = [&told](const UserId&, Status) { ++told; };
    for (const Phone& person : people) {
        const Millis at{static_cast<std::int64_t>(node.random().below(1'000))};
        node.scheduler().after(at, [&node, &person] { node.declare_busy(person.user); });
    }
    node.run(2s);
    return told;
}

Figure row(char text, std::string part, std::string what, std::string theirs, double per_second,
           How how) {
    Figure figure{std::move(part),
                  text,
                  std::move(what),
                  std::move(theirs),
                  fmt::format("{} deliveries/s", grouped(per_second)),
                  how};
    figure.values = {{"deliveries_per_s", per_second}};
    return figure;
}

}  // namespace

Figures audience(const Options& options) {
    Figures figures;
    figures.push_back(
        row('A', kPart, "to all contacts", "300 x 2,000", kContacts * kChanges, How::computed));
    figures.push_back(row('A', kPart, "to contacts who are online", "60 x 2,000",
                          kOnline * kChanges, How::computed));
    const double told = delivered_in_a_second(options.seed);
    figures.push_back(row('A', kPart, "to those who watch: what presenced does", "5 x 2,000", told,
                          How::simulated));
    figures.back().holds = told == static_cast<double>(kWatching * kChanges);
    const char* const part = "Audience: 150 contacts; 100 M changes a day, 5,000 a second at peak";
    constexpr double kChangesADay = 100e6;
    constexpr double kSecondsADay = 86'400;
    Figure average{part,
                   'B',
                   "changes a second, on average",
                   "about 1,200",
                   fmt::format("{:.0f}", kChangesADay / kSecondsADay),
                   How::computed};
    average.values = {{"changes_per_s", kChangesADay / kSecondsADay}};
    figures.push_back(std::move(average));
    figures.push_back(row('B', part, "to all contacts at peak", "750,000 a second", 150 * 5'000.0,
                          How::computed));
    figures.push_back(
        row('B', part, "to 5 who watch", "\"actively watching\" only", 5 * 5'000.0, How::computed));
    return figures;
}

}  // namespace presence::seeds
