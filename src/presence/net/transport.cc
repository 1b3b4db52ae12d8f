#include "presence/net/transport.h"

#include "presence/base/assert.h"
#include "presence/net/server.h"

#include <climits>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace presence::net {
namespace {

SSL_CTX* as_context(void* context) {
    return static_cast<SSL_CTX*>(context);
}

Error tls_error(const char* what, const std::string& file) {
    char reason[256] = "unknown";
    const unsigned long code = ERR_get_error();
    if (code != 0) {
        ERR_error_string_n(code, reason, sizeof reason);
    }
    ERR_clear_error();
    return Error{.code = ErrorCode::bad_request,
                 .message = fmt::format("{} {}: {}", what, file, reason)};
}

IoResult from_ssl(SSL* tls, int result) {
    switch (SSL_get_error(tls, result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return {IoResult::Status::would_block, 0};
        case SSL_ERROR_ZERO_RETURN:
            return {IoResult::Status::ended, 0};
        default:
            ERR_clear_error();
            return {IoResult::Status::failed, 0};
    }
}

IoResult from_errno() {
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return {later ? IoResult::Status::would_block : IoResult::Status::failed, 0};
}

/// One record carries both pieces where they are small: a header alone would cost one of its own.
IoResult write_tls(SSL* tls, std::string_view first, std::string_view second) {
    constexpr std::size_t kJoined = 4096;
    std::array<char, kJoined> joined;
    std::string_view bytes = first.empty() ? second : first;
    if (!first.empty() && !second.empty() && first.size() < kJoined) {
        const std::size_t more = std::min(second.size(), kJoined - first.size());
        const auto end = std::copy(first.begin(), first.end(), joined.begin());
        std::copy_n(second.begin(), more, end);
        bytes = {joined.data(), first.size() + more};
    }
    ERR_clear_error();
    const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
    const int written = SSL_write(tls, bytes.data(), size);
    if (written > 0) {
        return {IoResult::Status::done, static_cast<std::size_t>(written)};
    }
    return from_ssl(tls, written);
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::load(const std::string& certificate,
                                                     const std::string& key) {
    // OpenSSL writes with write(2), which raises SIGPIPE on a closed socket.
    std::signal(SIGPIPE, SIG_IGN);
    ERR_clear_error();
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    PRESENCE_ASSERT(context != nullptr);
    std::shared_ptr<TlsContext> held(new TlsContext(context));
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    // Of 1.2 only what keeps past talk secret if the key is lost, and is authenticated encryption.
    // All of 1.3 is.
    const int chosen = SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    PRESENCE_ASSERT(chosen == 1);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
        return tls_error("cannot read the TLS certificate", certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
        return tls_error("cannot use the TLS key", key);
    }
    if (SSL_CTX_check_private_key(context) != 1) {
        return tls_error("the TLS key does not belong to the certificate:", key);
    }
    return held;
}

TlsContext::~TlsContext() {
    SSL_CTX_free(as_context(context_));
}

TlsSession::TlsSession(const TlsContext& context, int fd)
    : ssl_(SSL_new(as_context(context.context_))) {
    PRESENCE_ASSERT(ssl_ != nullptr);
    SSL_set_fd(ssl_, fd);
    SSL_set_accept_state(ssl_);
}

TlsSession::TlsSession(TlsSession&& other) noexcept : ssl_(std::exchange(other.ssl_, nullptr)) {}

TlsSession& TlsSession::operator=(TlsSession&& other) noexcept {
    std::swap(ssl_, other.ssl_);
    return *this;
}

TlsSession::~TlsSession() {
    SSL_free(ssl_);
}

IoResult read_some(int fd, ssl_st* tls, std::span<char> into) noexcept {
    if (tls != nullptr) {
        ERR_clear_error();
        const int size = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
        const int got = SSL_read(tls, into.data(), size);
        if (got > 0) {
            return {IoResult::Status::done, static_cast<std::size_t>(got)};
        }
        return from_ssl(tls, got);
    }
    const ssize_t got = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) {
        return {IoResult::Status::done, static_cast<std::size_t>(got)};
    }
    return got == 0 ? IoResult{IoResult::Status::ended, 0} : from_errno();
}

IoResult write_some(int fd, ssl_st* tls, std::string_view first, std::string_view second) noexcept {
    if (tls != nullptr) {
        return write_tls(tls, first, second);
    }
    if (first.empty() || second.empty()) {
        const std::string_view only = first.empty() ? second : first;
        const ssize_t sent = ::send(fd, only.data(), only.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return sent >= 0 ? IoResult{IoResult::Status::done, static_cast<std::size_t>(sent)}
                         : from_errno();
    }
    iovec pieces[2] = {{const_cast<char*>(first.data()), first.size()},
                       {const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    const ssize_t sent = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent >= 0 ? IoResult{IoResult::Status::done, static_cast<std::size_t>(sent)}
                     : from_errno();
}

bool is_established(ssl_st* tls) noexcept {
    return SSL_is_init_finished(tls) != 0;
}

void finish_writing(int fd, ssl_st* tls) noexcept {
    if (tls != nullptr && is_established(tls)) {
        ERR_clear_error();
        SSL_shutdown(tls);
    }
    ::shutdown(fd, SHUT_WR);
}

}  // namespace presence::net
