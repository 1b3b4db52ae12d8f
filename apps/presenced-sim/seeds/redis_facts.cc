// What a real Redis does with the keys of the usual scheme.

#include "presence/stores/redis/slots.h"

#include "expired_events.h"
#include "failure.h"
#include "parts.h"
#include "redis_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <thread>

namespace presence::seeds {

namespace {

using bench::RedisLink;
using bench::RedisTarget;

bool has_redis() {
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        std::error_code ignored;
        if (std::filesystem::exists(std::filesystem::path(rest.substr(0, end)) / "redis-server",
                                    ignored)) {
            return true;
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

Figure skipped(const char* what) {
    return {"A real Redis", 'A', what, "-", "no redis-server here", How::skipped};
}

Figure fact(std::string what, std::string theirs, std::string ours, bool holds) {
    return {"A real Redis: keys with a time to live",
            'A',
            std::move(what),
            std::move(theirs),
            std::move(ours),
            How::measured,
            holds};
}

Figures times_to_live(RedisLink& redis) {
    const auto ttl = [&](const char* key) { return redis.run({"TTL", key}); };
    Figures figures;
    redis.run({"SET", "presence:u42", "gw-7", "EX", "100"});
    const std::string set = ttl("presence:u42");
    figures.push_back(fact("TTL after SET ... EX 100", "100", set, set == "100" || set == "99"));
    const std::string none = ttl("presence:nobody");
    figures.push_back(fact("TTL of no key", "-2", none, none == "-2"));
    redis.run({"SET", "presence:u42", "gw-7", "EX", "30"});
    const std::string before = ttl("presence:u42");
    redis.run({"SET", "presence:u42", "gw-7"});
    const std::string after = ttl("presence:u42");
    figures.push_back(fact("TTL before and after a plain SET", "30, then -1",
                           before + ", then " + after, after == "-1"));
    redis.run({"HSET", "presence:h42", "gateway", "gw-7"});
    redis.run({"EXPIRE", "presence:h42", "30"});
    std::this_thread::sleep_for(1'100ms);
    redis.run({"HSET", "presence:h42", "gateway", "gw-8"});
    const std::string kept = ttl("presence:h42");
    redis.run({"EXPIRE", "presence:h42", "30"});
    const std::string renewed = ttl("presence:h42");
    figures.push_back(fact("TTL of a hash 1.1 s on, after HSET, then after EXPIRE 30",
                           "counts down, then 30", kept + ", then " + renewed,
                           (kept == "29" || kept == "28") && renewed == "30"));
    return figures;
}

Figures slots() {
    constexpr std::uint16_t kTheirs = 11'448;
    const RedisTarget target = RedisTarget::cluster();
    RedisLink redis(target.masters().back());  // Three masters share the slots out in order.
    const char* const part = "A real Redis: slots of a cluster of three masters";
    Figures figures;
    for (const char* const key : {"presence:{u42}:phone", "presence:{u42}:laptop"}) {
        const std::string theirs = redis.run({"CLUSTER", "KEYSLOT", key});
        const std::uint16_t ours = redis::slot_of(key);
        figures.push_back({part,
                           'A',
                           fmt::format("slot of {}, by Redis and by presenced", key),
                           std::to_string(kTheirs),
                           fmt::format("{}, {}", theirs, ours),
                           How::measured,
                           theirs == std::to_string(kTheirs) && ours == kTheirs,
                           {{"slot", static_cast<double>(ours)}}});
    }
    const auto answer = [&](const RedisLink::Words& words) {
        try {
            return redis.run(words).empty() ? std::string("nothing") : std::string("values");
        } catch (const bench::BenchFailure& failure) {
            const std::string_view said = failure.what();
            return said.find("CROSSSLOT") == std::string_view::npos ? std::string(said)
                                                                    : std::string("CROSSSLOT");
        }
    };
    const std::string apart = answer({"MGET", "presence:u42:phone", "presence:u42:laptop"});
    figures.push_back({part, 'A', "MGET of presence:u42:phone and presence:u42:laptop", "CROSSSLOT",
                       apart, How::measured, apart == "CROSSSLOT"});
    const std::string together = answer({"MGET", "presence:{u42}:phone", "presence:{u42}:laptop"});
    figures.push_back({part, 'A', "the same with the user in braces", "works", together,
                       How::measured, together == "values"});
    return figures;
}

/// A number of INFO.
double info(RedisLink& redis, const char* section, std::string_view field) {
    const std::string text = redis.run({"INFO", section});
    const std::size_t at = text.find(fmt::format("{}:", field));
    double value = 0;
    if (at != std::string::npos) {
        std::from_chars(text.data() + at + field.size() + 1, text.data() + text.size(), value);
    }
    return value;
}

double cpu_seconds(RedisLink& redis) {
    return info(redis, "cpu", "used_cpu_sys") + info(redis, "cpu", "used_cpu_user");
}

/// What one heartbeat of the usual scheme costs a Redis: `SET ... EX 100` and `ZADD`.
Figures heartbeat_costs(const RedisTarget& target, bool quick) {
    RedisLink redis(target.masters().front());
    redis.run({"FLUSHALL", "SYNC"});
    const std::size_t users = quick ? 2'000 : 50'000;
    const int rounds = quick ? 1 : 4;
    constexpr std::size_t kPipelined = 100;
    const double bytes_before = target.data_bytes();
    double bytes = 0;
    double cpu = 0;
    for (int round = 0; round < rounds; ++round) {
        const double before = cpu_seconds(redis);
        for (std::size_t at = 0; at < users; ++at) {
            const std::string user = fmt::format("user-{:07}", at);
            redis.append({"SET", "presence:" + user, "gw-7", "EX", "86400"});
            redis.append(
                {"ZADD", "presence:beats", fmt::format("17640000{:02}.{:06}", at % 30, at), user});
            for (std::size_t i = 0; (at + 1) % kPipelined == 0 && i < 2 * kPipelined; ++i) {
                redis.receive();
            }
        }
        cpu += cpu_seconds(redis) - before;
        bytes = (target.data_bytes() - bytes_before) / static_cast<double>(users);
    }
    const double us = cpu * 1e6 / (static_cast<double>(users) * rounds);
    const char* const part = "A real Redis: what the usual scheme costs it";
    Figures figures;
    figures.push_back({part,
                       'A',
                       "CPU of a heartbeat (SET EX, ZADD), 100 in a batch",
                       "-",
                       fmt::format("{:.2f} us", us),
                       How::measured,
                       {},
                       {{"us", us}}});
    figures.push_back({part,
                       'B',
                       "cores of Redis for 1.7 M such heartbeats a second",
                       "-",
                       fmt::format("{:.1f}", us * 50 / 30),
                       How::computed,
                       {},
                       {{"cores", us * 50 / 30}}});
    figures.push_back({part,
                       'B',
                       "memory of a user online",
                       "about 50 bytes",
                       fmt::format("{:.0f} bytes (SET EX and ZADD)", bytes),
                       How::measured,
                       {},
                       {{"bytes", bytes}}});
    figures.push_back({part,
                       'B',
                       "memory of 50 M users online",
                       "2.5 GB",
                       fmt::format("{:.1f} GB", bytes * 50e6 / 1e9),
                       How::computed,
                       {},
                       {{"gb", bytes * 50e6 / 1e9}}});
    return figures;
}

void add(Figures& all, Figures more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

}  // namespace

Figures redis_facts(const Options& options) {
    if (!options.redis || !has_redis()) {
        return {skipped("TTL after SET, a plain SET, HSET"), skipped("CROSSSLOT and slot 11448"),
                skipped("cost of a heartbeat"), skipped("lateness of expired events")};
    }
    Figures figures;
    {
        const RedisTarget target = RedisTarget::single();
        RedisLink redis(target.masters().front());
        add(figures, times_to_live(redis));
        add(figures, heartbeat_costs(target, options.quick));
    }
    add(figures, slots());
    add(figures, expired_events(options));
    return figures;
}

}  // namespace presence::seeds
