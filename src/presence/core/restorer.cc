#include "presence/core/restorer.h"

#include "presence/base/log.h"

#include <algorithm>

namespace presence {

namespace {
constexpr Millis kBetweenTries{1000};
/// Profiles read in one go, so that a start with many does not read them one by one.
constexpr std::size_t kUsersAtOnce = 500;
}  // namespace

Task<bool> Restorer::restore(std::vector<Left> left, WallTime last_alive) {
    std::vector<Left> again = co_await try_once(std::move(left), last_alive);
    waiting_ = again.size();
    if (again.empty()) {
        co_return true;
    }
    log::warning("restore_waits", "{} users wait for a store that is away", again.size());
    scheduler_.after(kBetweenTries, [this, again = std::move(again), last_alive]() mutable {
        try_later(std::move(again), last_alive);
    });
    co_return false;
}

Detached Restorer::try_later(std::vector<Left> left, WallTime last_alive) {
    std::vector<Left> again = co_await try_once(std::move(left), last_alive);
    waiting_ = again.size();
    if (again.empty()) {
        log::info("restore_done", "all users of the life before are restored");
        co_return;
    }
    scheduler_.after(kBetweenTries, [this, again = std::move(again), last_alive]() mutable {
        try_later(std::move(again), last_alive);
    });
}

Task<std::vector<Restorer::Left>> Restorer::try_once(std::vector<Left> left, WallTime last_alive) {
    std::vector<Left> again;
    for (std::size_t from = 0; from < left.size(); from += kUsersAtOnce) {
        const std::size_t to = std::min(left.size(), from + kUsersAtOnce);
        std::vector<UserId> users;
        for (std::size_t i = from; i < to; ++i) {
            users.push_back(left[i].user);
        }
        const std::vector<ProfileAnswer> answers = co_await profiles_.get(std::move(users));
        for (std::size_t i = from; i < to; ++i) {
            bool restored = false;
            if (answers[i - from].known) {
                UserId user = left[i].user;
                std::vector<Session> sessions = left[i].sessions;
                restored =
                    co_await service_.restore(std::move(user), std::move(sessions), last_alive);
            }
            if (!restored) {
                again.push_back(std::move(left[i]));
            }
        }
    }
    co_return again;
}

}  // namespace presence
