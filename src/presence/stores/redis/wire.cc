#include "presence/stores/redis/wire.h"

#include "presence/base/assert.h"
#include "presence/stores/redis/tls.h"

#include <climits>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace presence::redis {

namespace {

constexpr std::size_t kReadBytes = 65'536;
/// Reads in one go: other work of the thread is not to wait for longer.
constexpr int kReadsAtOnce = 4;

struct IoResult {
    enum class Status : std::uint8_t { done, would_block, ended, failed };
    Status status = Status::failed;
    std::size_t bytes = 0;
    std::string why;  ///< Of `failed`.
};

IoResult from_tls(SSL* session, int result) {
    if (result > 0) {
        return {IoResult::Status::done, static_cast<std::size_t>(result), {}};
    }
    const int system = errno;
    switch (SSL_get_error(session, result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return {IoResult::Status::would_block, 0, {}};
        case SSL_ERROR_ZERO_RETURN:
            return {IoResult::Status::ended, 0, {}};
        case SSL_ERROR_SYSCALL:
            ERR_clear_error();
            return {IoResult::Status::failed, 0, std::strerror(system)};
        default:
            return {IoResult::Status::failed, 0, "TLS: " + tls_trouble(*session)};
    }
}

IoResult from_system(ssize_t result) {
    if (result >= 0) {
        return {IoResult::Status::done, static_cast<std::size_t>(result), {}};
    }
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return later ? IoResult{IoResult::Status::would_block, 0, {}}
                 : IoResult{IoResult::Status::failed, 0, std::strerror(errno)};
}

int open_socket(const SocketAddress& address) {
    const int fd =
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (fd >= 0) {
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    return fd;
}

}  // namespace

/// Shared with the work that it has posted, which looks at `closed` before it does anything.
struct Wire::State final : SocketWatcher, std::enable_shared_from_this<State> {
    State(StoreThread& on, const Endpoint& to, ssl_ctx_st* secured, WireCounters& counted,
          Events& told)
        : thread(on),
          endpoint(to),
          tls_context(secured),
          counters(counted),
          events(&told),
          reader(new_reader()),
          heard(on.clock().now()) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() override { close(); }

    enum class Stage : std::uint8_t { connecting, greeting, open };

    StoreThread& thread;
    Endpoint endpoint;
    ssl_ctx_st* tls_context;  ///< Null: plain TCP.
    WireCounters& counters;
    Events* events;
    std::vector<SocketAddress> addresses;  ///< Not yet tried.
    int fd = -1;
    TlsSession tls{nullptr, &SSL_free};
    Scheduler::TimerId opening{};
    ReplyReader reader;
    std::vector<char> input = std::vector<char>(kReadBytes);
    std::string output;
    std::size_t written = 0;  ///< Of `output`.
    bool flush_asked = false;
    bool peer_ended = false;
    bool closed = false;
    Stage stage = Stage::connecting;
    MonoTime heard;

    // -- Opening ---------------------------------------------------------------------------------

    void open(Millis timeout) {
        opening = thread.after(timeout, [self = shared_from_this()] {
            self->opening = {};
            self->fail("no answer in time");
        });
        thread.resolver().resolve(
            endpoint.host, endpoint.port,
            [self = shared_from_this()](Result<std::vector<SocketAddress>> found) {
                // Who opened it does not expect its end within that call.
                self->thread.post([self, found = std::move(found)]() mutable {
                    if (self->closed) {
                        return;
                    }
                    if (!found) {
                        self->fail("its name cannot be resolved: " + found.error().message);
                        return;
                    }
                    self->addresses = std::move(*found);
                    std::ranges::reverse(self->addresses);
                    self->connect_next("it has no address");
                });
            });
    }

    void connect_next(std::string trouble) {
        drop_socket();
        while (!addresses.empty()) {
            const SocketAddress address = addresses.back();
            addresses.pop_back();
            fd = open_socket(address);
            const auto* const to = reinterpret_cast<const sockaddr*>(&address.storage);
            if (fd >= 0 && (::connect(fd, to, address.size) == 0 || errno == EINPROGRESS) &&
                thread.watch(fd, *this)) {
                return;
            }
            trouble = std::strerror(errno);
            drop_socket();
        }
        fail(trouble);
    }

    void take_connection(std::uint32_t what) {
        if ((what & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) {
            return;
        }
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) {
            connect_next(std::strerror(error));
        } else if (tls_context != nullptr) {
            tls = open_tls(*tls_context, fd, endpoint.host);
            stage = Stage::greeting;
            greet();
        } else {
            be_open();
        }
    }

    void greet() {
        ERR_clear_error();
        const IoResult greeted = from_tls(tls.get(), SSL_do_handshake(tls.get()));
        if (greeted.status == IoResult::Status::done) {
            be_open();
        } else if (greeted.status != IoResult::Status::would_block) {
            fail(greeted.why.empty() ? "TLS: it closed the connection" : greeted.why);
        }
    }

    void be_open() {
        stage = Stage::open;
        thread.cancel(std::exchange(opening, {}));
        ++counters.connects;
        heard = thread.clock().now();
        events->on_opened();
        read();
    }

    // -- Closing ---------------------------------------------------------------------------------

    void drop_socket() {
        tls.reset();
        if (fd >= 0) {
            thread.unwatch(fd);
            ::close(std::exchange(fd, -1));
        }
    }

    void close() {
        if (!std::exchange(closed, true)) {
            thread.cancel(std::exchange(opening, {}));
            drop_socket();
        }
    }

    void fail(const std::string& why) {
        if (!closed) {
            close();
            events->on_closed(why);
        }
    }

    // -- Reading ---------------------------------------------------------------------------------

    void on_ready(std::uint32_t what) override {
        const auto self = shared_from_this();
        peer_ended = peer_ended || (what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        switch (stage) {
            case Stage::connecting:
                peer_ended = false;
                take_connection(what);
                return;
            case Stage::greeting:
                greet();
                return;
            case Stage::open:
                flush();
                read();
                return;
        }
    }

    IoResult read_some() {
        if (tls) {
            ERR_clear_error();
            return from_tls(tls.get(), SSL_read(tls.get(), input.data(), kReadBytes));
        }
        IoResult got = from_system(::recv(fd, input.data(), kReadBytes, MSG_DONTWAIT));
        if (got.status == IoResult::Status::done && got.bytes == 0) {
            got.status = IoResult::Status::ended;
        }
        return got;
    }

    void read() {
        for (int reads = 0; reads < kReadsAtOnce && !closed; ++reads) {
            const IoResult got = read_some();
            if (got.status == IoResult::Status::would_block) {
                return;
            }
            if (got.status != IoResult::Status::done) {
                fail(got.why.empty() ? "it closed the connection" : got.why);
                return;
            }
            // A short read has emptied the socket: the next bytes are a new event. Not so through
            // TLS, nor when the end of the stream is behind them.
            const bool empty = !tls && got.bytes < kReadBytes && !peer_ended;
            take(got.bytes);
            if (empty) {
                return;
            }
        }
        if (!closed) {
            thread.post([self = shared_from_this()] { self->read(); });
        }
    }

    void take(std::size_t bytes) {
        ++counters.reads;
        heard = thread.clock().now();
        redisReaderFeed(reader.get(), input.data(), bytes);
        while (!closed) {
            void* raw = nullptr;
            if (redisReaderGetReply(reader.get(), &raw) != REDIS_OK) {
                fail(fmt::format("it does not speak the protocol: {}", reader->errstr));
                return;
            }
            if (raw == nullptr) {
                return;
            }
            events->on_reply(Reply(static_cast<redisReply*>(raw)));
        }
    }

    // -- Writing ---------------------------------------------------------------------------------

    void send(std::span<const std::string_view> arguments) {
        PRESENCE_ASSERT(stage == Stage::open && !arguments.empty());
        constexpr std::size_t kFew = 16;
        std::array<const char*, kFew> few_texts{};
        std::array<std::size_t, kFew> few_sizes{};
        std::vector<const char*> many_texts;
        std::vector<std::size_t> many_sizes;
        const char** texts = few_texts.data();
        std::size_t* sizes = few_sizes.data();
        if (arguments.size() > kFew) {
            many_texts.resize(arguments.size());
            many_sizes.resize(arguments.size());
            texts = many_texts.data();
            sizes = many_sizes.data();
        }
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            texts[i] = arguments[i].data();
            sizes[i] = arguments[i].size();
        }
        char* made = nullptr;
        const int length =
            redisFormatCommandArgv(&made, static_cast<int>(arguments.size()), texts, sizes);
        PRESENCE_ASSERT(length > 0);
        output.append(made, static_cast<std::size_t>(length));
        redisFreeCommand(made);
        ++counters.commands;
        if (!std::exchange(flush_asked, true)) {
            thread.at_end([self = shared_from_this()] {
                self->flush_asked = false;
                self->flush();
            });
        }
    }

    IoResult write_some(std::string_view bytes) {
        ++counters.writes;
        if (tls) {
            ERR_clear_error();
            const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
            return from_tls(tls.get(), SSL_write(tls.get(), bytes.data(), size));
        }
        return from_system(::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    }

    /// What the kernel does not take now goes out when the socket can be written again.
    void flush() {
        while (!closed && written < output.size()) {
            const IoResult put = write_some(std::string_view(output).substr(written));
            if (put.status == IoResult::Status::would_block) {
                return;
            }
            if (put.status != IoResult::Status::done) {
                fail(put.why.empty() ? "it closed the connection" : put.why);
                return;
            }
            written += put.bytes;
        }
        output.clear();
        written = 0;
    }
};

Wire::Wire(StoreThread& thread, const Endpoint& endpoint, ssl_ctx_st* tls, WireCounters& counters,
           Events& events)
    : state_(std::make_shared<State>(thread, endpoint, tls, counters, events)) {}

Wire::~Wire() {
    state_->close();
}

void Wire::open(Millis timeout) {
    state_->open(timeout);
}

void Wire::send(std::span<const std::string_view> arguments) {
    state_->send(arguments);
}

MonoTime Wire::last_heard() const noexcept {
    return state_->heard;
}

std::size_t Wire::unsent() const noexcept {
    return state_->output.size() - state_->written;
}

}  // namespace presence::redis
