#include "presence/net/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

namespace presence::net {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Where the path begins: behind scheme and authority where a proxy sent the absolute form.
std::size_t path_start(std::string_view target) {
    if (target.empty() || target.front() == '/') {
        return 0;
    }
    const std::size_t scheme = target.find("://");
    const std::size_t query = target.find('?');
    if (scheme == std::string_view::npos || scheme > query) {
        return 0;
    }
    return std::min({target.find('/', scheme + 3), query, target.size()});
}

/// Values may hold foreign text: a line break in one must not begin a header of its own.
void append_header(std::string& head, std::string_view name, std::string_view value) {
    head += name;
    head += ": ";
    for (const char c : value) {
        head += static_cast<unsigned char>(c) < ' ' && c != '\t' ? ' ' : c;
    }
    head += "\r\n";
}

/// Answers that never have a body must not tell a length.
bool has_length(int status) {
    return status >= 200 && status != 204 && status != 304;
}

}  // namespace

bool same_header_name(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view HttpRequest::path() const noexcept {
    const std::string_view whole = target;
    const std::string_view from_path = whole.substr(path_start(whole));
    return from_path.substr(0, from_path.find('?'));
}

std::string_view HttpRequest::query() const noexcept {
    const std::string_view whole = target;
    const std::size_t mark = whole.find('?');
    return mark == std::string_view::npos ? std::string_view{} : whole.substr(mark + 1);
}

std::optional<std::string_view> HttpRequest::header(std::string_view name) const noexcept {
    for (const auto& [key, value] : headers) {
        if (same_header_name(key, name)) {
            return value;
        }
    }
    return std::nullopt;
}

std::size_t HttpRequest::header_count(std::string_view name) const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(
        headers, [&](const auto& header) { return same_header_name(header.first, name); }));
}

std::string_view HttpResponse::body_view() const noexcept {
    if (const auto* text = std::get_if<std::string>(&body)) {
        return *text;
    }
    const auto& shared = std::get<std::shared_ptr<const std::string>>(body);
    return shared ? std::string_view(*shared) : std::string_view{};
}

std::string encode_head(const HttpResponse& response, const HeadFacts& facts) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                                   reason_phrase(response.status), facts.date);
    if (!response.content_type.empty()) {
        append_header(head, "Content-Type", response.content_type);
    }
    for (const auto& [name, value] : response.headers) {
        append_header(head, name, value);
    }
    if (!facts.is_stream && has_length(response.status)) {
        append_header(head, "Content-Length", fmt::format("{}", response.body_view().size()));
    }
    append_header(head, "Connection", facts.keep_alive ? "keep-alive" : "close");
    head += "\r\n";
    return head;
}

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view kBlanks = " \t";
    const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
    text.remove_prefix(first);
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::optional<std::string_view> bearer_token(const HttpRequest& request) {
    constexpr std::string_view kScheme = "bearer ";
    const std::optional<std::string_view> value = request.header("authorization");
    if (!value || request.header_count("authorization") > 1 || value->size() <= kScheme.size() ||
        !same_header_name(value->substr(0, kScheme.size()), kScheme)) {
        return std::nullopt;
    }
    return trimmed(value->substr(kScheme.size()));
}

std::string http_date(std::int64_t unix_seconds) {
    static constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t seconds = unix_seconds;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                       kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                       parts.tm_sec);
}

std::string_view reason_phrase(int status) noexcept {
    struct Phrase {
        int status;
        std::string_view words;
    };
    static constexpr Phrase kPhrases[] = {
        {100, "Continue"},
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    const auto* const found = std::ranges::find(kPhrases, status, &Phrase::status);
    return found == std::end(kPhrases) ? "Status" : found->words;
}

}  // namespace presence::net
