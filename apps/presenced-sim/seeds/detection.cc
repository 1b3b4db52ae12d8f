// How long after a silent death the watchers are told.

#include "core_node.h"
#include "parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace presence::seeds {

namespace {

/// Between a death and the moment at which a watcher is told.
struct Window {
    double least_s = std::numeric_limits<double>::max();
    double most_s = 0;
    std::size_t told = 0;
};

struct Mortal {
    Phone phone;
    bool beats = true;
    MonoTime died;
};

/// Phones beat in time, each with a phase of its own, and die at random moments.
class Deaths {
public:
    Deaths(Millis interval, Millis ttl, std::size_t count, std::uint64_t seed)
        : interval_(interval), ttl_(ttl), node_({interval, ttl, Millis{10'000}}, seed) {
        node_.on_told = [this](const UserId& user, Status status) { told(user, status); };
        viewer_.phone.user = UserId("viewer");
        node_.attach(viewer_.phone);
        beat_later(viewer_);
        mortals_.resize(count);
        for (std::size_t at = 0; at < count; ++at) {
            Mortal& mortal = mortals_[at];
            mortal.phone.user = UserId(fmt::format("u{}", at));
            by_user_.emplace(mortal.phone.user, &mortal);
            node_.scheduler().after(random_part(interval_), [this, &mortal] {
                node_.attach(mortal.phone);
                beat_later(mortal);
            });
        }
    }

    Window play() {
        node_.run(interval_ + Millis{100});
        std::vector<UserId> users;
        for (const auto& [user, mortal] : by_user_) {
            users.push_back(user);
        }
        node_.watch(viewer_.phone, std::move(users));
        for (Mortal& mortal : mortals_) {
            node_.scheduler().after(random_part(5 * interval_), [this, &mortal] {
                mortal.beats = false;
                mortal.died = node_.now();
            });
        }
        node_.run(5 * interval_ + ttl_ + Millis{1'000});
        return window_;
    }

private:
    Millis random_part(Millis whole) {
        return Millis{static_cast<std::int64_t>(
            node_.random().below(static_cast<std::uint64_t>(whole.count())))};
    }
    void beat_later(Mortal& mortal) {
        node_.scheduler().after(interval_, [this, &mortal] {
            if (mortal.beats) {
                node_.beat(mortal.phone);
                beat_later(mortal);
            }
        });
    }
    void told(const UserId& user, Status status) {
        const Mortal& mortal = *by_user_.at(user);
        if (status != Status::offline) {
            return;
        }
        // One who is called dead while it lives would make the window negative.
        const Millis after = mortal.beats ? Millis{-1} : node_.now() - mortal.died;
        const double seconds = static_cast<double>(after.count()) / 1000;
        window_.least_s = std::min(window_.least_s, seconds);
        window_.most_s = std::max(window_.most_s, seconds);
        ++window_.told;
    }

    Millis interval_;
    Millis ttl_;
    CoreNode node_;
    Mortal viewer_;
    std::vector<Mortal> mortals_;
    std::map<UserId, Mortal*> by_user_;
    Window window_;
};

struct Timing {
    char text;
    int interval_s;
    int ttl_s;
    const char* theirs;
};

}  // namespace

Figures detection(const Options& options) {
    constexpr std::size_t kDeaths = 200;
    constexpr double kLateness = 0.5;  // HeartbeatConfig promises no more.
    Figures figures;
    for (const Timing& timing :
         {Timing{'A', 1, 3, "2.02 to 3.00 s"}, Timing{'A', 30, 100, "70 to 100 s"},
          Timing{'B', 30, 90, "two beats missed: 60 to 90 s"},
          Timing{'C', 15, 45, "up to 60 s (says the text)"}, Timing{'C', 10, 30, "-"}}) {
        const Window window =
            Deaths(timing.interval_s * 1s, timing.ttl_s * 1s, kDeaths, options.seed).play();
        Figure figure{"Silent death: from the death to the watcher who is told",
                      timing.text,
                      fmt::format("beat every {} s, ttl {} s, {} deaths", timing.interval_s,
                                  timing.ttl_s, kDeaths),
                      timing.theirs,
                      fmt::format("{:.2f} to {:.2f} s", window.least_s, window.most_s),
                      How::simulated};
        figure.holds = window.told == kDeaths &&
                       window.least_s >= timing.ttl_s - timing.interval_s &&
                       window.most_s <= timing.ttl_s + kLateness;
        figure.values = {{"least_s", window.least_s},
                         {"most_s", window.most_s},
                         {"told", static_cast<double>(window.told)}};
        figures.push_back(std::move(figure));
    }
    return figures;
}

}  // namespace presence::seeds
