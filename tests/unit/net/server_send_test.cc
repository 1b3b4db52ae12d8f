#include "net_fixture.h"

#include <sys/socket.h>

namespace presence::net::testing {
namespace {

using namespace std::literals;
using How = CloseInfo::How;

NetLimits small_queue() {
    NetLimits limits;
    limits.send_queue_bytes = 64 * 1024;
    limits.close_timeout = 300ms;
    return limits;
}

/// A client that does not read, and a server that has filled its socket.
class ServerSend : public NetTest {
protected:
    ServerSend() : NetTest(small_queue()) {}

    /// Sends until the socket takes no more; returns how many messages that were.
    std::size_t fill(ConnectionId to) {
        std::size_t sent = 1;
        while (server_.send_text(to, message(sent)) == SendResult::sent) {
            ++sent;
            EXPECT_LT(sent, 100'000U);
        }
        return sent;
    }
    /// A small window takes its time to empty what the kernel holds.
    void allow_slow_reading() {
        NetLimits limits = small_queue();
        limits.close_timeout = 20s;
        server_.set_limits(limits);
    }
    static std::string message(std::size_t n) {
        std::string text = std::to_string(n);
        text.resize(10'000, '.');
        return text;
    }
    /// All whole text frames that `bytes` begin with, and the pongs between them.
    static std::vector<std::string> frames_in(std::string_view bytes) {
        std::vector<std::string> frames;
        while (bytes.size() >= 2) {
            const auto second = static_cast<std::uint8_t>(bytes[1]);
            std::size_t header = 2;
            std::size_t size = second;
            if (second == 126) {
                header = 4;
                size = static_cast<std::size_t>(static_cast<std::uint8_t>(bytes[2])) * 256 +
                       static_cast<std::uint8_t>(bytes[3]);
            }
            if (bytes.size() < header + size) {
                break;
            }
            frames.emplace_back(bytes.substr(header, size));
            if (static_cast<std::uint8_t>(bytes[0]) == 0x8A) {
                frames.back() = "pong " + frames.back();
            }
            bytes.remove_prefix(header + size);
        }
        return frames;
    }
};

TEST_F(ServerSend, WhatDoesNotFitIsKeptAndSentInOrder) {
    Peer peer = open(8192);
    const std::size_t sent = fill(id());
    EXPECT_TRUE(server_.is_blocked(id()));
    EXPECT_GT(server_.queued_bytes(id()), 0U);
    EXPECT_TRUE(server_.blocked_since(id()).has_value());
    EXPECT_EQ(server_.send_text(id(), "queued"), SendResult::blocked);
    const auto shared = std::make_shared<const std::string>(encode_text_frame("shared"));
    EXPECT_EQ(server_.send_text_shared(id(), shared), SendResult::blocked);
    EXPECT_EQ(handler_.drained, 0);

    pump_until_got(peer, "shared");
    pump_until([&] { return handler_.drained == 1; });
    const auto frames = frames_in(peer.received);
    ASSERT_EQ(frames.size(), sent + 2);
    for (std::size_t n = 1; n <= sent; ++n) {
        EXPECT_EQ(frames[n - 1], message(n));
    }
    EXPECT_EQ(frames[sent], "queued");
    EXPECT_FALSE(server_.is_blocked(id()));
    EXPECT_FALSE(server_.blocked_since(id()).has_value());
    EXPECT_EQ(server_.send_text(id(), "again"), SendResult::sent);
}

TEST_F(ServerSend, AReaderIsKnownToBeSlowBeforeTheKernelHoldsMegabytes) {
    Peer peer = open(8192);
    const std::size_t sent = fill(id());
    EXPECT_GE(sent * message(1).size(), 256U * 1024U);
    EXPECT_LE(sent * message(1).size(), 512U * 1024U);
}

TEST_F(ServerSend, TheQueueIsBounded) {
    Peer peer = open(8192);
    fill(id());
    SendResult result = SendResult::blocked;
    while (result == SendResult::blocked) {
        result = server_.send_text(id(), message(1));
    }
    EXPECT_EQ(result, SendResult::overflow);
    EXPECT_LE(server_.queued_bytes(id()), 64U * 1024U);
    EXPECT_EQ(server_.counters().send_overflows, 1U);
    EXPECT_TRUE(server_.is_open(id()));
}

TEST_F(ServerSend, AFrameLargerThanTheQueueIsStillSentWhole) {
    Peer peer = open(8192);
    std::size_t sent = 0;
    const std::string large(10'000'000, 'L');
    ASSERT_EQ(server_.send_text(id(), large), SendResult::blocked);
    EXPECT_EQ(server_.send_text(id(), "more"), SendResult::overflow);
    pump_until([&] {
        peer.poll();
        sent = peer.received.size();
        return handler_.drained == 1;
    });
    pump_until([&] {
        peer.poll();
        return peer.received.size() == large.size() + 10;
    });
}

TEST_F(ServerSend, FO064_APongPassesWhatWaitsButNeverCutsAFrame) {
    Peer peer = open(8192);
    const std::size_t sent = fill(id());
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(server_.send_text(id(), message(900)), SendResult::blocked);
    }
    peer.send(encode_client_frame(Opcode::ping, "old", kMask));
    pump_a_little();
    peer.send(encode_client_frame(Opcode::ping, "new", kMask));
    pump_a_little();
    std::vector<std::string> frames;
    pump_until([&] {
        peer.poll();
        frames = frames_in(peer.received);
        return frames.size() == sent + 5 + 1;
    });
    EXPECT_EQ(handler_.drained, 1);
    const auto pong = std::find(frames.begin(), frames.end(), "pong new");
    ASSERT_NE(pong, frames.end());
    EXPECT_EQ(std::count(frames.begin(), frames.end(), "pong old"), 0);
    EXPECT_GE(frames.end() - pong, 4) << "ahead of what was queued";
    EXPECT_EQ(handler_.life, (std::vector<LifeKind>{LifeKind::ping, LifeKind::ping}));
}

TEST_F(ServerSend, BlockedSinceMovesOnlyWithProgress) {
    Peer peer = open(8192);
    fill(id());
    const auto since = server_.blocked_since(id());
    pump_a_little();
    EXPECT_EQ(server_.blocked_since(id()), since);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(server_.send_text(id(), message(1)), SendResult::blocked);
    }
    pump_until([&] { return clock_.now() > *since + 5ms; });
    pump_until([&] {
        peer.poll();
        const auto now = server_.blocked_since(id());
        return !now || *now > *since;
    });
}

TEST_F(ServerSend, ABlockedConnectionIsClosedInTimeAllTheSame) {
    Peer peer = open(8192);
    fill(id());
    const MonoTime start = clock_.now();
    server_.close(id(), 4408, "too_slow");
    pump_until_ended();
    EXPECT_LT(clock_.now() - start, 1500ms);
    EXPECT_EQ(handler_.ends[0].info.how, How::closed_by_us);
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST_F(ServerSend, AReaderThatCatchesUpGetsTheCloseBehindTheRest) {
    allow_slow_reading();
    Peer peer = open(8192);
    const std::size_t sent = fill(id());
    server_.close(id(), 4408, "too_slow");
    pump_until_got(peer, "too_slow");
    EXPECT_EQ(frames_in(peer.received).size(), sent + 1);
}

TEST_F(ServerSend, ABlockedPeerThatClosesIsToldAtOnce) {
    allow_slow_reading();
    Peer peer = open(8192);
    fill(id());
    EXPECT_EQ(server_.send_text(id(), message(2)), SendResult::blocked);
    peer.send(encode_client_frame(Opcode::close, "\x03\xE8", kMask));
    pump_until_ended();
    EXPECT_EQ(handler_.ends[0].info.how, How::peer_close);
    EXPECT_EQ(handler_.ends[0].info.code, 1000);
    pump_until_closed(peer);
    EXPECT_TRUE(peer.received.ends_with("\x88\x02\x03\xE8"));
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST_F(ServerSend, AStreamThatIsNotReadIsBoundedToo) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) { server_.respond_stream(id, {}); };
    Peer peer(port(), 8192);
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    pump_until([&] { return !handler_.requests.empty(); });
    SendResult result = SendResult::sent;
    for (int i = 0; i < 100'000 && result != SendResult::overflow; ++i) {
        result = server_.send_raw(id(), message(1));
    }
    EXPECT_EQ(result, SendResult::overflow);
    pump_until([&] {
        peer.poll();
        return handler_.drained == 1;
    });
}

}  // namespace
}  // namespace presence::net::testing
