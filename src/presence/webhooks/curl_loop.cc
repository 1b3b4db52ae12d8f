#include "presence/webhooks/curl_loop.h"

#include "presence/base/assert.h"
#include "presence/webhooks/address_filter.h"

#include <algorithm>
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace presence::webhooks {

struct CurlLoop::Multi {
    CURLM* handle = curl_multi_init();
    ~Multi() { curl_multi_cleanup(handle); }
};

struct CurlLoop::Transfer {
    Transfer(Request made, Then told) : request(std::move(made)), then(std::move(told)) {}
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    ~Transfer() {
        curl_slist_free_all(headers);
        curl_easy_cleanup(easy);
    }

    Request request;
    Then then;
    CURL* easy = curl_easy_init();
    curl_slist* headers = nullptr;
    std::size_t answer_bytes = 0;
    bool refused_address = false;
};

namespace {

/// The one moment at which the address is known and nothing was sent yet.
template <class Transfer>
curl_socket_t open_socket(void* of, curlsocktype /*purpose*/, curl_sockaddr* address) {
    auto& transfer = *static_cast<Transfer*>(of);
    if (!transfer.request.allow_private && !is_public_address(address->addr)) {
        transfer.refused_address = true;
        return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

template <class Transfer>
std::size_t take_answer(char* /*bytes*/, std::size_t size, std::size_t count, void* of) {
    auto& transfer = *static_cast<Transfer*>(of);
    transfer.answer_bytes += size * count;
    return transfer.answer_bytes > CurlLoop::kMostAnswerBytes ? 0 : size * count;
}

}  // namespace

CurlLoop::CurlLoop(const Clock& clock) : clock_(clock) {
    static std::once_flag initialised;
    std::call_once(initialised, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    multi_ = std::make_unique<Multi>();
    PRESENCE_ASSERT(multi_->handle != nullptr);
}

CurlLoop::~CurlLoop() {
    for (const auto& [easy, transfer] : transfers_) {
        curl_multi_remove_handle(multi_->handle, easy);
    }
}

void CurlLoop::post(Work work) {
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(work));
    }
    curl_multi_wakeup(multi_->handle);
}

Scheduler::TimerId CurlLoop::after(Millis delay, Work work) {
    timers_.emplace(std::pair(clock_.now() + std::max(delay, Millis{0}), ++armed_),
                    std::move(work));
    return TimerId{armed_};
}

void CurlLoop::cancel(TimerId timer) {
    std::erase_if(timers_, [timer](const auto& one) { return one.first.second == timer.value; });
}

void CurlLoop::stop() {
    stopping_ = true;
    curl_multi_wakeup(multi_->handle);
}

void CurlLoop::run() {
    while (!stopping_) {
        run_posted();
        run_due();
        int running = 0;
        curl_multi_perform(multi_->handle, &running);
        collect();
        curl_multi_poll(multi_->handle, nullptr, 0, static_cast<int>(until_next().count()),
                        nullptr);
    }
    run_posted();
}

void CurlLoop::run_posted() {
    std::vector<Work> posted;
    {
        const std::lock_guard lock(mutex_);
        posted.swap(posted_);
    }
    for (Work& work : posted) {
        work();
    }
}

void CurlLoop::run_due() {
    const MonoTime now = clock_.now();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
        Work work = std::move(timers_.extract(timers_.begin()).mapped());
        work();
    }
}

Millis CurlLoop::until_next() const {
    constexpr Millis kMost{1'000};
    const Millis left = timers_.empty() ? kMost : timers_.begin()->first.first - clock_.now();
    return std::clamp(left, Millis{0}, kMost);
}

void CurlLoop::send(Request request, Then then) {
    auto made = std::make_unique<Transfer>(std::move(request), std::move(then));
    Transfer& transfer = *made;
    CURL* const easy = transfer.easy;
    PRESENCE_ASSERT(easy != nullptr);
    for (const std::string& header : transfer.request.headers) {
        transfer.headers = curl_slist_append(transfer.headers, header.c_str());
    }
    const Request& asked = transfer.request;
    curl_easy_setopt(easy, CURLOPT_URL, asked.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, asked.allow_http ? "http,https" : "https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");  // A proxy would connect where we may not.
    curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTimeout.count()));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(kTimeout.count()));
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, asked.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(asked.body.size()));
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "presenced/" PRESENCED_VERSION);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &open_socket<Transfer>);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &transfer);
    // A kept connection was checked by the rules of its time, which a reload may have changed.
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, asked.allow_private ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, asked.allow_private ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_answer<Transfer>);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    transfers_.emplace(easy, std::move(made));
    curl_multi_add_handle(multi_->handle, easy);
}

void CurlLoop::collect() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_->handle, &left)) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        const CURLcode code = message->data.result;
        const auto found = transfers_.find(message->easy_handle);
        curl_multi_remove_handle(multi_->handle, found->first);
        const std::unique_ptr<Transfer> over = std::move(found->second);
        transfers_.erase(found);
        long status = 0;
        curl_easy_getinfo(over->easy, CURLINFO_RESPONSE_CODE, &status);
        Response response;
        // An answer that was longer than anybody reads is an answer.
        if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0)) {
            response.status = static_cast<int>(status);
        } else {
            response.error = over->refused_address ? "its address is not one of the open internet"
                                                   : curl_easy_strerror(code);
        }
        over->then(std::move(response));
    }
}

}  // namespace presence::webhooks
