#include "net_fixture.h"

#include <thread>

namespace presence::net::testing {
namespace {

using namespace std::literals;

/// A second server on a loop and thread of its own.
class Elsewhere {
public:
    Elsewhere() : server_(loop_, handler_), thread_([this] { loop_.run(); }) {
        handler_.server = &server_;
    }
    ~Elsewhere() { stop(); }

    void stop() {
        if (thread_.joinable()) {
            loop_.stop();
            thread_.join();
        }
    }
    void take(DetachedConnection connection, UserTag tag) {
        loop_.post([this, tag, held = std::make_shared<DetachedConnection>(std::move(connection))] {
            id_ = server_.adopt(std::move(*held), tag);
            EXPECT_TRUE(id_);
            EXPECT_TRUE(handler_.messages.empty()) << "not from within adopt";
            handler_.on_message_do = [this](ConnectionId id, std::string_view text) {
                server_.send_text(id, "echo " + std::string(text));
                return true;
            };
        });
    }
    /// Only after stop().
    [[nodiscard]] const Recorder& handler() const { return handler_; }
    [[nodiscard]] Server& server() { return server_; }

private:
    SystemClock clock_;
    Loop loop_{clock_};
    Recorder handler_;
    Server server_;
    ConnectionId id_;
    std::thread thread_;
};

class ServerHandover : public NetTest {};

TEST_F(ServerHandover, AConnectionMovesWithAllThatWasNotYetDelivered) {
    Elsewhere elsewhere;
    handler_.on_message_do = [&](ConnectionId id, std::string_view text) {
        EXPECT_EQ(text, "hello");
        elsewhere.take(server_.release(id), 99);
        EXPECT_FALSE(server_.is_open(id));
        return true;
    };
    Peer peer = open();
    std::string all = encode_client_frame(Opcode::text, "hello", kMask);
    for (int i = 0; i < 100; ++i) {
        all += encode_client_frame(Opcode::text, "m" + std::to_string(i), kMask);
    }
    const std::string last = encode_client_frame(Opcode::text, "last", kMask);
    peer.send(all + last.substr(0, 7));
    pump_until_got(peer, "echo m99");
    peer.send(last.substr(7));
    pump_until_got(peer, "echo last");
    elsewhere.stop();

    const auto& there = elsewhere.handler();
    ASSERT_EQ(there.messages.size(), 101U);
    EXPECT_EQ(there.messages[0], "m0");
    EXPECT_EQ(there.messages[99], "m99");
    EXPECT_EQ(there.last_tag, 99U);
    EXPECT_EQ(handler_.messages, (std::vector<std::string>{"hello"}));
    EXPECT_TRUE(handler_.ends.empty()) << "a release is no end";
    EXPECT_EQ(server_.connection_count(), 0U);
    EXPECT_EQ(server_.websocket_count(), 0U);
    EXPECT_EQ(elsewhere.server().websocket_count(), 1U);
}

TEST_F(ServerHandover, AnUnfinishedMessageAndTheLimitMoveAlong) {
    Elsewhere elsewhere;
    Peer peer = open();
    peer.send(encode_client_frame(Opcode::text, "one ", kMask, false));
    pump_until([&] { return !handler_.life.empty(); });
    server_.set_message_limit(id(), 10);
    elsewhere.take(server_.release(id()), 1);
    peer.send(encode_client_frame(Opcode::continuation, "whole", kMask));
    pump_until_got(peer, "echo one whole");
    peer.text("over the limit");
    pump_until_closed(peer);
    EXPECT_TRUE(peer.got("\x03\xF1message_too_large"));
}

TEST_F(ServerHandover, WhatIsQueuedMovesAlong) {
    Elsewhere elsewhere;
    Peer peer = open(8192);
    const std::string large(500'000, 'L');
    while (server_.send_text(id(), large) == SendResult::sent) {
    }
    elsewhere.take(server_.release(id()), 1);
    peer.text("done?");
    pump_until_got(peer, "echo done?");
}

TEST_F(ServerHandover, APausedConnectionReadsOnAfterItsMove) {
    Elsewhere elsewhere;
    handler_.on_message_do = [](ConnectionId, std::string_view) { return false; };
    Peer peer = open();
    peer.text("hello");
    peer.text("second");
    pump_until_messages(1);
    peer.text("third");
    pump_a_little();
    elsewhere.take(server_.release(id()), 1);
    pump_until_got(peer, "echo third");
    EXPECT_TRUE(peer.got("echo second"));
}

TEST_F(ServerHandover, APingIsAnsweredBeforeTheMove) {
    Elsewhere elsewhere;
    handler_.on_message_do = [&](ConnectionId id, std::string_view) {
        elsewhere.take(server_.release(id), 1);
        return true;
    };
    Peer peer = open();
    peer.send(encode_client_frame(Opcode::ping, "p", kMask) +
              encode_client_frame(Opcode::text, "go", kMask) +
              encode_client_frame(Opcode::text, "there", kMask));
    pump_until_got(peer, "echo there");
    EXPECT_TRUE(peer.received.starts_with("\x8A\x01p"));
}

TEST_F(ServerHandover, OneThatNobodyAdoptsIsClosed) {
    Peer peer = open();
    { const DetachedConnection dropped = server_.release(id()); }
    pump_until_closed(peer);
    EXPECT_FALSE(server_.release(id())) << "a dead id gives nothing";
}

TEST_F(ServerHandover, AClosingConnectionStays) {
    Peer peer = open();
    server_.close(id(), 1000, "");
    EXPECT_FALSE(server_.release(id()));
}

}  // namespace
}  // namespace presence::net::testing
