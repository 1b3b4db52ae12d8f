#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;

namespace presence::net {

class TlsContext;

/// What one read or write did.
struct IoResult {
    enum class Status : std::uint8_t {
        done,         ///< `bytes` moved, at least one.
        would_block,  ///< Nothing now; the loop tells when.
        ended,        ///< Reading: the peer sends no more.
        failed,       ///< Reset or worse. Close it.
    };
    Status status = Status::failed;
    std::size_t bytes = 0;
};

/// The TLS side of one socket; owns its SSL object. Empty on plain sockets.
class TlsSession {
public:
    TlsSession() = default;
    /// The server's end of a handshake that runs by itself in the first reads and writes.
    TlsSession(const TlsContext& context, int fd);
    TlsSession(TlsSession&& other) noexcept;
    TlsSession& operator=(TlsSession&& other) noexcept;
    ~TlsSession();

    [[nodiscard]] explicit operator bool() const noexcept { return ssl_ != nullptr; }
    [[nodiscard]] ssl_st* get() const noexcept { return ssl_; }

private:
    ssl_st* ssl_ = nullptr;
};

/// Reads what is there, plain or through `tls` (null: plain). Never blocks.
[[nodiscard]] IoResult read_some(int fd, ssl_st* tls, std::span<char> into) noexcept;

/// Writes as much as fits of `first` and then `second`, in one call where the socket is plain.
/// After `would_block` the next write through TLS must begin with the same bytes.
[[nodiscard]] IoResult write_some(int fd, ssl_st* tls, std::string_view first,
                                  std::string_view second) noexcept;

/// Whether the handshake is over.
[[nodiscard]] bool is_established(ssl_st* tls) noexcept;

/// Says that no more bytes will come from this side.
void finish_writing(int fd, ssl_st* tls) noexcept;

}  // namespace presence::net
