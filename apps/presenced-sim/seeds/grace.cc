// What is announced of disconnects, by the length of the grace.

#include "core_node.h"
#include "parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

namespace presence::seeds {

namespace {

/// The text has no figures for it but "most back within 5 seconds, some within 30 seconds, the rest
/// gone for minutes or hours": 60 % even over 0.2 to 5 s, 20 % even over 5 to 30 s, 20 % from a
/// minute to three hours, even in the logarithm. So 36 % are away for longer than 10 s, 20 % than
/// 30 s.
Millis gap(Random& random) {
    const auto between = [&](double from, double to) {
        return from + (to - from) * part_of_one(random);
    };
    const double kind = part_of_one(random);
    const double seconds = kind < 0.6   ? between(0.2, 5)
                           : kind < 0.8 ? between(5, 30)
                                        : std::exp(between(std::log(60), std::log(10'800)));
    return Millis{static_cast<std::int64_t>(seconds * 1000)};
}

struct Announced {
    double count = 0;
    double late_s = 0;  ///< From a disconnect to its `offline`, at most.
};

/// Each phone loses its connection once and comes back; how long that takes is the same for all
/// lengths of the grace.
Announced play(Millis grace, std::size_t disconnects, std::uint64_t seed) {
    // Nobody beats: that is not what is counted. The longest gap is over before the ttl.
    CoreNode node({Millis{3'600'000}, 8 * Millis{3'600'000}, grace}, seed);
    SeededRandom gaps(seed);
    std::deque<Phone> phones(disconnects);
    std::vector<UserId> users;
    for (std::size_t at = 0; at < disconnects; ++at) {
        phones[at].user = UserId(fmt::format("u{}", at));
        node.attach(phones[at]);
        users.push_back(phones[at].user);
    }
    node.run(5s);  // What is told of the first connect is past.
    node.subscribe(users);
    Announced announced;
    boost::unordered_flat_map<UserId, MonoTime, IdHash, IdEqual> lost_at;
    node.on_event = [&](const PresenceEvent& event) {
        if (!event.tells_shown) {
            return;
        }
        ++announced.count;
        if (event.presence.shown.status == Status::offline) {
            const Millis late = node.now() - lost_at.at(event.user);
            announced.late_s = std::max(announced.late_s, static_cast<double>(late.count()) / 1000);
        }
    };
    constexpr std::uint64_t kWithinMs = 3'600'000;
    for (Phone& phone : phones) {
        const Millis away = gap(gaps);
        const Millis at{static_cast<std::int64_t>(gaps.below(kWithinMs))};
        node.scheduler().after(at, [&node, &lost_at, &phone, away] {
            lost_at[phone.user] = node.now();
            node.lose(phone);
            node.scheduler().after(away, [&node, &phone] { node.attach(phone); });
        });
    }
    node.run(4 * Millis{3'600'000} + 60s);
    return announced;
}

struct Row {
    int grace_s;
    double theirs;
    const char* words;
};

}  // namespace

Figures grace(const Options& options) {
    const std::size_t disconnects = options.quick ? 5'000 : 100'000;
    constexpr double kTheirDisconnects = 100'000;
    constexpr double kTolerance = 0.03;  // The text says "about", and chance has its part.
    Figures figures;
    for (const Row& row : {Row{0, 200'000, "200,000"}, Row{10, 72'000, "about 72,000"},
                           Row{30, 40'000, "about 40,000"}}) {
        const Announced found = play(row.grace_s * 1s, disconnects, options.seed);
        const double scaled = found.count * kTheirDisconnects / static_cast<double>(disconnects);
        Figure figure{
            "100,000 disconnects: 60 % back in 0.2-5 s, 20 % in 5-30 s, 20 % in 1 min-3 h",
            'A',
            fmt::format("announcements with {} s of grace", row.grace_s),
            row.words,
            fmt::format("{}; offline shows {:.2f} s late at most", grouped(scaled), found.late_s),
            How::simulated};
        const double tolerance = options.quick ? 3 * kTolerance : kTolerance;
        figure.holds = std::abs(scaled - row.theirs) <= tolerance * row.theirs &&
                       found.late_s <= row.grace_s + 0.5;
        figure.values = {{"announcements", scaled},
                         {"late_s", found.late_s},
                         {"disconnects", static_cast<double>(disconnects)}};
        figures.push_back(std::move(figure));
    }
    return figures;
}

}  // namespace presence::seeds
