#include "presence/stores/redis/wire.h"

#include "presence/base/assert.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <array>
#include <hiredis/hiredis.h>
#include <optional>
#include <utility>
#include <vector>

namespace presence::redis {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCodeOrNone = boost::system::error_code;

namespace {
constexpr std::size_t kReadBytes = 65'536;
}  // namespace

/// Shared with the handlers under way, which look at `closed` before they do anything.
struct Wire::State : std::enable_shared_from_this<State> {
    State(StoreThread& on, const Endpoint& to, asio::ssl::context* secured, WireCounters& counted,
          Events& told)
        : thread(on),
          endpoint(to),
          counters(counted),
          events(&told),
          resolver(on.context()),
          socket(on.context()),
          opening(on.context()),
          reader(new_reader()),
          heard(on.clock().now()) {
        if (secured != nullptr) {
            tls.emplace(socket, *secured);
        }
    }

    StoreThread& thread;
    Endpoint endpoint;
    WireCounters& counters;
    Events* events;
    tcp::resolver resolver;
    tcp::socket socket;
    asio::steady_timer opening;
    std::optional<asio::ssl::stream<tcp::socket&>> tls;
    ReplyReader reader;
    std::vector<char> input = std::vector<char>(kReadBytes);
    std::string output;   ///< Collected in this turn.
    std::string writing;  ///< Under way to the kernel, from `written` on.
    std::size_t written = 0;
    bool flush_asked = false;
    bool opened = false;
    bool closed = false;
    MonoTime heard;

    void close() {
        if (std::exchange(closed, true)) {
            return;
        }
        ErrorCodeOrNone ignored;
        resolver.cancel();
        opening.cancel();
        socket.close(ignored);
    }

    void fail(const std::string& why) {
        if (closed) {
            return;
        }
        close();
        events->on_closed(why);
    }

    void open(Millis timeout) {
        opening.expires_after(timeout);
        opening.async_wait([self = shared_from_this()](const ErrorCodeOrNone& error) {
            if (!error && !self->opened) {
                self->fail("no answer in time");
            }
        });
        resolver.async_resolve(
            endpoint.host, std::to_string(endpoint.port),
            [self = shared_from_this()](const ErrorCodeOrNone& error, const auto& found) {
                if (self->closed) {
                    return;
                }
                if (error) {
                    self->fail("its name cannot be resolved: " + error.message());
                    return;
                }
                self->connect(found);
            });
    }

    void connect(const tcp::resolver::results_type& found) {
        asio::async_connect(socket, found,
                            [self = shared_from_this()](const ErrorCodeOrNone& error, const auto&) {
                                if (self->closed) {
                                    return;
                                }
                                if (error) {
                                    self->fail(error.message());
                                    return;
                                }
                                ErrorCodeOrNone ignored;
                                self->socket.set_option(tcp::no_delay(true), ignored);
                                self->socket.set_option(tcp::socket::keep_alive(true), ignored);
                                self->tls ? self->greet_secretly() : self->be_open();
                            });
    }

    void greet_secretly() {
        tls->set_verify_mode(asio::ssl::verify_peer);
        tls->set_verify_callback(asio::ssl::host_name_verification(endpoint.host));
        ErrorCodeOrNone is_name;
        static_cast<void>(asio::ip::make_address(endpoint.host, is_name));
        if (is_name) {
            // What SSL_set_tlsext_host_name is, without its old casts.
            SSL_ctrl(tls->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                     endpoint.host.data());
        }
        tls->async_handshake(asio::ssl::stream_base::client,
                             [self = shared_from_this()](const ErrorCodeOrNone& error) {
                                 if (self->closed) {
                                     return;
                                 }
                                 if (error) {
                                     self->fail("TLS: " + error.message());
                                     return;
                                 }
                                 self->be_open();
                             });
    }

    void be_open() {
        opened = true;
        opening.cancel();
        ++counters.connects;
        heard = thread.clock().now();
        read();
        events->on_opened();
    }

    void read() {
        const auto taken = [self = shared_from_this()](const ErrorCodeOrNone& error,
                                                       std::size_t bytes) {
            self->take(error, bytes);
        };
        if (tls) {
            tls->async_read_some(asio::buffer(input), taken);
        } else {
            socket.async_read_some(asio::buffer(input), taken);
        }
    }

    void take(const ErrorCodeOrNone& error, std::size_t bytes) {
        if (closed) {
            return;
        }
        if (error) {
            fail(error == asio::error::eof ? "it closed the connection" : error.message());
            return;
        }
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
                read();
                return;
            }
            events->on_reply(Reply(static_cast<redisReply*>(raw)));
        }
    }

    void send(std::span<const std::string_view> arguments) {
        PRESENCE_ASSERT(opened && !arguments.empty());
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
            asio::post(thread.context(), [self = shared_from_this()] {
                self->flush_asked = false;
                self->flush();
            });
        }
    }

    void flush() {
        if (closed || output.empty() || !writing.empty()) {
            return;  // What is under way takes the rest along when it is done.
        }
        writing.swap(output);
        written = 0;
        write();
    }

    void write() {
        const auto done = [self = shared_from_this()](const ErrorCodeOrNone& error,
                                                      std::size_t bytes) {
            if (self->closed) {
                return;
            }
            if (error) {
                self->fail(error.message());
                return;
            }
            self->written += bytes;
            if (self->written < self->writing.size()) {
                self->write();
                return;
            }
            self->writing.clear();
            self->flush();
        };
        ++counters.writes;
        const asio::const_buffer rest =
            asio::buffer(writing.data() + written, writing.size() - written);
        if (tls) {
            tls->async_write_some(rest, done);
        } else {
            socket.async_write_some(rest, done);
        }
    }
};

Wire::Wire(StoreThread& thread, const Endpoint& endpoint, asio::ssl::context* tls,
           WireCounters& counters, Events& events)
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
    return state_->output.size() + state_->writing.size() - state_->written;
}

}  // namespace presence::redis
