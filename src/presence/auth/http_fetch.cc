#include "presence/auth/http_fetch.h"

#include "presence/auth/limits.h"

#include <fmt/format.h>

#include <curl/curl.h>
#include <memory>
#include <mutex>

namespace presence::auth {

namespace {

Error failed(std::string message) {
    return Error{.code = ErrorCode::unavailable, .message = std::move(message)};
}

struct EasyFree {
    void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};

std::size_t take(char* bytes, std::size_t size, std::size_t count, void* to) {
    auto& body = *static_cast<std::string*>(to);
    const std::size_t length = size * count;
    if (body.size() + length > kMaxKeySetBytes) {
        return 0;
    }
    body.append(bytes, length);
    return length;
}

int has_to_stop(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0;
}

}  // namespace

Result<std::string> fetch_by_http(const std::string& url, const std::atomic<bool>& stop) {
    static std::once_flag initialised;
    std::call_once(initialised, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    const std::unique_ptr<CURL, EasyFree> handle(curl_easy_init());
    if (!handle) {
        return failed("libcurl could not start");
    }
    std::string body;
    CURL* const easy = handle.get();
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    // A redirect must not lead out of TLS: who answers there could vouch for any token.
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
                     url.starts_with("http://") ? "http,https" : "https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, 3L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(kFetchTimeout.count()));
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "presenced/" PRESENCED_VERSION);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, has_to_stop);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &stop);
    const CURLcode code = curl_easy_perform(easy);
    if (code != CURLE_OK) {
        return failed(curl_easy_strerror(code));
    }
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        return failed(fmt::format("the answer was {}", status));
    }
    return body;
}

}  // namespace presence::auth
