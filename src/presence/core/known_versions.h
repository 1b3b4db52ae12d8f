#pragma once

#include "presence/base/ids.h"
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
    /// Users of a generation: the young take the place of the old once they are so many. Two
    /// generations are some 3 MB.
    static constexpr std::size_t kGeneration = 32'768;

    void note(const UserId& user, const Presence& presence) {
        if (young_.size() >= kGeneration) {
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

    Generation young_;
    Generation old_;
};

}  // namespace presence
