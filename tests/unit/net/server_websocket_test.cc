#include "net_fixture.h"

namespace presence::net::testing {
namespace {

using namespace std::literals;
using How = CloseInfo::How;

NetLimits quick() {
    NetLimits limits;
    limits.close_timeout = 300ms;
    limits.message_timeout = 200ms;
    return limits;
}

class ServerWebSocket : public NetTest {
protected:
    ServerWebSocket() : NetTest(quick()) {}

    void expect_end(How how, std::uint16_t code, bool saw_close) {
        pump_until_ended();
        ASSERT_EQ(handler_.ends.size(), 1U);
        EXPECT_EQ(handler_.ends[0].info.how, how);
        EXPECT_EQ(handler_.ends[0].info.code, code);
        EXPECT_EQ(handler_.ends[0].info.saw_close_frame, saw_close);
        EXPECT_EQ(handler_.ends[0].tag, 7U);
    }
};

std::string close_frame(std::uint16_t code) {
    const std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
    return encode_client_frame(Opcode::close, payload, kMask);
}

TEST_F(ServerWebSocket, MessagesGoBothWays) {
    Peer peer = open();
    peer.text("one");
    peer.text("two");
    pump_until_messages(2);
    EXPECT_EQ(handler_.messages, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(handler_.last_tag, 7U);
    EXPECT_EQ(server_.send_text(id(), "answer"), SendResult::sent);
    const auto frame = std::make_shared<const std::string>(encode_text_frame("shared"));
    EXPECT_EQ(server_.send_text_shared(id(), frame), SendResult::sent);
    pump_until_got(peer,
                   "\x81\x06"
                   "answer\x81\x06"
                   "shared");
    EXPECT_EQ(server_.websocket_count(), 1U);
    EXPECT_EQ(server_.counters().frames_in, 2U);
}

TEST_F(ServerWebSocket, FramesRightBehindTheHandshakeAreRead) {
    Peer peer(port());
    peer.send(std::string(kUpgrade) + encode_client_frame(Opcode::text, "hello", kMask) +
              encode_client_frame(Opcode::text, "again", kMask));
    pump_until_messages(2);
}

TEST_F(ServerWebSocket, FramesBehindAHandshakeThatIsAnsweredLaterAreRead) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) {
        loop_.after(10ms, [this, id] { EXPECT_TRUE(server_.accept_websocket(id, "p.v1", 7)); });
    };
    Peer peer(port());
    peer.send(std::string(kUpgrade) + encode_client_frame(Opcode::text, "hello", kMask));
    pump_until_messages(1);
    pump_until_got(peer, "Sec-WebSocket-Protocol: p.v1\r\n");
}

TEST_F(ServerWebSocket, ARefusedHandshakeIsAnOrdinaryAnswer) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest& request) {
        EXPECT_TRUE(request.is_upgrade);
        HttpResponse response;
        response.status = 403;
        server_.respond(id, std::move(response));
    };
    Peer peer(port());
    peer.send(kUpgrade);
    pump_until_got(peer, "HTTP/1.1 403 Forbidden");
    EXPECT_FALSE(server_.accept_websocket(id(), {}, 1)) << "the time for it is over";
}

TEST_F(ServerWebSocket, MessagesMayComeByteByByte) {
    Peer peer = open();
    const std::string bytes = encode_client_frame(Opcode::text, "slow", kMask, false) +
                              encode_client_frame(Opcode::ping, "p", kMask) +
                              encode_client_frame(Opcode::continuation, " one", kMask);
    for (const char c : bytes) {
        peer.send({&c, 1});
        int rounds = 0;
        pump_until([&] { return ++rounds > 1; });
    }
    pump_until_messages(1);
    EXPECT_EQ(handler_.messages[0], "slow one");
    EXPECT_EQ(handler_.life,
              (std::vector<LifeKind>{LifeKind::fragment, LifeKind::ping, LifeKind::text}));
}

TEST_F(ServerWebSocket, PingsReadAtOnceAreAnsweredOneByOne) {
    Peer peer = open();
    std::string pings;
    std::string pongs;
    for (int i = 0; i < 10; ++i) {
        pings += encode_client_frame(Opcode::ping, "p" + std::to_string(i), kMask);
        pongs += "\x8A\x02p" + std::to_string(i);
    }
    peer.send(pings + encode_client_frame(static_cast<Opcode>(3), "", kMask));
    pump_until_closed(peer);
    EXPECT_TRUE(peer.received.starts_with(pongs + "\x88")) << "also ahead of a broken frame";
    EXPECT_EQ(server_.counters().pongs_merged, 0U);
}

