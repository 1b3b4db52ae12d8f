// Devices that are called dead while they live.

#include "presence/core/timing_wheel.h"

#include "core_node.h"
#include "parts.h"

#include <fmt/format.h>

#include <utility>

namespace presence::seeds {

namespace {

constexpr double kLost = 0.02;
constexpr Millis kLongestWay{3'000};
constexpr Millis kInterval{30'000};
/// Beats that come within one step come at its end.
constexpr Millis kStep{10};

struct Flips {
    double beats = 0;
    double flips = 0;
    [[nodiscard]] double per_million() const { return flips / beats * 1e6; }
};

/// Living phones on a bad network. Events stand in a wheel of their own, since there are millions.
class BadNetwork {
public:
    BadNetwork(Millis ttl, bool answers_pings, std::size_t phones, std::uint64_t seed)
        : node_({kInterval, ttl, Millis{10'000}}, seed),
          answers_pings_(answers_pings),
          wheel_(kStep, node_.now()),
          phones_(phones) {
        for (std::uint32_t at = 0; at < phones; ++at) {
            phones_[at].user = UserId(fmt::format("u{}", at));
            node_.attach(phones_[at]);
            name_connection(at);
            const Millis phase{static_cast<std::int64_t>(
                node_.random().below(static_cast<std::uint64_t>(kInterval.count())))};
            wheel_.file({at, Event::send}, node_.now() + phase);
        }
        node_.on_closed = [this](SlotId connection) {
            phones_[phone_of_[connection.slot]].session = {};
        };
        node_.on_ping = [this](SlotId connection) { answer(phone_of_[connection.slot]); };
    }

    Flips play(double beats) {
        while (sent_ < beats) {
            node_.step(kStep);
            wheel_.advance(node_.now(),
                           [this](const Event& event, std::uint32_t) { happen(event); });
        }
        return {sent_, static_cast<double>(node_.counters().silent_deaths)};
    }

private:
    struct Event {
        enum Kind : std::uint32_t { send, arrive };
        std::uint32_t phone = 0;
        Kind kind = send;
    };

    void name_connection(std::uint32_t phone) {
        const std::uint32_t slot = phones_[phone].connection.slot;
        phone_of_.resize(std::max<std::size_t>(phone_of_.size(), slot + 1));
        phone_of_[slot] = phone;
    }
    [[nodiscard]] bool survives() { return part_of_one(node_.random()) >= kLost; }
    [[nodiscard]] Millis way() {
        return Millis{static_cast<std::int64_t>(
            node_.random().below(static_cast<std::uint64_t>(kLongestWay.count()) + 1))};
    }
    void happen(const Event& event) {
        if (event.kind == Event::send) {
            ++sent_;
            wheel_.file(event, node_.now() + kInterval);
            if (survives()) {
                wheel_.file({event.phone, Event::arrive}, node_.now() + way());
            }
            return;
        }
        Phone& phone = phones_[event.phone];
        if (phone.is_open()) {
            node_.beat(phone);
        } else {
            node_.attach(phone);
            name_connection(event.phone);
        }
    }
    /// The Ping and its Pong cross the same network.
    void answer(std::uint32_t phone) {
        if (answers_pings_ && survives() && survives()) {
            wheel_.file({phone, Event::arrive}, node_.now() + way() + way());
        }
    }

    CoreNode node_;
    bool answers_pings_;
    TimingWheel<Event> wheel_;
    std::vector<Phone> phones_;
    std::vector<std::uint32_t> phone_of_;  ///< By the slot of its connection.
    double sent_ = 0;
};

}  // namespace

Figures false_flips(const Options& options) {
    const double beats = options.quick ? 400'000 : 6'000'000;
    constexpr std::size_t kPhones = 4'000;
    const auto play = [&](int ttl_s, bool pings) {
        return BadNetwork(ttl_s * 1s, pings, kPhones, options.seed).play(beats);
    };
    const Flips exact = play(90, false);
    const Flips slack = play(100, false);
    const Flips pinged = play(90, true);
    const Flips ours = play(100, true);
    Figures figures;
    const auto add = [&](std::string what, std::string theirs, const Flips& flips) -> Figure& {
        Figure figure{fmt::format("False flips in {} beats every 30 s: 2 % lost, 0 to 3 s on the "
                                  "way (even)",
                                  grouped(beats)),
                      'A',
                      std::move(what),
                      std::move(theirs),
                      fmt::format("{} ({:.1f} in a million beats)", grouped(flips.flips),
                                  flips.per_million()),
                      How::simulated};
        figure.values = {{"beats", flips.beats}, {"flips", flips.flips}};
        figures.push_back(std::move(figure));
        return figures.back();
    };
    add("ttl 90 s: exactly three beats", "flips when two in a row are lost", exact);
    add("ttl 100 s: 10 s of slack", "about 25 times fewer", slack);
    Figure ratio{figures.back().part, 'A', "how many times fewer", "about 25", {}, How::simulated};
    ratio.ours = slack.flips > 0 ? fmt::format("{:.0f}", exact.flips / slack.flips)
                                 : fmt::format("more than {:.0f}", exact.flips);
    // Two lost and a late third, or three lost, over three lost: 0.98 / 2 / 0.02 + 1 = 25.5.
    ratio.holds = exact.flips > 10 * slack.flips;
    ratio.values = {{"times", exact.flips / std::max(slack.flips, 1.0)}};
    figures.push_back(std::move(ratio));
    add("90 s, and Pings at 60 % of it are answered", "-", pinged).holds =
        pinged.flips < exact.flips;
    add("100 s with Pings: what presenced does", "-", ours).holds = ours.flips <= slack.flips;
    return figures;
}

}  // namespace presence::seeds
