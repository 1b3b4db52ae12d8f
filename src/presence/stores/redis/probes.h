#pragma once

#include "presence/base/clock.h"
#include "presence/base/ids.h"
#include "presence/base/scheduler.h"
#include "presence/base/time.h"
#include "presence/stores/redis/keys.h"

#include <cstdint>
#include <vector>

namespace presence::redis {

/// Finds out partitions whose channels have gone deaf without anybody saying so (DESIGN rule 35,
/// RULINGS 16). Each partition's channel carries a probe every `every`; a node that has heard
/// nothing there for `missing` has lost its subscriptions.
///
/// Who sends needs no agreement: each node waits a little longer after the last probe than `every`,
/// by its rank in a hash of partition and node, and whoever's time comes first sends; the others
/// hear it and start anew. So one node sends for each partition, the same one while it lives, the
/// next one at once when it does not, and the partitions are spread over the nodes. The store's
/// thread.
class Probes {
public:
    class Sink {
    public:
        virtual ~Sink() = default;
        virtual void send_probe(std::uint32_t partition) = 0;
        /// Told once for each `missing` of silence.
        virtual void on_silence(std::uint32_t partition) = 0;
    };

    Probes(Scheduler& scheduler, const Clock& clock, const Keys& keys, std::uint64_t seed,
           Millis every, Millis missing, Sink& sink);
    ~Probes();
    Probes(const Probes&) = delete;
    Probes& operator=(const Probes&) = delete;

    void heard(std::uint32_t partition);

private:
    struct Line {
        MonoTime heard;  ///< Or began to listen, or told of silence.
        MonoTime send_at;
        Millis handicap{0};
    };

    void tick();

    Scheduler& scheduler_;
    const Clock& clock_;
    Millis every_;
    Millis missing_;
    Sink& sink_;
    std::vector<Line> lines_;
    Scheduler::TimerId timer_{};
};

}  // namespace presence::redis
