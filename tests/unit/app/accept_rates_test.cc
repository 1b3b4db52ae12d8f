// How often a node takes connections, whichever of its threads they come in at.

#include "presence/app/accept_rates.h"

#include "presence/net/socket.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <string>

namespace presence::app {
namespace {

constexpr MonoTime kNow{Millis{1'000'000}};

net::RemoteAddress remote(const std::string& text) {
    sockaddr_storage storage{};
    if (text.find(':') == std::string::npos) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), &v4.sin_addr), 1);
        std::memcpy(&storage, &v4, sizeof v4);
    } else {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1);
        std::memcpy(&storage, &v6, sizeof v6);
    }
    return net::to_remote_address(storage);
}

class AcceptRatesTest : public ::testing::Test {
protected:
    int taken(const std::string& address, int tries, MonoTime now = kNow) {
        int taken = 0;
        for (int i = 0; i < tries; ++i) {
            taken += rates.take(remote(address), is_proxy, limits, now) ? 1 : 0;
        }
        return taken;
    }
    Limits limits;
    AcceptRates rates;
    bool is_proxy = false;
};

TEST_F(AcceptRatesTest, AWaveFromOneAddressIsTakenUpToTheBurstOnWhicheverThreadItLands) {
    EXPECT_EQ(taken("192.0.2.1", 150), 100);
    EXPECT_EQ(taken("192.0.2.2", 1), 1);
    EXPECT_EQ(taken("192.0.2.1", 50, kNow + 1s), 20);
}

TEST_F(AcceptRatesTest, AddressesOfOneNetworkOf64BitsCountAsOne) {
    limits.address_accepts_burst = 3;
    EXPECT_EQ(taken("2001:db8:0:1::1", 2), 2);
    EXPECT_EQ(taken("2001:db8:0:1:ffff::2", 2), 1);
    EXPECT_EQ(taken("2001:db8:0:2::1", 3), 3);
}

TEST_F(AcceptRatesTest, AnAddressMappedIntoIpv6IsTheIpv4One) {
    limits.address_accepts_burst = 2;
    EXPECT_EQ(taken("192.0.2.1", 1), 1);
    EXPECT_EQ(taken("::ffff:192.0.2.1", 2), 1);
}

TEST_F(AcceptRatesTest, LoopbackCountsForTheNodeAlone) {
    limits.accepts_burst = 250;
    EXPECT_EQ(taken("127.0.0.1", 200), 200);
    EXPECT_EQ(taken("::1", 100), 50);
}

TEST_F(AcceptRatesTest, AProxyIsSparedAndWhoComesThroughItIsNot) {
    is_proxy = true;
    EXPECT_EQ(taken("10.0.0.1", 150), 150);
    limits.address_accepts_burst = 2;
    const auto client = [this] { return rates.take_of_address(remote("192.0.2.1"), limits, kNow); };
    EXPECT_TRUE(client());
    EXPECT_TRUE(client());
    EXPECT_FALSE(client());
    is_proxy = false;
    EXPECT_EQ(taken("192.0.2.1", 1), 0);  // The same bucket, whichever way it comes.
}

}  // namespace
}  // namespace presence::app
