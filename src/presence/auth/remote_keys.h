#pragma once

#include "presence/auth/http_fetch.h"
#include "presence/auth/key_set.h"
#include "presence/base/clock.h"
#include "presence/base/unique_function.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace presence::auth {

/// A key set behind a URL, fetched on a thread of its own: at the start, now and then, and when
/// somebody comes with a key that is not in it. A failed fetch leaves the old set in force.
///
/// Any thread.
class RemoteKeys {
public:
    /// @param refresh  Time between two fetches that nobody asked for.
    RemoteKeys(std::string url, Millis refresh, const Clock& clock, Fetch fetch);
    ~RemoteKeys();
    RemoteKeys(const RemoteKeys&) = delete;
    RemoteKeys& operator=(const RemoteKeys&) = delete;

    /// Ends the thread; the keys stay. Those who wait are told first.
    void stop();

    [[nodiscard]] const std::string& url() const noexcept { return url_; }
    /// Never null; empty until the first fetch succeeded.
    [[nodiscard]] std::shared_ptr<const KeySet> keys() const;
    /// Whether a fetch has ever succeeded.
    [[nodiscard]] bool has_loaded() const;

    /// Asks for a fetch, which is heard at most once in kUnknownKeyPause.
    /// @return Whether one is now about to run or running.
    bool ask();

    /// Asks, and calls `then` on the fetching thread when the fetch is over.
    /// @return False: there is no fetch to wait for, `then` is not called.
    bool ask(UniqueFunction<void()> then);

    [[nodiscard]] std::uint64_t fetches() const noexcept { return fetches_.load(); }
    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_.load(); }

private:
    void run();
    bool fetch_once();
    [[nodiscard]] bool ask_locked();

    const std::string url_;
    const Millis refresh_;
    const Clock& clock_;
    const Fetch fetch_;

    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> fetches_ = 0;
    std::atomic<std::uint64_t> failures_ = 0;

    mutable std::mutex mutex_;  ///< Guards what follows.
    std::condition_variable wake_;
    std::shared_ptr<const KeySet> keys_ = std::make_shared<KeySet>();
    std::vector<UniqueFunction<void()>> waiting_;
    bool has_loaded_ = false;
    bool is_wanted_ = true;
    bool is_running_ = false;
    std::optional<MonoTime> asked_;  ///< When the last question was heard.

    std::thread thread_;  ///< Last: it uses all of the above.
};

}  // namespace presence::auth
