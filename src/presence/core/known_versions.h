#pragma once

#include "presence/base/ids.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/model/presence.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace presence {

/// The newest versions of the users whom a thread has lately read or heard of in the shared store.
/// While that is away `unknown` carries them on every road, also where no watch remembers what its
/// viewer was told (DESIGN rule 30). One thread.
class KnownVersions {
public:
    KnownVersions(const Limits& limits, CoreCounters& counters)
        : limits_(limits), counters_(counters) {}

    void note(const UserId& user, const Presence& presence) {
        // Two generations: the young take the place of the old once they are half of all.
        if (young_.size() >= std::max<std::size_t>(limits_.known_versions / 2, 1)) {
            counters_.known_versions_dropped += old_.size();
            old_ = std::exchange(young_, {});
        }
        ToldVersions& known = young_[key_of(user)];
        known.own = std::max(known.own, presence.own_version);
        known.shown = std::max(known.shown, presence.shown_version);
    }
    /// Nothing where the user is not known, or has not been for long.
    [[nodiscard]] ToldVersions find(const UserId& user) const {
        ToldVersions known;
        for (const Generation* const generation : {&young_, &old_}) {
            const auto found = generation->find(key_of(user));
            if (found != generation->end()) {
                known.own = std::max(known.own, found->second.own);
                known.shown = std::max(known.shown, found->second.shown);
            }
        }
        return known;
    }

private:
    /// Of two users with one hash the higher version stands for both, which is no harm.
    using Generation = boost::unordered_flat_map<std::uint64_t, ToldVersions>;

    [[nodiscard]] static std::uint64_t key_of(const UserId& user) { return IdHash{}(user); }

    const Limits& limits_;
    CoreCounters& counters_;
    Generation young_;
    Generation old_;
};

}  // namespace presence