TEST_F(ServerWebSocket, OfAFloodOfPingsOnlySomeAreAnsweredAndTheNewest) {
    Peer peer = open();
    peer.send(encode_client_frame(Opcode::ping, "first", kMask));
    pump_until_got(peer,
                   "\x8A\x05"
                   "first");
    std::string burst;
    for (int i = 0; i < 100; ++i) {
        burst += encode_client_frame(Opcode::ping, "b" + std::to_string(i), kMask);
    }
    peer.send(burst);
    pump_until_got(peer,
                   "\x8A\x03"
                   "b99");
    EXPECT_LE(peer.count("\x8A"), 1U + 2 * 32) << "in at most two reads";
    EXPECT_EQ(handler_.life.size(), 101U);
    EXPECT_GT(server_.counters().pongs_merged, 0U);
}

TEST_F(ServerWebSocket, ThePeersCloseIsAnsweredWithItsCode) {
    Peer peer = open();
    peer.send(close_frame(4001));
    pump_until_closed(peer);
    EXPECT_EQ(peer.received, "\x88\x02\x0F\xA1");
    EXPECT_FALSE(peer.reset);
    expect_end(How::peer_close, 4001, true);
    EXPECT_EQ(server_.connection_count(), 0U);
    EXPECT_EQ(handler_.life, (std::vector<LifeKind>{LifeKind::close}));
    EXPECT_EQ(server_.send_text(id(), "x"), SendResult::closed);
}

TEST_F(ServerWebSocket, DataBehindThePeersCloseIsIgnored) {
    Peer peer = open();
    peer.send(close_frame(1000) + encode_client_frame(Opcode::text, "late", kMask));
    pump_until_closed(peer);
    EXPECT_FALSE(peer.reset);
    expect_end(How::peer_close, 1000, true);
    EXPECT_TRUE(handler_.messages.empty());
}

TEST_F(ServerWebSocket, AnEndWithoutCloseIsALoss) {
    Peer peer = open();
    peer.hang_up();
    expect_end(How::lost, 0, false);
}

TEST_F(ServerWebSocket, AResetIsALoss) {
    Peer peer = open();
    peer.text("last words");
    pump_until_messages(1);
    peer.reset_connection();
    expect_end(How::lost, 0, false);
}

TEST_F(ServerWebSocket, WhatWasSentBeforeTheEndIsDelivered) {
    Peer peer = open();
    peer.text("last words");
    peer.hang_up();
    expect_end(How::lost, 0, false);
    EXPECT_EQ(handler_.messages, (std::vector<std::string>{"last words"}));
}

