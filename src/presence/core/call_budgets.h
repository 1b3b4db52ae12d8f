#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/core/limits.h"
#include "presence/core/token_bucket.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>

namespace presence {

/// How much each user may still call over HTTP. Kept on the user's home thread, so that a limit is
/// one for the node whichever threads the calls come in on. One thread.
class CallBudgets {
public:
    /// Users kept at once; beyond it those whose budget is full again are forgotten.
    static constexpr std::size_t kUsers = 10'000;

    /// One call.
    /// @retval ErrorCode::rate_limited  With when to try again.
    [[nodiscard]] Result<bool> take_call(const UserId& user, const Limits& limits, MonoTime now) {
        return take(budget_of(user, limits, now).calls, {limits.rest_per_second, limits.rest_burst},
                    now, 1, "too many calls");
    }

    /// `users` users looked up in one call.
    /// @retval ErrorCode::rate_limited  With when to try again.
    [[nodiscard]] Result<bool> take_lookups(const UserId& user, std::size_t users,
                                            const Limits& limits, MonoTime now) {
        return take(budget_of(user, limits, now).lookups,
                    {limits.lookups_per_second, limits.lookups_burst}, now,
                    std::min(static_cast<double>(users), limits.lookups_burst),
                    "too many users looked up");
    }

    [[nodiscard]] std::size_t size() const noexcept { return budgets_.size(); }

private:
    struct Budget {
        TokenBucket calls;
        TokenBucket lookups;
    };

    static Result<bool> take(TokenBucket& bucket, const TokenBucket::Rate& rate, MonoTime now,
                             double cost, const char* message) {
        if (bucket.take(rate, now, cost)) {
            return true;
        }
        return Error{ErrorCode::rate_limited, message, bucket.wait(rate, now, cost).count(), 0};
    }

    Budget& budget_of(const UserId& user, const Limits& limits, MonoTime now) {
        if (budgets_.size() >= kUsers && !budgets_.contains(user)) {
            make_room(limits, now);
        }
        return budgets_[user];
    }

    void make_room(const Limits& limits, MonoTime now) {
        const TokenBucket::Rate calls{limits.rest_per_second, limits.rest_burst};
        const TokenBucket::Rate lookups{limits.lookups_per_second, limits.lookups_burst};
        erase_if(budgets_, [&](auto& entry) {
            Budget& budget = entry.second;
            return budget.calls.wait(calls, now, calls.burst) == Millis{0} &&
                   budget.lookups.wait(lookups, now, lookups.burst) == Millis{0};
        });
        // So many callers at once are more than their budgets hold back.
        if (budgets_.size() > kUsers / 2) {
            budgets_.clear();
        }
    }

    boost::unordered_flat_map<UserId, Budget, IdHash, IdEqual> budgets_;
};

}  // namespace presence
