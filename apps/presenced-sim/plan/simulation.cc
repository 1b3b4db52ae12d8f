#include "simulation.h"

#include "presence/base/random.h"
#include "presence/core/timing_wheel.h"
#include "presence/core/token_bucket.h"

#include "queue.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace presence::plan {

namespace {

/// One node with its devices, and its share of Redis and of the database.
class Node {
public:
    Node(const Deployment& of, const Costs& costs, const Plan& plan, std::uint64_t seed)
        : of_(of),
          costs_(costs),
          load_(plan.load),
          nodes_(plan.nodes.working),
          told_nodes_(nodes_told(nodes_, plan.load.watchers)),
          random_(seed),
          wheel_(kStep, now_, buckets_for(of)),
          cpu_(of.node_cores * 1e6 * kStepSeconds),
          // This node is one of so many that share a master.
          redis_(1e6 * kStepSeconds * plan.redis.working / nodes_),
          database_(of.database_rows * kStepSeconds / nodes_) {
        const auto count = static_cast<std::size_t>(std::llround(load_.connected / nodes_));
        devices_.resize(std::max<std::size_t>(count, 1));
        for (std::uint32_t at = 0; at < devices_.size(); ++at) {
            devices_[at].beat_at = now_;
            file_beat(at, between(0, of_.interval_s));
        }
    }

    void run(double seconds) {
        const int steps = static_cast<int>(seconds * kStepsASecond);
        for (int at = 0; at < steps; ++at) {
            step();
        }
    }
    void forget() {
        for (Queue* const queue : {&cpu_, &redis_, &database_}) {
            queue->forget();
        }
        for (Peak* const peak : {&deliveries_, &bytes_, &sign_ins_}) {
            peak->forget();
        }
        began_ = now_;
    }

    void begin_outage() {
        const MonoTime over = now_ + to_millis(of_.outage_s);
        outage_began_ = now_;
        for (std::uint32_t at = 0; at < devices_.size(); ++at) {
            if (devices_[at].state == State::connected && part() < of_.region_share) {
                ++silenced_;
                ++out_;
                devices_[at].in_outage = true;
                fall_silent(at);
                wheel_.file({at, devices_[at].life, What::comes_back},
                            over + to_millis(between(0, of_.return_s)));
            }
        }
    }
    [[nodiscard]] bool all_back() const { return out_ == 0; }

    [[nodiscard]] Course course() const {
        Course course;
        course.seconds = seconds_since(began_, now_);
        course.node_cpu_mean = cpu_.mean();
        course.node_cpu_worst = cpu_.worst();
        course.node_wait_ms = cpu_.longest_wait_s() * 1000;
        course.redis_cpu_mean = redis_.mean();
        course.redis_cpu_worst = redis_.worst();
        course.redis_wait_ms = redis_.longest_wait_s() * 1000;
        course.node_gbit_worst = bytes_.worst() * 8 / 1e9;
        course.deliveries_worst = deliveries_.worst() * nodes_;
        course.rows_worst = database_.worst_amount() * nodes_;
        course.rows_waiting = database_.most_waiting() * nodes_;
        course.rows_wait_s = database_.longest_wait_s();
        course.silenced = silenced_ * nodes_;
        course.told_offline = told_offline_ * nodes_;
        course.first_offline_s = first_offline_s_;
        course.last_offline_s = last_offline_s_;
        course.turned_away = turned_away_ * nodes_;
        course.last_back_s = last_back_s_;
        course.sign_ins_worst = sign_ins_.worst();
        return course;
    }

private:
    enum class State : std::uint8_t { connected, silent, away };
    enum class What : std::uint8_t { beats, dies, comes_back };
    struct Device {
        MonoTime beat_at;
        std::uint32_t life = 0;  ///< Grows with each change of state; what is filed names it.
        State state = State::connected;
        bool in_outage = false;
    };
    struct Item {
        std::uint32_t device = 0;
        std::uint32_t life = 0;
        What what = What::beats;
    };
    /// Nothing is filed further ahead than that.
    static std::size_t buckets_for(const Deployment& of) {
        const double ahead = std::max({of.ttl_s, 1.1 * of.interval_s, of.outage_s + of.return_s});
        return static_cast<std::size_t>(ahead * kStepsASecond) + 10 * kStepsASecond;
    }