TEST_F(ServerWebSocket, ABrokenRuleIsToldWithItsCodeAndWithoutReset) {
    Peer peer = open();
    peer.send("\x81\x05plain" + std::string(30'000, 'x'));
    pump_until_closed(peer);
    EXPECT_EQ(peer.received.substr(2, 2), "\x03\xEA");
    EXPECT_TRUE(peer.got("protocol_error: frame is not masked"));
    EXPECT_FALSE(peer.reset);
    expect_end(How::protocol_error, 1002, false);
    EXPECT_EQ(server_.counters().closed_1002, 1U);
}

TEST_F(ServerWebSocket, TheMessageLimitIsTheConnectionsOwn) {
    Peer peer = open();
    peer.text(std::string(16 * 1024, 'x'));
    pump_until_messages(1);
    server_.set_message_limit(id(), 128 * 1024);
    peer.text(std::string(16 * 1024 + 1, 'x'));
    pump_until_messages(2);
    Peer other = open();
    other.text(std::string(16 * 1024 + 1, 'x'));
    pump_until_closed(other);
    EXPECT_EQ(other.received.substr(2, 2), "\x03\xF1");
    EXPECT_EQ(server_.counters().closed_1009, 1U);
}

TEST_F(ServerWebSocket, FO094_AMessageThatNeverEndsIsGivenUpThoughPingsComeBetween) {
    Peer peer = open();
    peer.send(encode_client_frame(Opcode::text, "a", kMask, false));
    pump_until([&] {
        peer.send_some(encode_client_frame(Opcode::ping, "", kMask));
        peer.poll();
        return peer.closed;
    });
    EXPECT_TRUE(peer.got("\x03\xF0policy"));
    expect_end(How::protocol_error, 1008, false);
    EXPECT_EQ(server_.counters().message_timeouts, 1U);
}

TEST_F(ServerWebSocket, AFrameThatNeverEndsIsGivenUp) {
    Peer peer = open();
    peer.send(encode_client_frame(Opcode::text, "abc", kMask).substr(0, 7));
    pump_until_closed(peer);
    expect_end(How::protocol_error, 1008, false);
}

TEST_F(ServerWebSocket, WholeMessagesInATimelyWayAreNeverGivenUp) {
    Peer peer = open();
    const std::string frame = encode_client_frame(Opcode::text, "abcdef", kMask);
    const MonoTime end = clock_.now() + 500ms;
    std::size_t at = 0;
    // Always a part of a frame is waiting, but each frame is whole soon.
    pump_until([&] {
        peer.send({frame.data() + at, 1});
        at = (at + 1) % frame.size();
        return clock_.now() > end;
    });
    EXPECT_TRUE(handler_.ends.empty());
    EXPECT_GT(handler_.messages.size(), 5U);
}

TEST_F(ServerWebSocket, OurCloseWaitsForThePeers) {
    Peer peer = open();
    server_.close(id(), 4403, "kicked");
    EXPECT_FALSE(server_.is_open(id()));
    pump_until_got(peer, "\x88\x08\x11\x33kicked");
    EXPECT_TRUE(handler_.ends.empty());
    peer.text("ignored");
    peer.send(close_frame(4403));
    expect_end(How::closed_by_us, 4403, true);
    EXPECT_TRUE(handler_.messages.empty());
    pump_until_closed(peer);
    EXPECT_FALSE(peer.reset);
}

TEST_F(ServerWebSocket, OurCloseDoesNotWaitForEver) {
    Peer peer = open();
    const MonoTime start = clock_.now();
    server_.close(id(), 4408, "too_slow");
    expect_end(How::closed_by_us, 4408, false);
    EXPECT_GE(clock_.now() - start, 300ms);
    EXPECT_LT(clock_.now() - start, 1500ms);
    pump_until_closed(peer);
    EXPECT_EQ(server_.counters().close_timeouts, 1U);
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST_F(ServerWebSocket, AnAbortIsToldLaterNotFromWithin) {
    Peer peer = open();
    bool inside = false;
    handler_.on_message_do = [&](ConnectionId id, std::string_view text) {
        inside = true;
        server_.abort(id);
        EXPECT_TRUE(handler_.ends.empty());
        EXPECT_EQ(text, "x") << "the view lives until the end of the call";
        inside = false;
        return true;
    };
    handler_.on_closed_do = [&](ConnectionId) { EXPECT_FALSE(inside); };
    peer.text("x");
    peer.text("y");
    expect_end(How::closed_by_us, 0, false);
    EXPECT_EQ(handler_.messages.size(), 1U);
}

TEST_F(ServerWebSocket, APausedConnectionKeepsItsMessagesInOrder) {
    Peer peer = open();
    handler_.on_message_do = [](ConnectionId, std::string_view text) { return text != "1"; };
    std::string all;
    for (int i = 1; i <= 5; ++i) {
        all += encode_client_frame(Opcode::text, std::to_string(i), kMask);
    }
    peer.send(all);
    pump_until_messages(1);
    peer.text("6");
    pump_a_little();
    EXPECT_EQ(handler_.messages, (std::vector<std::string>{"1"}));
    server_.resume_reading(id());
    EXPECT_EQ(handler_.messages.size(), 1U) << "not from within the call";
    pump_until_messages(6);
    EXPECT_EQ(handler_.messages, (std::vector<std::string>{"1", "2", "3", "4", "5", "6"}));
}

TEST_F(ServerWebSocket, APausedConnectionIsNotReadBeyondABuffer) {
    Peer peer = open();
    handler_.on_message_do = [](ConnectionId, std::string_view) { return false; };
    const std::string frame = encode_client_frame(Opcode::text, std::string(1000, 'x'), kMask);
    std::string flood;
    for (int i = 0; i < 1000; ++i) {
        flood += frame;
    }
    std::size_t sent = 0;
    const MonoTime end = clock_.now() + 200ms;
    pump_until([&] {
        sent += peer.send_some(std::string_view(flood).substr(sent % flood.size()));
        return clock_.now() > end;
    });
    EXPECT_EQ(handler_.messages.size(), 1U);
    EXPECT_LE(server_.counters().bytes_in, 128U * 1024U);
}

TEST_F(ServerWebSocket, APausedConnectionThatIsResetIsLost) {
    Peer peer = open();
    handler_.on_message_do = [](ConnectionId, std::string_view) { return false; };
    peer.text("1");
    pump_until_messages(1);
    peer.reset_connection();
    expect_end(How::lost, 0, false);
}

TEST_F(ServerWebSocket, ManyMessagesInOneReadAreAllDelivered) {
    Peer peer = open();
    std::string all;
    for (int i = 0; i < 20'000; ++i) {
        all += encode_client_frame(Opcode::text, std::to_string(i), kMask);
    }
    std::size_t sent = 0;
    pump_until([&] {
        sent += peer.send_some(std::string_view(all).substr(sent));
        return handler_.messages.size() == 20'000;
    });
    EXPECT_EQ(handler_.messages.back(), "19999");
}

TEST_F(ServerWebSocket, IdsAreNeverUsedTwice) {
    Peer first = open();
    const ConnectionId old = id();
    first.hang_up();
    pump_until_ended();
    Peer second = open();
    EXPECT_FALSE(id() == old);
    EXPECT_EQ(server_.send_text(old, "x"), SendResult::closed);
    EXPECT_FALSE(server_.is_open(old));
    server_.close(old, 1000, "");
    server_.abort(old);
    server_.resume_reading(old);
    EXPECT_TRUE(server_.is_open(id()));
}

}  // namespace
}  // namespace presence::net::testing
