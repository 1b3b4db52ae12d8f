#pragma once

#include "presence/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace presence {

/// When this thread itself was stopped: SIGSTOP, a paused machine, a stalled loop. Silence is
/// counted without those times, so nobody is taken for dead because we did not listen (DESIGN
/// rule 5). One thread.
class StallLog {
public:
    /// @param longest_normal  A gap between two ticks up to this is no stall.
    explicit StallLog(MonoTime start, Millis longest_normal = Millis{400})
        : last_tick_(start), longest_normal_(longest_normal) {}

    /// Called on every tick. True: the gap since the last one was a stall, which is now noted; what
    /// the sockets hold must be read before anybody is expired.
    bool tick(MonoTime now) {
        const Millis gap = now - last_tick_;
        const bool stalled = gap > longest_normal_;
        if (stalled) {
            stalls_[next_ % stalls_.size()] = {last_tick_, now};
            ++next_;
        }
        last_tick_ = now;
        return stalled;
    }

    /// How long something last heard at `heard` has been silent while we listened.
    [[nodiscard]] Millis silence(MonoTime heard, MonoTime now) const {
        return (now - heard) - stalled_since(heard);
    }

    /// The moment at which silence(heard, moment) reaches `length`, as far as is known now.
    [[nodiscard]] MonoTime deadline(MonoTime heard, Millis length) const {
        return heard + length + stalled_since(heard);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return next_; }

private:
    struct Stall {
        MonoTime from;
        MonoTime to;
    };

    [[nodiscard]] Millis stalled_since(MonoTime heard) const {
        Millis total{0};
        for (const Stall& stall : stalls_) {
            if (stall.to > heard) {
                total += stall.to - (heard > stall.from ? heard : stall.from);
            }
        }
        return total;
    }

    MonoTime last_tick_;
    Millis longest_normal_;
    /// Older stalls than these lie before any ttl that matters: each takes the loop to begin again.
    std::array<Stall, 16> stalls_{};
    std::uint64_t next_ = 0;
};

}  // namespace presence
