#pragma once

#include "presence/net/http.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace presence::net {

/// Reads HTTP/1.1 requests from bytes, one after the other. Pure: no I/O, no clock.
class HttpParser {
public:
    enum class State : std::uint8_t {
        head,      ///< The head is not whole yet.
        body,      ///< The head is, the body is not.
        complete,  ///< `request` is whole; `next` goes on to the one behind it.
        failed,    ///< `status` and `why` say how to answer; nothing more can be read.
    };

    /// Bounds, in bytes. `large_body` is that of requests which may be large.
    struct Bounds {
        std::uint32_t head = 0;
        std::uint32_t body = 0;
        std::uint32_t large_body = 0;
    };
    explicit HttpParser(const Bounds& bounds);
    ~HttpParser();
    HttpParser(const HttpParser&) = delete;
    HttpParser& operator=(const HttpParser&) = delete;

    using MayBeLarge = std::function<bool(const HttpRequest& head)>;

    /// Uses up bytes from the front and returns how many. The rest must come again, at the front
    /// of the next call's bytes.
    /// @param may_be_large  Asked by the head alone, where the body is larger than that of other
    ///                      requests may be, or of unknown length. Empty: none may.
    std::size_t feed(std::string_view bytes, const MayBeLarge& may_be_large = {});

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] HttpRequest& request() noexcept { return request_; }
    /// Whether any byte of the request at hand has come.
    [[nodiscard]] bool has_begun() const noexcept { return beast_ != nullptr; }
    [[nodiscard]] int status() const noexcept { return status_; }
    [[nodiscard]] std::string_view why() const noexcept { return why_; }

    /// The client waits for "100 Continue" before it sends the body. True once a request.
    [[nodiscard]] bool take_expects_continue() noexcept;

    /// Forgets the request at hand and waits for the next one's head.
    void next();

private:
    struct Beast;
    void fail(int status, std::string_view why);
    void keep_origin();
    void finish_head(const MayBeLarge& may_be_large);
    void check_head();
    void bound_body(const MayBeLarge& may_be_large);

    Bounds bounds_;
    State state_ = State::head;
    bool expects_continue_ = false;
    int status_ = 0;
    std::string_view why_;
    HttpRequest request_;
    std::unique_ptr<Beast> beast_;  ///< Exists while a request is being read.
};

}  // namespace presence::net
