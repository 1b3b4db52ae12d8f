#include "presence/stores/redis/probes.h"

#include <string>

namespace presence::redis {

namespace {
constexpr Millis kTick{50};
/// The most that a node waits longer than `every`. Enough that the second in rank hears the probe
/// of the first before its own time comes.
constexpr std::uint64_t kMostHandicapMs = 500;
}  // namespace

Probes::Probes(Scheduler& scheduler, const Clock& clock, const Keys& keys, std::uint64_t seed,
               Millis every, Millis missing, Sink& sink)
    : scheduler_(scheduler), clock_(clock), every_(every), missing_(missing), sink_(sink) {
    const MonoTime now = clock_.now();
    for (std::uint32_t partition = 0; partition < keys.partitions(); ++partition) {
        const std::uint64_t rank = stable_hash(keys.tag(partition) + std::to_string(seed));
        const Millis handicap{static_cast<std::int64_t>(rank % kMostHandicapMs)};
        // The first ones come spread over a period.
        const Millis phase{static_cast<std::int64_t>(rank / kMostHandicapMs %
                                                     static_cast<std::uint64_t>(every_.count()))};
        lines_.push_back({now, now + phase, handicap});
    }
    timer_ = scheduler_.after(kTick, [this] { tick(); });
}

Probes::~Probes() {
    scheduler_.cancel(timer_);
}

void Probes::heard(std::uint32_t partition) {
    Line& line = lines_[partition];
    line.heard = clock_.now();
    line.send_at = line.heard + every_ + line.handicap;
}

void Probes::tick() {
    const MonoTime now = clock_.now();
    for (std::uint32_t partition = 0; partition < lines_.size(); ++partition) {
        Line& line = lines_[partition];
        if (line.send_at <= now) {
            line.send_at = now + every_ + line.handicap;
            sink_.send_probe(partition);
        }
        if (now - line.heard >= missing_) {
            line.heard = now;
            sink_.on_silence(partition);
        }
    }
    timer_ = scheduler_.after(kTick, [this] { tick(); });
}

}  // namespace presence::redis
