#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"
#include "presence/base/unique_function.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace presence::webhooks {

/// One POST.
struct Request {
    std::string url;
    std::vector<std::string> headers;  ///< "name: value"
    std::string body;
    bool allow_http = false;     ///< Plain http, too.
    bool allow_private = false;  ///< Addresses that are not of the open internet, too.
};

struct Response {
    int status = 0;     ///< 0: there was no answer.
    std::string error;  ///< Why not.
};

/// A thread's loop for HTTP calls by libcurl, and for flows that make them: it is a Scheduler, too.
/// Redirects are not followed, no proxy is used, what the receiver says beyond the status is read
/// up to a limit and thrown away. The address that is really connected to is checked, so that a
/// name that resolves to another one by then gains nothing.
class CurlLoop final : public Scheduler {
public:
    explicit CurlLoop(const Clock& clock);
    CurlLoop(const CurlLoop&) = delete;
    CurlLoop& operator=(const CurlLoop&) = delete;
    ~CurlLoop() override;

    void post(Work work) override;
    TimerId after(Millis delay, Work work) override;
    void cancel(TimerId timer) override;

    /// Runs until stop(), then drops what is under way: callbacks of these are not called. The
    /// loop's thread is the caller's.
    void run();
    /// Any thread.
    void stop();

    using Then = UniqueFunction<void(Response)>;
    /// The loop's thread. `then` is called on it, later.
    void send(Request request, Then then);

    static constexpr Millis kConnectTimeout{5'000};
    static constexpr Millis kTimeout{10'000};
    static constexpr std::size_t kMostAnswerBytes = 64 * 1024;

private:
    struct Transfer;
    struct Multi;

    void run_posted();
    void run_due();
    void collect();
    [[nodiscard]] Millis until_next() const;

    const Clock& clock_;
    std::unique_ptr<Multi> multi_;
    std::map<void*, std::unique_ptr<Transfer>> transfers_;
    std::map<std::pair<MonoTime, std::uint64_t>, Work> timers_;
    std::uint64_t armed_ = 0;
    std::atomic<bool> stopping_ = false;
    std::mutex mutex_;  ///< Guards what follows.
    std::vector<Work> posted_;
};

}  // namespace presence::webhooks
