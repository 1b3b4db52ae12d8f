// How late a death is known: by Redis' expired events, and by the wheel of a node.

#include "expired_events.h"

#include "core_node.h"
#include "redis_target.h"
#include "statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <string_view>
#include <thread>

namespace presence::seeds {

namespace {

using bench::RedisLink;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kDying = 1'000;
constexpr Millis kWithin{1'000};  ///< All of them die within it.
/// So often it is asked what has come: no lateness is known better than that.
constexpr Millis kLook{10};

/// Seconds from each deadline to the moment at which it was known; of some it never was.
struct Lateness {
    std::vector<double> seconds;
    [[nodiscard]] double at(double part) const { return bench::percentile(seconds, part); }
};

/// Pipelined: `count` keys that live for an hour.
void write_others(RedisLink& redis, std::size_t count) {
    constexpr std::size_t kBatch = 1'000;
    for (std::size_t from = 0; from < count; from += kBatch) {
        const std::size_t until = std::min(count, from + kBatch);
        for (std::size_t at = from; at < until; ++at) {
            redis.append({"SET", fmt::format("session:{}", at), "x", "EX", "3600"});
        }
        for (std::size_t at = from; at < until; ++at) {
            redis.receive();
        }
    }
}

class ExpiredKeys {
public:
    ExpiredKeys()
        : target_(bench::RedisTarget::single()),
          writer_(target_.masters().front()),
          listener_(target_.masters().front()) {
        writer_.run({"CONFIG", "SET", "notify-keyspace-events", "Ex"});
        listener_.run({"SUBSCRIBE", "__keyevent@0__:expired"});
    }

    /// @param patience  So long after the last deadline is waited for what is missing.
    Lateness listen(std::size_t others, Millis patience) {
        Lateness before;  // Of keys that found_by_get made Redis look at.
        take_events(SteadyClock::now(), before);
        writer_.run({"FLUSHALL", "SYNC"});
        write_others(writer_, others);
        // Deadlines are counted from before the first SET, so none is called late too early.
        const auto began = SteadyClock::now();
        for (std::size_t at = 0; at < kDying; ++at) {
            writer_.append({"SET", fmt::format("presence:{}", at), "gw-7", "PX",
                            std::to_string(deadline_of(at).count())});
        }
        for (std::size_t at = 0; at < kDying; ++at) {
            writer_.receive();
        }
        Lateness late;
        const auto give_up = began + deadline_of(kDying) + patience;
        while (late.seconds.size() < kDying && SteadyClock::now() < give_up) {
            std::this_thread::sleep_for(kLook);
            take_events(began, late);
        }
        return late;
    }

    /// Keys whose deadline is long past, and of which Redis has not told: how many a GET finds.
    std::size_t found_by_get() {
        std::size_t found = 0;
        for (std::size_t at = 0; at < kDying; ++at) {
            found += writer_.run({"GET", fmt::format("presence:{}", at)}).empty() ? 0U : 1U;
        }
        return found;
    }

private:
    static Millis deadline_of(std::size_t at) {
        return Millis{1'000} +
               kWithin * static_cast<std::int64_t>(at) / static_cast<std::int64_t>(kDying);
    }
    /// Events that have come stand before the answer to a PING.
    void take_events(SteadyClock::time_point began, Lateness& late) {
        listener_.append({"PING"});
        while (true) {
            const std::string message = listener_.receive();
            if (message.starts_with("pong")) {
                return;
            }
            constexpr std::string_view kKey = "\npresence:";
            const std::size_t key = message.rfind(kKey);
            if (key == std::string::npos) {
                continue;
            }
            std::size_t at = 0;
            std::from_chars(message.data() + key + kKey.size(), message.data() + message.size(),
                            at);
            const std::chrono::duration<double> since =
                SteadyClock::now() - (began + deadline_of(at));
            late.seconds.push_back(std::max(since.count(), 0.0));
        }
    }

    bench::RedisTarget target_;
    RedisLink writer_;
    RedisLink listener_;
};

/// The same deaths in a node with as many other sessions, which beat.
Lateness sweep(std::size_t others, std::uint64_t seed) {
    constexpr Millis kInterval{30'000};
    constexpr Millis kTtl{100'000};
    CoreNode node({kInterval, kTtl, Millis{10'000}}, seed);
    std::deque<Phone> living(others);
    std::deque<Phone> dying(kDying);
    boost::unordered_flat_map<UserId, MonoTime, IdHash, IdEqual> deadlines;
    std::vector<UserId> users;
    for (std::size_t at = 0; at < others; ++at) {
        living[at].user = UserId(fmt::format("o{}", at));
        node.attach(living[at]);
    }
    for (std::size_t at = 0; at < kDying; ++at) {
        dying[at].user = UserId(fmt::format("u{}", at));
        users.push_back(dying[at].user);
    }
    node.subscribe(users);
    for (Phone& phone : dying) {
        node.attach(phone);
        deadlines[phone.user] = node.now() + kTtl;
        node.run(kWithin / kDying);
    }
    Lateness late;
    node.on_event = [&](const PresenceEvent& event) {
        if (event.presence.shown.status == Status::offline) {
            const Millis after = node.now() - deadlines.at(event.user);
            late.seconds.push_back(static_cast<double>(after.count()) / 1000);
        }
    };
    for (Millis past{0}; past < kTtl + 2 * kWithin; past += kInterval) {
        for (const Phone& phone : living) {
            node.beat(phone);
        }
        node.run(kInterval);
    }
    return late;
}

std::string words(const Lateness& late) {
    if (late.seconds.empty()) {
        return "none was told of";
    }
    return fmt::format("half in {:.2f} s, the last {:.2f} s late", late.at(0.5), late.at(1));
}

Figure row(std::string what, std::string theirs, const Lateness& late, How how) {
    Figure figure{
        "1,000 keys or sessions that end within a second: when that is known, among "
        "others that live on",
        'A',
        std::move(what),
        std::move(theirs),
        words(late),
        how};
    figure.values = {{"told", static_cast<double>(late.seconds.size())}};
    if (!late.seconds.empty()) {
        figure.values.emplace_back("p50_s", late.at(0.5));
        figure.values.emplace_back("last_s", late.at(1));
    }
    return figure;
}

}  // namespace

Figures expired_events(const Options& options) {
    struct Crowd {
        std::size_t others;
        const char* theirs;
    };
    ExpiredKeys keys;
    Figures figures;
    for (const Crowd& crowd :
         {Crowd{0, "-"}, Crowd{10'000, "-"}, Crowd{100'000, "gaps of several minutes"}}) {
        if (options.quick && crowd.others > 10'000) {
            break;
        }
        const std::string among =
            fmt::format("{} others", grouped(static_cast<double>(crowd.others)));
        const Lateness late = keys.listen(crowd.others, options.redis_patience);
        Figure told = row("expired events of Redis, " + among, crowd.theirs, late, How::measured);
        const std::size_t missing = kDying - late.seconds.size();
        const std::size_t found = keys.found_by_get();
        if (missing > 0) {
            told.ours += fmt::format("; {} not told of after {:.0f} s",
                                     grouped(static_cast<double>(missing)),
                                     static_cast<double>(options.redis_patience.count()) / 1000);
        }
        figures.push_back(std::move(told));
        figures.push_back({figures.back().part,
                           'A',
                           "keys that a GET still finds, " + among,
                           "reads were never late",
                           fmt::format("{}", found),
                           How::measured,
                           found == 0,
                           {{"found", static_cast<double>(found)}}});
        const Lateness ours = sweep(crowd.others, options.seed);
        Figure swept = row("sweep of presenced, " + among, "-", ours, How::simulated);
        swept.holds = ours.seconds.size() == kDying && ours.at(1) <= 0.5 && ours.at(0) >= 0;
        figures.push_back(std::move(swept));
    }
    return figures;
}

}  // namespace presence::seeds
