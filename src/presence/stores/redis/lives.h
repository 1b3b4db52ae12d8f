#pragma once

#include "presence/model/partition.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace presence::redis {

/// In which life each partition of the store is, as its probes tell, and since which loss of those
/// that the node has counted (Membership::losses). Written on the store's thread, read on any: so
/// that whoever reads records can tell whether they read after a loss of which they do not know.
class Lives {
public:
    explicit Lives(std::size_t partitions) : lives_(partitions) {}

    [[nodiscard]] bool is_known(std::uint32_t partition) const {
        return lives_[partition].name != 0;
    }
    [[nodiscard]] bool is_in(std::uint32_t partition, std::string_view name) const {
        return lives_[partition].name == stable_hash(name);
    }
    /// A probe has named the life of the partition.
    void name(std::uint32_t partition, std::string_view name) {
        lives_[partition].name = stable_hash(name);
    }
    /// The partition has another life than before, or another server, and what was written to it
    /// last may be lost.
    void shake(std::uint32_t partition, std::uint64_t losses) {
        lives_[partition].losses = losses;
        latest_ = losses > latest_ ? losses : latest_.load();
    }

    /// Losses counted so far.
    [[nodiscard]] std::uint64_t latest() const { return latest_; }
    /// Of how many losses one has to know to take for complete what was read beside `name`, the
    /// name of the partition's life (empty: it had none), and asked for when `latest` was the
    /// latest: the life that ended since, or began, was or will be counted as the next at least.
    [[nodiscard]] std::uint64_t losses_at(std::uint32_t partition, std::string_view name,
                                          std::uint64_t latest) const {
        const bool is_another = is_known(partition) && (name.empty() || !is_in(partition, name));
        return is_another ? latest + 1 : lives_[partition].losses.load();
    }

private:
    struct Life {
        std::atomic<std::uint64_t> name = 0;  ///< Its hash; 0: not heard yet.
        std::atomic<std::uint64_t> losses = 0;
    };

    std::vector<Life> lives_;
    std::atomic<std::uint64_t> latest_ = 0;
};

}  // namespace presence::redis
