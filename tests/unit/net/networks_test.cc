// Which addresses are a proxy's, and whom a proxy speaks for.

#include "presence/net/networks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence::net {
namespace {

Networks networks(const std::vector<std::string>& entries) {
    return Networks::parse(entries).value();
}

bool holds(const Networks& all, const std::string& address) {
    return all.contains(parse_address(address).value());
}

TEST(Networks, HoldWhatLiesInThem) {
    const Networks all = networks({"10.0.0.0/8", "192.0.2.7", "2001:db8::/33", "172.16.0.0/12"});
    EXPECT_TRUE(holds(all, "10.255.0.1"));
    EXPECT_FALSE(holds(all, "11.0.0.1"));
    EXPECT_TRUE(holds(all, "192.0.2.7"));
    EXPECT_FALSE(holds(all, "192.0.2.6"));
    EXPECT_TRUE(holds(all, "172.31.255.255"));
    EXPECT_FALSE(holds(all, "172.32.0.0"));
    EXPECT_TRUE(holds(all, "2001:db8:7fff::1"));
    EXPECT_FALSE(holds(all, "2001:db8:8000::1"));
    EXPECT_TRUE(holds(all, "::ffff:10.1.2.3"));
    EXPECT_TRUE(holds(networks({"0.0.0.0/0"}), "203.0.113.1"));
    EXPECT_FALSE(holds(networks({"0.0.0.0/0"}), "2001:db8::1"));
    EXPECT_TRUE(holds(networks({"::/0"}), "203.0.113.1"));
    EXPECT_FALSE(holds(networks({}), "127.0.0.1"));
}

TEST(Networks, RefuseWhatIsNone) {
    for (const char* entry : {"", "/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8",
                              "::/129", "proxy.example.com", "10.0.0.1:80", "10.0.0.0/8 "}) {
        const std::vector<std::string> entries{"127.0.0.1", entry};
        const auto parsed = Networks::parse(entries);
        ASSERT_FALSE(parsed.has_value()) << entry;
        EXPECT_EQ(parsed.error().code, ErrorCode::bad_request);
    }
}

TEST(ParseAddress, TakesPortsAndBrackets) {
    EXPECT_EQ(parse_address("192.0.2.7:443")->text, "192.0.2.7");
    EXPECT_EQ(parse_address("[2001:db8::7]:443")->text, "2001:db8::7");
    EXPECT_EQ(parse_address("[2001:db8::7]")->text, "2001:db8::7");
    EXPECT_EQ(parse_address("2001:db8::7")->text, "2001:db8::7");
    EXPECT_TRUE(parse_address("127.0.0.1")->is_loopback);
    for (const char* text : {"", "unknown", "_hidden", "192.0.2.7:", "192.0.2.7:65536", "[::1",
                             "[::1]x", "[192.0.2.7", "fe80::1%eth0", "192.0.2.256"}) {
        EXPECT_FALSE(parse_address(text)) << text;
    }
    EXPECT_FALSE(parse_address(std::string(5000, '1')));
}

std::string client(const std::vector<std::string>& headers) {
    HttpRequest request;
    request.headers.emplace_back("Host", "198.51.100.1");
    for (const std::string& value : headers) {
        request.headers.emplace_back("X-Forwarded-For", value);
    }
    const auto found = forwarded_for(request, networks({"10.0.0.0/8"}));
    return found ? found->text : "none";
}

TEST(ForwardedFor, FO099TheRightmostThatIsNoProxyCounts) {
    EXPECT_EQ(client({"192.0.2.1"}), "192.0.2.1");
    EXPECT_EQ(client({"1.1.1.1, 192.0.2.1"}), "192.0.2.1");
    EXPECT_EQ(client({"1.1.1.1, 192.0.2.1, 10.0.0.2,10.0.0.3"}), "192.0.2.1");
    EXPECT_EQ(client({"1.1.1.1", "192.0.2.1, 10.0.0.2"}), "192.0.2.1");
    EXPECT_EQ(client({"192.0.2.1:55123"}), "192.0.2.1");
    EXPECT_EQ(client({"[2001:db8::1]:5, 10.0.0.2"}), "2001:db8::1");
}

TEST(ForwardedFor, FO099GarbageIsNobodysAddress) {
    EXPECT_EQ(client({}), "none");
    EXPECT_EQ(client({""}), "none");
    EXPECT_EQ(client({"unknown"}), "none");
    EXPECT_EQ(client({"192.0.2.1, unknown"}), "none");
    EXPECT_EQ(client({"unknown, 10.0.0.2"}), "10.0.0.2");
    EXPECT_EQ(client({", , ,"}), "none");
    std::string many;
    for (int i = 0; i < 1000; ++i) {
        many += "10.0.0.2,";
    }
    EXPECT_EQ(client({many + "10.0.0.2"}), "10.0.0.2");
}

}  // namespace
}  // namespace presence::net
