#include "presence/net/http_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <utility>

namespace presence::net {
namespace {

namespace http = boost::beast::http;

constexpr unsigned kHttp10 = 10;
constexpr unsigned kHttp11 = 11;

int status_of(const boost::system::error_code& error) {
    if (error == http::error::header_limit) {
        return 431;
    }
    if (error == http::error::body_limit) {
        return 413;
    }
    return error == http::error::bad_version ? 505 : 400;
}

std::string_view reason_of(int status) {
    switch (status) {
        case 431:
            return "the head of the request is too large";
        case 413:
            return "the body of the request is too large";
        case 505:
            return "only HTTP/1.0 and HTTP/1.1 are spoken here";
        default:
            return "not a well-formed HTTP/1.1 request";
    }
}

/// A target that is a path, a URL (as proxies send it), or the asterisk of OPTIONS.
bool is_target(std::string_view target) {
    return !target.empty() && (target.front() == '/' || target.starts_with("http://") ||
                               target.starts_with("https://") || target == "*");
}

/// Whether a chunked body that is nothing but its end has not come as far as `0\r\n\r\n`. Beast
/// takes it for granted that it has, once it was shown the first line of it.
bool is_part_of_end(std::string_view rest) {
    constexpr std::size_t kShortest = 5;
    return rest.size() < kShortest && rest.starts_with('0');
}

}  // namespace

struct HttpParser::Beast {
    http::request_parser<http::string_body> parser;
};

HttpParser::HttpParser(const Bounds& bounds) : bounds_(bounds) {}

HttpParser::~HttpParser() = default;

std::size_t HttpParser::feed(std::string_view bytes, const MayBeLarge& may_be_large) {
    std::size_t used = 0;
    while (used < bytes.size() && (state_ == State::head || state_ == State::body)) {
        if (!beast_) {
            beast_ = std::make_unique<Beast>();
            beast_->parser.header_limit(bounds_.head);
            beast_->parser.body_limit(std::max(bounds_.body, bounds_.large_body));
        }
        boost::system::error_code error;
        const std::string_view rest = bytes.substr(used);
        if (state_ == State::body && beast_->parser.chunked() && is_part_of_end(rest)) {
            break;
        }
        const std::size_t step =
            beast_->parser.put(boost::asio::const_buffer(rest.data(), rest.size()), error);
        used += step;
        if (error && error != http::error::need_more) {
            const int status = status_of(error);
            keep_origin();
            fail(status, reason_of(status));
            break;
        }
        if (state_ == State::head && beast_->parser.is_header_done()) {
            finish_head(may_be_large);
        }
        if (state_ == State::body && beast_->parser.is_done()) {
            request_.body = std::move(beast_->parser.get().body());
            beast_.reset();
            state_ = State::complete;
        } else if (step == 0 || error) {
            // A line that never ends: chunk heads and trailers are held to the head's bound.
            if (bytes.size() - used > bounds_.head) {
                fail(400, "a line of the chunked body is too long");
            }
            break;
        }
    }
    return used;
}

bool HttpParser::take_expects_continue() noexcept {
    return state_ == State::body && std::exchange(expects_continue_, false);
}

void HttpParser::next() {
    request_ = HttpRequest{};
    beast_.reset();
    expects_continue_ = false;
    state_ = State::head;
}

void HttpParser::fail(int status, std::string_view why) {
    status_ = status;
    why_ = why;
    state_ = State::failed;
    beast_.reset();
}

/// The page that asked, of a head that is refused before it was whole: so it may read why.
void HttpParser::keep_origin() {
    if (state_ != State::head) {
        return;
    }
    for (const auto& field : beast_->parser.get()) {
        if (field.name() == http::field::origin) {
            request_.headers.emplace_back("Origin", std::string(field.value()));
        }
    }
}

/// Takes the head over before the body is read: fields in a trailer must not pass for headers.
void HttpParser::finish_head(const MayBeLarge& may_be_large) {
    auto& parser = beast_->parser;
    const auto& message = parser.get();
    request_.method = std::string(message.method_string());
    request_.target = std::string(message.target());
    for (const auto& field : message) {
        request_.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    request_.keep_alive = parser.keep_alive();
    state_ = State::body;
    check_head();
    if (state_ == State::body) {
        bound_body(may_be_large);
    }
    if (state_ == State::body) {
        const auto expect = request_.header("Expect");
        expects_continue_ =
            expect && same_header_name(*expect, "100-continue") && !parser.is_done();
        parser.eager(true);
    }
}

void HttpParser::bound_body(const MayBeLarge& may_be_large) {
    const auto length = beast_->parser.content_length();
    const bool may_exceed =
        (length ? *length > bounds_.body : !beast_->parser.is_done()) && bounds_.large_body > 0;
    const bool large = may_exceed && may_be_large && may_be_large(request_);
    const std::uint32_t most = large ? std::max(bounds_.body, bounds_.large_body) : bounds_.body;
    if (length && *length > most) {
        fail(413, reason_of(413));
    } else {
        beast_->parser.body_limit(most);  // Chunks are counted down from it.
    }
}

void HttpParser::check_head() {
    const unsigned version = beast_->parser.get().version();
    if (version == kHttp10) {  // Which knows no upgrade: such a wish is to be ignored (RFC 9110).
        std::erase_if(request_.headers,
                      [](const auto& header) { return same_header_name(header.first, "Upgrade"); });
    }
    const std::size_t hosts = request_.header_count("Host");
    const auto encoding = request_.header("Transfer-Encoding");
    if (version != kHttp10 && version != kHttp11) {
        fail(505, reason_of(505));
    } else if (!is_target(request_.target)) {
        fail(400, "the target is neither a path nor a URL");
    } else if (hosts > 1 || (hosts == 0 && version == kHttp11)) {
        fail(400, "exactly one Host header is needed");
    } else if (encoding && (!same_header_name(*encoding, "chunked") || version == kHttp10)) {
        fail(501, "no transfer encoding but chunked is known");
    }
}

}  // namespace presence::net