    static Millis to_millis(double seconds) {
        return Millis{static_cast<std::int64_t>(seconds * 1000)};
    }
    static double seconds_since(MonoTime from, MonoTime to) {
        return static_cast<double>((to - from).count()) / 1000;
    }
    double part() { return static_cast<double>(random_.next() >> 11U) / 9'007'199'254'740'992.0; }
    double between(double from, double to) { return from + (to - from) * part(); }
    /// So many things that happen `per_second` on average happen in one step.
    int happen(double per_second) {
        const double mean = per_second * kStepSeconds;
        if (mean > 50) {  // Even enough to take it as normal.
            const double sum = part() + part() + part() + part() + part() + part() - 3;
            return std::max(0, static_cast<int>(std::lround(mean + sum * std::sqrt(2 * mean))));
        }
        const double least = std::exp(-mean);
        int count = 0;
        for (double product = part(); product > least; product *= part()) {
            ++count;
        }
        return count;
    }

    void step() {
        now_ = now_ + kStep;
        wheel_.advance(now_, [this](const Item& item, std::uint32_t) { visit(item); });
        for (int left = happen(load_.starts / nodes_); left > 0; --left) {
            start_somebody();
        }
        for (int left = happen(load_.starts / nodes_); left > 0; --left) {
            end_somebody();
        }
        for (int left = happen(load_.starts * of_.changes_per_session / nodes_); left > 0; --left) {
            cpu_.add(costs_.change_us);
            tell();
        }
        for (int left = happen(load_.drops / nodes_); left > 0; --left) {
            cpu_.add(costs_.change_us);
            redis_.add(costs_.redis_commit_us);
            sign_in();
            redis_.add(costs_.redis_commit_us);
        }
        cpu_.step();
        redis_.step();
        database_.step();
        if (++steps_ % kStepsASecond == 0) {
            database_.add(std::exchange(ended_, 0.0));
            for (Queue* const queue : {&cpu_, &redis_, &database_}) {
                queue->end_second();
            }
            for (Peak* const peak : {&deliveries_, &bytes_, &sign_ins_}) {
                peak->end_second();
            }
        }
    }

    void visit(const Item& item) {
        Device& device = devices_[item.device];
        if (device.life != item.life) {
            return;
        }
        switch (item.what) {
            case What::beats:
                device.beat_at = now_;
                cpu_.add(costs_.heartbeat_us);
                redis_.add(costs_.redis_check_us);  // Once an interval, like the beat.
                bytes_.add(costs_.heartbeat_wire);
                file_beat(item.device, of_.interval_s * between(0.9, 1.1));
                return;
            case What::dies:
                if (now_ < device.beat_at + to_millis(of_.ttl_s)) {
                    wheel_.file(item, device.beat_at + to_millis(of_.ttl_s));
                    return;
                }
                die(item.device);
                return;
            case What::comes_back:
                come_back(item);
                return;
        }
    }
    void file_beat(std::uint32_t device, double in_seconds) {
        wheel_.file({device, devices_[device].life, What::beats}, now_ + to_millis(in_seconds));
    }
    void fall_silent(std::uint32_t at) {
        Device& device = devices_[at];
        device.state = State::silent;
        ++device.life;
        wheel_.file({at, device.life, What::dies}, device.beat_at + to_millis(of_.ttl_s));
    }
    void die(std::uint32_t at) {
        devices_[at].state = State::away;
        if (devices_[at].in_outage) {
            ++told_offline_;
            last_offline_s_ = seconds_since(outage_began_, now_);
            first_offline_s_ = first_offline_s_ > 0 ? first_offline_s_ : last_offline_s_;
        } else {
            free_.push_back(at);
        }
        end_of_presence();
    }
    void come_back(const Item& item) {
        const TokenBucket::Rate rate{of_.accepts_per_s, 2 * of_.accepts_per_s};
        if (!accepts_.take(rate, now_)) {
            ++turned_away_;
            wheel_.file(item, now_ + to_millis(between(1, std::max(of_.return_s, 2.0))));
            return;
        }
        Device& device = devices_[item.device];
        const bool was_dead = device.state == State::away;
        device.in_outage = false;
        --out_;
        last_back_s_ = seconds_since(outage_began_, now_);
        connect(item.device);
        if (was_dead) {
            tell();
        } else {
            redis_.add(costs_.redis_commit_us);  // Resumed: nobody is told.
        }
    }
    void connect(std::uint32_t at) {
        Device& device = devices_[at];
        device.state = State::connected;
        device.beat_at = now_;
        ++device.life;
        sign_in();
        file_beat(at, of_.interval_s * between(0.9, 1.1));
    }
    void start_somebody() {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(devices_.size()));
            devices_.emplace_back();
        }
        const std::uint32_t at = free_.back();
        free_.pop_back();
        connect(at);
        tell();
    }
    void end_somebody() {
        // Nearly all are connected; where they are not, a few looks find one, or nobody ends.
        for (int look = 0; look < 20; ++look) {
            const auto at = static_cast<std::uint32_t>(random_.below(devices_.size()));
            if (devices_[at].state != State::connected) {
                continue;
            }
            if (part() < of_.silent_share) {
                fall_silent(at);
                return;
            }
            devices_[at].state = State::away;
            ++devices_[at].life;
            free_.push_back(at);
            end_of_presence();
            return;
        }
    }
    void end_of_presence() {
        ++ended_;
        cpu_.add(costs_.change_us);
        tell();
    }
    /// A change is committed, and those who watch are told.
    void tell() {
        redis_.add(costs_.redis_commit_us + told_nodes_ * costs_.redis_message_us);
        cpu_.add(load_.watchers * costs_.delivery_us);
        bytes_.add(load_.watchers * costs_.delivery_wire);
        deliveries_.add(load_.watchers);
    }
    void sign_in() {
        cpu_.add(costs_.sign_in_us);
        redis_.add(costs_.redis_read_us);
        bytes_.add(costs_.sign_in_wire);
        sign_ins_.add(1);
    }

