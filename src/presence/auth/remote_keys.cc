#include "presence/auth/remote_keys.h"

#include "presence/auth/limits.h"
#include "presence/base/log.h"

#include <algorithm>
#include <utility>

namespace presence::auth {

namespace {

constexpr Millis kFirstRetry{1'000};
constexpr Millis kLastRetry{60'000};

}  // namespace

RemoteKeys::RemoteKeys(std::string url, Millis refresh, const Clock& clock, Fetch fetch)
    : url_(std::move(url)),
      refresh_(refresh),
      clock_(clock),
      fetch_(std::move(fetch)),
      thread_([this] { run(); }) {}

RemoteKeys::~RemoteKeys() {
    stop();
}

void RemoteKeys::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

std::shared_ptr<const KeySet> RemoteKeys::keys() const {
    const std::lock_guard lock(mutex_);
    return keys_;
}

bool RemoteKeys::has_loaded() const {
    const std::lock_guard lock(mutex_);
    return has_loaded_;
}

bool RemoteKeys::ask_locked() {
    if (stop_) {
        return false;
    }
    if (is_wanted_ || is_running_) {
        return true;
    }
    const MonoTime now = clock_.now();
    if (asked_ && now - *asked_ < kUnknownKeyPause) {
        return false;
    }
    asked_ = now;
    is_wanted_ = true;
    wake_.notify_all();
    return true;
}

bool RemoteKeys::ask() {
    const std::lock_guard lock(mutex_);
    return ask_locked();
}

bool RemoteKeys::ask(UniqueFunction<void()> then) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMaxWaiting || !ask_locked()) {
        return false;
    }
    waiting_.push_back(std::move(then));
    return true;
}

void RemoteKeys::run() {
    Millis retry = kFirstRetry;
    std::unique_lock lock(mutex_);
    while (!stop_) {
        is_wanted_ = false;
        is_running_ = true;
        lock.unlock();
        const bool fetched = fetch_once();
        lock.lock();
        is_running_ = false;
        auto waiting = std::exchange(waiting_, {});
        lock.unlock();
        for (auto& then : waiting) {
            then();
        }
        lock.lock();
        const Millis pause = fetched ? refresh_ : std::min(retry, refresh_);
        retry = fetched ? kFirstRetry : std::min(retry * 2, kLastRetry);
        wake_.wait_for(lock, pause, [this] { return stop_ || is_wanted_; });
    }
    auto waiting = std::exchange(waiting_, {});
    lock.unlock();
    for (auto& then : waiting) {
        then();
    }
}

bool RemoteKeys::fetch_once() {
    const auto fail = [this](const Error& error) {
        ++failures_;
        log::warning("key_set_not_fetched", "{}: {}; the keys at hand stay in force",
                     log::quoted(url_), error.message);
        return false;
    };
    ++fetches_;
    const auto text = fetch_(url_, stop_);
    if (!text) {
        return fail(text.error());
    }
    auto keys = parse_key_set(*text, false);
    if (!keys) {
        return fail(keys.error());
    }
    if (keys->size() == 0) {
        return fail(Error{.code = ErrorCode::unavailable, .message = "it holds no usable key"});
    }
    log::info("key_set_fetched", "{}: {} keys", log::quoted(url_), keys->size());
    const std::lock_guard lock(mutex_);
    keys_ = std::make_shared<KeySet>(*std::move(keys));
    has_loaded_ = true;
    return true;
}

}  // namespace presence::auth
