#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/core/limits.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace presence {

/// How many streams and waiting polls each user has, on whichever threads they are. Kept on the
/// user's home thread, so that the limit is one for the node. One thread.
class ReaderPlaces {
public:
    /// @retval ErrorCode::limit_exceeded  The user has as many as one may.
    [[nodiscard]] Result<bool> take(const UserId& user, const Limits& limits) {
        std::size_t& taken = taken_[user];
        if (taken >= limits.readers_per_user) {
            ++refused_;
            return Error{ErrorCode::limit_exceeded,
                         fmt::format("the user has {} streams and waiting polls, most is {}", taken,
                                     limits.readers_per_user),
                         0, static_cast<std::int64_t>(limits.readers_per_user)};
        }
        ++taken;
        return true;
    }

    /// A place that was taken is free again.
    void give_back(const UserId& user) {
        const auto found = taken_.find(user);
        if (found != taken_.end() && --found->second == 0) {
            taken_.erase(found);
        }
    }

    /// Users who have any.
    [[nodiscard]] std::size_t size() const noexcept { return taken_.size(); }
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

private:
    boost::unordered_flat_map<UserId, std::size_t, IdHash, IdEqual> taken_;
    std::uint64_t refused_ = 0;
};

}  // namespace presence
