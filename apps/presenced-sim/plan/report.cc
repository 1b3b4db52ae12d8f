#include "report.h"

#include "seeds/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace presence::plan {

namespace {

using seeds::grouped;

/// Enough digits to compare, few enough to read.
std::string rounded(double value) {
    const double size = std::abs(value);
    if (size >= 100 || std::abs(value - std::round(value)) < 1e-9) {
        return grouped(value);
    }
    return size >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string percent(double part) {
    return fmt::format("{:.0f} %", part * 100);
}

/// Named numbers, aligned at their ends.
class Lines {
public:
    void add(std::string_view what, std::string value, std::string_view note = "") {
        lines_.push_back({std::string(what), std::move(value), std::string(note)});
    }
    [[nodiscard]] std::string text() const {
        std::size_t what = 0;
        std::size_t value = 0;
        for (const Line& line : lines_) {
            what = std::max(what, line.what.size());
            value = std::max(value, line.value.size());
        }
        std::string text;
        for (const Line& line : lines_) {
            text += fmt::format("  {:<{}}  {:>{}}{}{}\n", line.what, what, line.value, value,
                                line.note.empty() ? "" : "  ", line.note);
        }
        return text;
    }

private:
    struct Line {
        std::string what;
        std::string value;
        std::string note;
    };
    std::vector<Line> lines_;
};

std::string load_text(const Found& found) {
    const Load& load = found.plan.load;
    Lines lines;
    lines.add("devices connected", grouped(load.connected),
              fmt::format("{} on average over a day", grouped(load.connected_average)));
    lines.add("heartbeats", grouped(load.heartbeats) + "/s");
    lines.add("sessions that begin, and end", grouped(load.starts) + "/s");
    lines.add("connections lost that come back in time", grouped(load.drops) + "/s",
              "nobody is told");
    lines.add("changes that watchers are told", grouped(load.told) + "/s");
    lines.add("watchers of one user", rounded(load.watchers));
    lines.add("deliveries", grouped(load.deliveries) + "/s",
              fmt::format("to all {} contacts: {}/s", rounded(found.deployment.contacts),
                          grouped(load.deliveries_to_contacts)));
    lines.add("rows for the database", grouped(load.rows) + "/s",
              fmt::format("{}/s on average; with each heartbeat: {}/s", grouped(load.rows_average),
                          grouped(load.rows_by_heartbeat)));
    lines.add("commands of Redis for changes", grouped(load.commits + load.reads) + "/s");
    lines.add("records checked in Redis", grouped(load.checks) + "/s",
              "many in one command; heartbeats cost it none");
    lines.add("messages of Redis to nodes", grouped(load.messages) + "/s");
    return lines.text();
}

void add_tier(std::string& text, const Tier& tier) {
    text += fmt::format("  {:<14} {:<18} {:>11} {:<7} {:>12} {:>9} {:>7}\n", tier.name, "resource",
                        "need", "", "each gives", "machines", "used");
    for (const Need& need : tier.needs) {
        text += fmt::format(
            "  {:<14} {:<18} {:>11} {:<7} {:>12} {:>9} {:>7}{}\n", "", need.resource,
            rounded(need.need), need.unit, rounded(need.each), rounded(need.machines()),
            percent(tier.use_of(need)),
            &need == &tier.tightest() && tier.needs.size() > 1 ? "  <- decides how many" : "");
    }
}

std::string machines_text(const Found& found) {
    const Plan& plan = found.plan;
    std::string text;
    add_tier(text, plan.nodes);
    add_tier(text, plan.redis);
    add_tier(text, plan.database);
    const Plan::Fullest fullest = plan.bottleneck();
    text += fmt::format(
        "\n  {} nodes ({} that carry the peak, {} that may be gone) of {} cores, {} GB and {} "
        "Gbit/s;\n  {} Redis masters of {} GB, each with a replica; {}.\n"
        "  Bottleneck: {} of the {}, {} of what is meant to be used.\n",
        rounded(plan.nodes.working + plan.nodes.spare), rounded(plan.nodes.working),
        rounded(plan.nodes.spare), rounded(found.deployment.node_cores),
        rounded(found.deployment.node_memory_gb), rounded(found.deployment.node_gbit),
        rounded(plan.redis.working), rounded(found.deployment.shard_memory_gb),
        plan.database_suffices() ? "one database"
                                 : "MORE THAN ONE DATABASE CAN TAKE: ends of presences wait in "
                                   "memory, then in the spool",
        fullest.need->resource, fullest.tier->name, percent(fullest.tier->use_of(*fullest.need)));
    return text;
}

std::string courses_text(const Found& found) {
    std::string text = fmt::format("  {:<44} {:>16} {:>16}\n", "", "peak minute", "outage");
    const auto line = [&](std::string_view what, const std::string& peak,
                          const std::string& outage) {
        text += fmt::format("  {:<44} {:>16} {:>16}\n", what, peak, outage);
    };
    const auto both = [&](std::string_view what, double Course::*value, auto to_text) {
        line(what, to_text(found.peak.*value), to_text(found.outage.*value));
    };
    const auto ms = [](double value) { return fmt::format("{:.0f} ms", value); };
    const auto seconds = [](double value) { return fmt::format("{:.1f} s", value); };
    const auto rate = [](double value) { return grouped(value) + "/s"; };
    both("length", &Course::seconds, seconds);
    both("CPU of a node, mean", &Course::node_cpu_mean, percent);
    both("CPU of a node, worst second", &Course::node_cpu_worst, percent);
    both("longest wait for a core of a node", &Course::node_wait_ms, ms);
    both("CPU of a Redis master, mean", &Course::redis_cpu_mean, percent);
    both("CPU of a Redis master, worst second", &Course::redis_cpu_worst, percent);
    both("longest wait for a Redis master", &Course::redis_wait_ms, ms);
    both("network of a node, worst second, Gbit/s", &Course::node_gbit_worst, rounded);
    both("deliveries, worst second", &Course::deliveries_worst, rate);
    both("sign-ins of a node, worst second", &Course::sign_ins_worst, rate);
    both("rows for the database, worst second", &Course::rows_worst, rate);
    both("rows that wait for it, most", &Course::rows_waiting, grouped);
    both("longest wait of a row", &Course::rows_wait_s, seconds);
    line("devices that fall silent", "-", grouped(found.outage.silenced));
    line("of them shown offline", "-", grouped(found.outage.told_offline));
    line("the first of them, since it began", "-", seconds(found.outage.first_offline_s));
    line("the last of them", "-", seconds(found.outage.last_offline_s));
    line("connections over the rate of accepts", "-", grouped(found.outage.turned_away));
    line("the last device is back, since it began", "-", seconds(found.outage.last_back_s));
    return text;
}

template <class Of>
std::string fields_text(const Of& of, std::span<const Field<Of>> fields) {
    Lines lines;
    for (const Field<Of>& field : fields) {
        lines.add(fmt::format("--{}", field.name), fmt::format("{}", of.*field.value), field.what);
    }
    return lines.text();
}

template <class Of>
std::string fields_json(const Of& of, std::span<const Field<Of>> fields) {
    std::string json;
    for (const Field<Of>& field : fields) {
        json +=
            fmt::format("{}\"{}\":{:.9g}", json.empty() ? "" : ",", field.name, of.*field.value);
    }
    return "{" + json + "}";
}

std::string numbers_json(const std::vector<std::pair<std::string_view, double>>& numbers) {
    std::string json;
    for (const auto& [name, value] : numbers) {
        json += fmt::format("{}\"{}\":{}", json.empty() ? "" : ",", name,
                            std::isfinite(value) ? fmt::format("{:.6g}", value) : "null");
    }
    return "{" + json + "}";
}

std::string tier_json(const Tier& tier) {
    std::string needs;
    for (const Need& need : tier.needs) {
        needs += fmt::format(
            R"({}{{"resource":"{}","unit":"{}","need":{:.6g},"each":{:.6g},"machines":{:.6g}}})",
            needs.empty() ? "" : ",", need.resource, need.unit, need.need, need.each,
            need.machines());
    }
    return fmt::format(R"({{"tier":"{}","working":{:.0f},"spare":{:.0f},"needs":[{}]}})", tier.name,
                       tier.working, tier.spare, needs);
}

std::string load_json(const Load& load) {
    return numbers_json({{"connected", load.connected},
                         {"connected_average", load.connected_average},
                         {"heartbeats_per_s", load.heartbeats},
                         {"starts_per_s", load.starts},
                         {"drops_per_s", load.drops},
                         {"told_per_s", load.told},
                         {"watchers", load.watchers},
                         {"deliveries_per_s", load.deliveries},
                         {"deliveries_to_contacts_per_s", load.deliveries_to_contacts},
                         {"rows_per_s", load.rows},
                         {"rows_average_per_s", load.rows_average},
                         {"rows_by_heartbeat_per_s", load.rows_by_heartbeat},
                         {"commits_per_s", load.commits},
                         {"reads_per_s", load.reads},
                         {"checks_per_s", load.checks},
                         {"messages_per_s", load.messages},
                         {"wire_bytes_per_s", load.wire_bytes}});
}

std::string course_json(const Course& course) {
    return numbers_json({{"seconds", course.seconds},
                         {"node_cpu_mean", course.node_cpu_mean},
                         {"node_cpu_worst", course.node_cpu_worst},
                         {"node_wait_ms", course.node_wait_ms},
                         {"redis_cpu_mean", course.redis_cpu_mean},
                         {"redis_cpu_worst", course.redis_cpu_worst},
                         {"redis_wait_ms", course.redis_wait_ms},
                         {"node_gbit_worst", course.node_gbit_worst},
                         {"deliveries_worst_per_s", course.deliveries_worst},
                         {"sign_ins_worst_per_s", course.sign_ins_worst},
                         {"rows_worst_per_s", course.rows_worst},
                         {"rows_waiting", course.rows_waiting},
                         {"rows_wait_s", course.rows_wait_s},
                         {"silenced", course.silenced},
                         {"told_offline", course.told_offline},
                         {"first_offline_s", course.first_offline_s},
                         {"last_offline_s", course.last_offline_s},
                         {"turned_away", course.turned_away},
                         {"last_back_s", course.last_back_s}});
}

}  // namespace

std::string as_text(const Found& found) {
    return fmt::format(
        "What is asked\n{}\nLoad at the peak (computed)\n{}\nWhat it takes (computed from the "
        "costs below)\n{}\nHow it goes (simulated, one node event by event; outage: {} of the "
        "devices fall silent for {} s)\n{}\nCosts\n{}",
        fields_text(found.deployment, deployment_fields()), load_text(found), machines_text(found),
        percent(found.deployment.region_share), rounded(found.deployment.outage_s),
        courses_text(found), fields_text(found.costs, cost_fields()));
}

std::string as_json(const Found& found) {
    const Plan& plan = found.plan;
    const Plan::Fullest fullest = plan.bottleneck();
    return fmt::format(
        R"({{"deployment":{},"costs":{},"load":{},"tiers":[{},{},{}],)"
        R"("bottleneck":{{"tier":"{}","resource":"{}","used":{:.6g}}},"peak":{},"outage":{}}})",
        fields_json(found.deployment, deployment_fields()), fields_json(found.costs, cost_fields()),
        load_json(plan.load), tier_json(plan.nodes), tier_json(plan.redis),
        tier_json(plan.database), fullest.tier->name, fullest.need->resource,
        fullest.tier->use_of(*fullest.need), course_json(found.peak), course_json(found.outage));
}

}  // namespace presence::plan
