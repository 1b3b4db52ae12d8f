#include "net_fixture.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include <atomic>
#include <thread>

namespace presence::net::testing {
namespace {

using namespace std::literals;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using Stream = websocket::stream<boost::asio::ip::tcp::socket>;

/// Our server, as Beast's client sees it: a second opinion about every byte.
class BeastClient : public NetTest {
protected:
    BeastClient() {
        NetLimits limits;
        limits.message_bytes_before_welcome = 1'000'000;
        limits.send_queue_bytes = 4'000'000;
        server_.set_limits(limits);
        handler_.on_message_do = [this](ConnectionId id, std::string_view text) {
            if (text == "close me") {
                server_.close(id, 4403, "kicked");
            } else {
                server_.send_text(id, text);
            }
            return true;
        };
    }

    /// Runs `work` as a client on a thread of its own while the loop serves.
    void with_client(const std::function<void(Stream&)>& work) {
        std::atomic<bool> done{false};
        std::thread client([&] {
            boost::asio::io_context io;
            Stream stream(io);
            stream.next_layer().connect(
                {boost::asio::ip::make_address("127.0.0.1"), listener_->port()});
            stream.next_layer().set_option(boost::asio::ip::tcp::no_delay(true));
            stream.set_option(websocket::stream_base::decorator([](websocket::request_type& head) {
                head.set(beast::http::field::sec_websocket_protocol, "presence.v1");
            }));
            websocket::response_type answer;
            stream.handshake(answer, "localhost", "/v1/connect");
            work(stream);
            done = true;
        });
        pump_until([&] { return done.load(); }, 30s);
        client.join();
    }
    static std::string echo_of(Stream& stream) {
        beast::flat_buffer buffer;
        stream.read(buffer);
        EXPECT_TRUE(stream.got_text());
        return beast::buffers_to_string(buffer.data());
    }
};

TEST_F(BeastClient, EchoesOfEverySizeAreWhole) {
    with_client([&](Stream& stream) {
        stream.text(true);
        for (const std::size_t size :
             {0U, 1U, 7U, 8U, 125U, 126U, 127U, 4096U, 65'535U, 65'536U, 300'000U}) {
            std::string text;
            for (std::size_t i = 0; i < size; ++i) {
                text.push_back(static_cast<char>('a' + i % 23));
            }
            stream.write(boost::asio::buffer(text));
            EXPECT_EQ(echo_of(stream), text) << size;
        }
    });
}

TEST_F(BeastClient, FragmentedMessagesAreJoined) {
    with_client([&](Stream& stream) {
        stream.text(true);
        stream.auto_fragment(true);
        for (const std::size_t piece : {32U, 33U, 100U, 5000U}) {
            stream.write_buffer_bytes(piece);
            const std::string text(20'000, 'f');
            stream.write(boost::asio::buffer(text));
            EXPECT_EQ(echo_of(stream), text) << piece;
        }
        stream.write_some(false, boost::asio::buffer("sp"sv));
        stream.ping("between");
        stream.write_some(true, boost::asio::buffer("lit"sv));
        EXPECT_EQ(echo_of(stream), "split");
    });
}

TEST_F(BeastClient, PingsAreAnsweredAsBeastExpects) {
    with_client([&](Stream& stream) {
        std::string pong;
        stream.control_callback([&](websocket::frame_type kind, beast::string_view payload) {
            if (kind == websocket::frame_type::pong) {
                pong = std::string(payload);
            }
        });
        stream.ping("are you there");
        stream.text(true);
        stream.write(boost::asio::buffer("x"sv));
        EXPECT_EQ(echo_of(stream), "x");
        EXPECT_EQ(pong, "are you there");
    });
}

TEST_F(BeastClient, ItsCloseIsAnsweredAndItIsContent) {
    with_client([&](Stream& stream) {
        beast::error_code error;
        stream.close({websocket::close_code::normal, "bye"}, error);
        EXPECT_FALSE(error) << error.message();
    });
    pump_until_ended();
    EXPECT_EQ(handler_.ends[0].info.how, CloseInfo::How::peer_close);
    EXPECT_EQ(handler_.ends[0].info.code, 1000);
}

TEST_F(BeastClient, OurCloseReachesItWithCodeAndReason) {
    with_client([&](Stream& stream) {
        stream.text(true);
        stream.write(boost::asio::buffer("close me"sv));
        beast::flat_buffer buffer;
        beast::error_code error;
        stream.read(buffer, error);
        EXPECT_EQ(error, websocket::error::closed);
        EXPECT_EQ(stream.reason().code, 4403);
        EXPECT_EQ(stream.reason().reason, "kicked");
    });
    pump_until_ended();
    EXPECT_EQ(handler_.ends[0].info.how, CloseInfo::How::closed_by_us);
    EXPECT_TRUE(handler_.ends[0].info.saw_close_frame);
}

TEST_F(BeastClient, BinaryMessagesAreTurnedDown) {
    with_client([&](Stream& stream) {
        stream.binary(true);
        stream.write(boost::asio::buffer("x"sv));
        beast::flat_buffer buffer;
        beast::error_code error;
        stream.read(buffer, error);
        EXPECT_EQ(error, websocket::error::closed);
        EXPECT_EQ(stream.reason().code, 1003);
    });
}

}  // namespace
}  // namespace presence::net::testing
