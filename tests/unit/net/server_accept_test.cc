#include "presence/base/log.h"
#include "presence/net/socket.h"
#include "presence/net/strangers.h"

#include "net_fixture.h"

#include <fcntl.h>
#include <sys/resource.h>

namespace presence::net::testing {
namespace {

using namespace std::literals;

NetLimits few() {
    NetLimits limits;
    limits.unadmitted_per_address = 3;
    limits.unadmitted_total = 5;
    limits.limit_loopback = true;
    return limits;
}

class ServerAccept : public NetTest {};
class ServerAcceptFew : public NetTest {
protected:
    ServerAcceptFew() : NetTest(few()) {}
};

TEST(Listener, TellsWhereItListens) {
    const auto listener = Listener::open("127.0.0.1:0").value();
    EXPECT_GT(listener->port(), 0);
    EXPECT_EQ(listener->address(), "127.0.0.1:" + std::to_string(listener->port()));

    const auto taken = Listener::open(listener->address());
    ASSERT_FALSE(taken.has_value());
    EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
    EXPECT_NE(taken.error().message.find(listener->address()), std::string::npos);
}

TEST(Listener, RefusesWhatIsNoAddress) {
    for (const char* text : {"", "8080", ":8080", "example.com:80", "127.0.0.1:", "127.0.0.1:x",
                             "127.0.0.1:65536", "[::1:80", "1.2.3:80"}) {
        const auto listener = Listener::open(text);
        ASSERT_FALSE(listener.has_value()) << text;
        EXPECT_EQ(listener.error().code, ErrorCode::bad_request) << text;
    }
}

sockaddr_storage address_of(const char* v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(99);
    EXPECT_EQ(::inet_pton(AF_INET6, v6, &address.sin6_addr), 1);
    sockaddr_storage storage{};
    std::memcpy(&storage, &address, sizeof address);
    return storage;
}

TEST(Address, MappedIpv4IsIpv4) {
    const RemoteAddress remote = to_remote_address(address_of("::ffff:127.0.0.1"));
    EXPECT_EQ(remote.text, "127.0.0.1");
    EXPECT_EQ(remote.port, 99);
    EXPECT_TRUE(remote.is_loopback);
    EXPECT_TRUE(to_remote_address(address_of("::1")).is_loopback);
    EXPECT_FALSE(to_remote_address(address_of("2001:db8::7")).is_loopback);
    EXPECT_EQ(to_remote_address(address_of("2001:db8::7")).text, "2001:db8::7");
}

TEST(Address, LimitsSeeOneHostBehindA64) {
    EXPECT_EQ(to_address_key(address_of("2001:db8::7")), to_address_key(address_of("2001:db8::8")));
    EXPECT_FALSE(to_address_key(address_of("2001:db8:0:1::7")) ==
                 to_address_key(address_of("2001:db8::7")));
    EXPECT_FALSE(to_address_key(address_of("::ffff:1.2.3.4")) ==
                 to_address_key(address_of("::ffff:1.2.3.5")));
}

TEST_F(ServerAccept, Ipv6Works) {
    const auto v6 = Listener::open("[::1]:0");
    if (!v6.has_value()) {
        GTEST_SKIP() << v6.error().message;
    }
    server_.listen(v6.value());
    const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(v6.value()->port());
    address.sin6_addr = in6addr_loopback;
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    pump_until([&] { return server_.connection_count() == 1; });
    EXPECT_EQ(handler_.remotes[0].text, "::1");
    EXPECT_TRUE(handler_.remotes[0].is_loopback);
    ::close(fd);
}

TEST_F(ServerAccept, TheHandlerMayRefuse) {
    handler_.accepts = false;
    Peer peer(port());
    pump_until_closed(peer);
    EXPECT_EQ(server_.counters().refused_by_handler, 1U);
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST_F(ServerAccept, AfterStopAcceptingOnlyThoseHereAreServed) {
    Peer peer = open();
    server_.stop_accepting();
    peer.text("still here");
    pump_until_messages(1);
    Peer late(port());
    pump_a_little();
    EXPECT_EQ(server_.connection_count(), 1U);
}

TEST(StrangersTest, LimitsHoldOverAllWhoShareThem) {
    Strangers strangers;
    const AddressKey office = to_address_key(address_of("::ffff:192.0.2.1"));
    const AddressKey home = to_address_key(address_of("2001:db8::1"));
    EXPECT_EQ(strangers.take(office, 2, 3), Strangers::Answer::taken);
    EXPECT_EQ(strangers.take(office, 2, 3), Strangers::Answer::taken);
    EXPECT_EQ(strangers.take(office, 2, 3), Strangers::Answer::too_many_here);
    EXPECT_EQ(strangers.take(home, 2, 3), Strangers::Answer::taken);
    EXPECT_EQ(strangers.take(home, 2, 3), Strangers::Answer::too_many);
    EXPECT_EQ(strangers.count(), 3U);
    strangers.give_back(office);
    EXPECT_EQ(strangers.take(home, 2, 3), Strangers::Answer::taken);
    strangers.give_back(office);
    strangers.give_back(home);
    strangers.give_back(home);
    EXPECT_EQ(strangers.count(), 0U);
}

TEST_F(ServerAcceptFew, FO099_ConnectionsOfAProxyCountForTheClientsThatItNames) {
    handler_.peers_are_proxies = true;
    std::vector<ConnectionId> ids;
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) {
        server_.accept_websocket(id, {}, handler_.next_tag++);
        ids.push_back(id);
    };
    std::vector<Peer> peers;
    for (std::size_t i = 0; i < 8; ++i) {  // Over both limits, were they the proxy's own.
        peers.emplace_back(port());
        peers.back().send(kUpgrade);
        pump_until([&] { return ids.size() == i + 1; });
    }
    const RemoteAddress client = to_remote_address(address_of("2001:db8::7"));
    EXPECT_TRUE(server_.count_for(ids[0], client));
    EXPECT_TRUE(server_.count_for(ids[1], client));
    EXPECT_TRUE(server_.count_for(ids[2], client));
    EXPECT_FALSE(server_.count_for(ids[3], client));
    EXPECT_EQ(server_.counters().refused_per_address, 1U);
    EXPECT_TRUE(server_.count_for(ids[3], to_remote_address(address_of("2001:db8:1::7"))));
    server_.set_admitted(ids[0]);
    EXPECT_TRUE(server_.count_for(ids[4], client));
    EXPECT_FALSE(server_.count_for(ids[5], client));
}

TEST_F(ServerAcceptFew, FO097_TwoServersThatShareTheirStrangersShareTheLimit) {
    const auto shared = std::make_shared<Strangers>();
    Recorder second_handler;
    Loop second_loop(clock_);
    NetLimits limits;
    limits.unadmitted_per_address = 1;
    limits.limit_loopback = true;
    const auto listener = Listener::open("127.0.0.1:0").value();
    Server second(second_loop, second_handler, limits, shared);
    second_handler.server = &second;
    ASSERT_EQ(shared->take(to_address_key(address_of("::ffff:127.0.0.1")), 1, 10),
              Strangers::Answer::taken);  // As another thread's server would.
    second.listen(listener);
    Peer peer(listener->port());
    second_loop.set_tick(1ms, [&](const Loop::Tick&) {
        if (second.counters().refused_per_address == 1) {
            second_loop.stop();
        }
    });
    second_loop.run();
    EXPECT_EQ(second.connection_count(), 0U);
    EXPECT_EQ(shared->count(), 1U);
}

TEST_F(ServerAcceptFew, ConnectionsAreCountedOverAllServersThatShare) {
    const auto shared = std::make_shared<Strangers>();
    Recorder second_handler;
    Loop second_loop(clock_);
    const auto listener = Listener::open("127.0.0.1:0").value();
    shared->connection_opened();  // As another thread's server would.
    {
        Server second(second_loop, second_handler, NetLimits{}, shared);
        second_handler.server = &second;
        second.listen(listener);
        Peer peer(listener->port());
        second_loop.set_tick(1ms, [&](const Loop::Tick&) {
            if (second.connection_count() == 1) {
                second_loop.stop();
            }
        });
        second_loop.run();
        EXPECT_EQ(second.connection_count(), 1U);
        EXPECT_EQ(second.shared_connection_count(), 2U);
    }
    EXPECT_EQ(shared->connections(), 1U);
}

TEST_F(ServerAcceptFew, FO097_StrangersOfOneAddressAreLimitedUntilTheyAreAdmitted) {
    std::vector<Peer> peers;
    for (int i = 0; i < 3; ++i) {
        peers.push_back(open());
    }
    Peer fourth(port());
    pump_until_closed(fourth);
    EXPECT_EQ(server_.counters().refused_per_address, 1U);

    server_.set_admitted(id());
    server_.set_admitted(id());
    Peer fifth = open();
    Peer sixth(port());
    pump_until_closed(sixth);

    peers.front().hang_up();
    pump_until_ended();
    Peer seventh = open();
    EXPECT_TRUE(server_.is_open(id()));
}

TEST_F(ServerAccept, LoopbackIsFreeUnlessLimited) {
    NetLimits limits;
    limits.unadmitted_per_address = 1;
    limits.unadmitted_total = 1;
    server_.set_limits(limits);
    Peer first = open();
    Peer second = open();
    EXPECT_EQ(server_.websocket_count(), 2U);
}

TEST_F(ServerAcceptFew, AllStrangersTogetherAreLimited) {
    NetLimits limits = few();
    limits.unadmitted_per_address = 100;
    server_.set_limits(limits);
    std::vector<Peer> peers;
    for (int i = 0; i < 5; ++i) {
        peers.push_back(open());
    }
    Peer sixth(port());
    pump_until_closed(sixth);
    EXPECT_EQ(server_.counters().refused_total, 1U);
}

TEST_F(ServerAccept, OutOfDescriptorsItPausesAndComesBack) {
    // UBSan looks at virtual calls with the help of a pipe, for which there is no descriptor
    // either: what is called meanwhile must have been called before.
    log::configure(log::Level::off, log::Format::text);
    Peer before = open();
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
    // The client's side of the next connection takes the last descriptor.
    const int next_free = ::dup(0);
    ASSERT_GE(next_free, 0);
    ::close(next_free);
    const rlimit tight{static_cast<rlim_t>(next_free) + 1, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);

    Peer shed(port());
    pump_until_closed(shed);
    EXPECT_EQ(server_.counters().accept_pauses, 1U);
    EXPECT_EQ(server_.counters().accept_shed, 1U);
    before.text("served all the while");
    pump_until_messages(1);
    shed.hang_up();

    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
    Peer after = open();
    EXPECT_EQ(server_.websocket_count(), 2U);
}

TEST_F(ServerAccept, FO007_ClientsThatVanishAtOnceLeaveNothing) {
    for (int i = 0; i < 300; ++i) {
        Peer peer(port());
        if (i % 3 != 0) {
            peer.send(kUpgrade);
        }
        if (i % 3 == 1) {
            peer.text("hello");
        }
        if (i % 2 == 0) {
            peer.reset_connection();
        }
        if (i % 50 == 0) {
            pump_a_little();
        }
    }
    pump_until(
        [&] { return server_.connection_count() == 0 && server_.counters().accepted > 200; });
    EXPECT_EQ(server_.websocket_count(), 0U);
    EXPECT_EQ(handler_.ends.size(), server_.counters().upgrades);
}

}  // namespace
}  // namespace presence::net::testing