    const Deployment& of_;
    const Costs& costs_;
    const Load& load_;
    double nodes_;
    double told_nodes_;
    SeededRandom random_;
    MonoTime now_{Millis{1'000'000}};
    MonoTime began_ = now_;
    TimingWheel<Item> wheel_;
    std::vector<Device> devices_;
    Queue cpu_;
    Queue redis_;
    Queue database_;
    Peak deliveries_;
    Peak bytes_;
    Peak sign_ins_;
    std::vector<std::uint32_t> free_;  ///< Away, and not by the outage.
    TokenBucket accepts_;
    int steps_ = 0;
    double ended_ = 0;  ///< Rows of this second, written at its end.

    MonoTime outage_began_;
    std::size_t out_ = 0;
    double silenced_ = 0;
    double told_offline_ = 0;
    double first_offline_s_ = 0;
    double last_offline_s_ = 0;
    double turned_away_ = 0;
    double last_back_s_ = 0;
};

/// Until those who fall silent at the usual rate die at the usual rate.
double run_in_seconds(const Deployment& deployment) {
    return deployment.ttl_s + 2 * deployment.interval_s;
}

constexpr double kMinute = 60;

}  // namespace

Course simulate_peak(const Deployment& deployment, const Costs& costs, const Plan& plan,
                     std::uint64_t seed) {
    Node node(deployment, costs, plan, seed);
    node.run(run_in_seconds(deployment));
    node.forget();
    node.run(kMinute);
    return node.course();
}

Course simulate_outage(const Deployment& deployment, const Costs& costs, const Plan& plan,
                       std::uint64_t seed) {
    Node node(deployment, costs, plan, seed);
    node.run(run_in_seconds(deployment));
    node.forget();
    node.begin_outage();
    // All have died or are back.
    node.run(std::max(deployment.outage_s + deployment.return_s,
                      deployment.ttl_s + deployment.interval_s));
    constexpr double kMostSeconds = 3'600;
    for (double waited = 0; !node.all_back() && waited < kMostSeconds; ++waited) {
        node.run(1);
    }
    node.run(kMinute);
    return node.course();
}

}  // namespace presence::plan
