// How the hub finds out what it has not heard: probes, lives of partitions, gaps.

#include "presence/base/log.h"
#include "presence/stores/redis/bus_hub.h"
#include "presence/stores/redis/scripts.h"

#include <fmt/format.h>

namespace presence {

using redis::Command;
using redis::Reply;

namespace {
constexpr Millis kGather{50};
/// Each probe renews it, so it goes only where nobody is left who remembers it.
constexpr Millis kIncarnationStays = std::chrono::hours{48};
}  // namespace

void RedisBus::Hub::on_healed(std::uint32_t partition) {
    if (partition >= keys.partitions()) {
        return;  // This node's own channel: what was missed there the next commits find out.
    }
    ++counters.gaps;
    healed_.insert(partition);
    gather();
}

void RedisBus::Hub::shake(std::uint32_t partition) {
    // In that order: who is told of a loss finds it counted.
    const std::uint64_t losses = ++counters.shaken;
    lives_.shake(partition, losses);
    ++newly_shaken_;
    gather();
}

void RedisBus::Hub::gather() {
    if (!std::exchange(gathering_, true)) {
        store().after(kGather, [self = shared_from_this()] { self->tell_gathered(); });
    }
}

void RedisBus::Hub::tell_gathered() {
    gathering_ = false;
    if (const std::size_t shaken = std::exchange(newly_shaken_, 0); shaken > 0) {
        log::warning("redis_shaken", "{} partitions have a new life or another server", shaken);
    }
    const PartitionSet healed = std::exchange(healed_, PartitionSet(keys.partitions()));
    if (healed.size() == 0) {
        return;
    }
    log::info("redis_healed", "{} partitions are heard again", healed.size());
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
        deliver_soon(thread, [healed](Outlet& outlet) {
            if (outlet.gap) {
                outlet.gap(healed);
            }
        });
    }
}

void RedisBus::Hub::on_servers_changed() {
    for (std::uint32_t partition = 0; partition < keys.partitions(); ++partition) {
        std::string run_id = client_.run_id_of(keys.slot(partition));
        if (run_id.empty() || run_id == run_ids_[partition]) {
            continue;
        }
        if (!run_ids_[partition].empty()) {
            shake(partition);
        }
        run_ids_[partition] = std::move(run_id);
        send_probe(partition);  // In which life it is cannot wait for the next one's turn.
    }
}

void RedisBus::Hub::look_at_lives() {
    for (std::uint32_t partition = 0; partition < keys.partitions(); ++partition) {
        send_probe(partition);
    }
}

void RedisBus::Hub::note_life(std::uint32_t partition, const std::string& incarnation) {
    if (incarnation.empty() || lives_.is_in(partition, incarnation)) {
        return;
    }
    if (lives_.is_known(partition)) {
        shake(partition);
    }
    lives_.name(partition, incarnation);
}

void RedisBus::Hub::send_probe(std::uint32_t partition) {
    if (!client_.owner_of(keys.slot(partition))) {
        return;
    }
    ++counters.probes_sent;
    Command command;
    command.script = &redis::probe_script();
    command.slot = keys.slot(partition);
    command.arguments = {
        "1",
        keys.incarnation(partition),
        fmt::format("{:x}", store().clock().wall_now().ms()) + fmt::format("{:x}", seed_),
        std::to_string(kIncarnationStays.count()),
        keys.partition_channel(partition),
        redis::probe_head()};
    client_.execute(std::move(command), [self = shared_from_this(), partition](Result<Reply> life) {
        if (life) {
            self->note_life(partition, std::string(life->view().text()));
        }
    });
}

void RedisBus::Hub::on_silence(std::uint32_t partition) {
    ++counters.probes_missed;
    subscriber_->renew(partition);
}

}  // namespace presence
