#include "net_fixture.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace presence::net::testing {
namespace {

using namespace std::literals;

/// A self-signed certificate and its key in files that go with the object.
class Certificate {
public:
    explicit Certificate(const char* name)
        : folder_(std::filesystem::temp_directory_path() /
                  ("net_tls_" + std::to_string(::getpid()) + "_" + name)) {
        std::filesystem::create_directories(folder_);
        EVP_PKEY* pkey = EVP_EC_gen("P-256");
        X509* x509 = X509_new();
        ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
        X509_gmtime_adj(X509_getm_notBefore(x509), 0);
        X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
        X509_set_pubkey(x509, pkey);
        X509_NAME* subject = X509_get_subject_name(x509);
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
        X509_set_issuer_name(x509, subject);
        X509_sign(x509, pkey, EVP_sha256());
        std::FILE* file = std::fopen(certificate().c_str(), "w");
        PEM_write_X509(file, x509);
        std::fclose(file);
        file = std::fopen(key().c_str(), "w");
        PEM_write_PrivateKey(file, pkey, nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
        X509_free(x509);
        EVP_PKEY_free(pkey);
    }
    ~Certificate() { std::filesystem::remove_all(folder_); }
    Certificate(const Certificate&) = delete;
    Certificate& operator=(const Certificate&) = delete;

    [[nodiscard]] std::string certificate() const { return folder_ / "certificate.pem"; }
    [[nodiscard]] std::string key() const { return folder_ / "key.pem"; }

private:
    std::filesystem::path folder_;
};

/// A TLS client over memory, so that the test decides when bytes move.
class TlsPeer {
public:
    explicit TlsPeer(std::uint16_t port, int receive_buffer = 0)
        : raw(port, receive_buffer),
          context_(SSL_CTX_new(TLS_client_method())),
          ssl_(SSL_new(context_)) {
        SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_connect_state(ssl_);
        SSL_do_handshake(ssl_);
        push();
    }
    ~TlsPeer() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }
    TlsPeer(const TlsPeer&) = delete;
    TlsPeer& operator=(const TlsPeer&) = delete;

    void send(std::string_view bytes) {
        unsent_ += bytes;
        poll();
    }
    void poll() {
        raw.poll();
        if (!raw.received.empty()) {
            BIO_write(SSL_get_rbio(ssl_), raw.received.data(),
                      static_cast<int>(raw.received.size()));
            raw.received.clear();
        }
        char bytes[16 * 1024];
        for (int got = 0; (got = SSL_read(ssl_, bytes, sizeof bytes)) > 0;) {
            received.append(bytes, static_cast<std::size_t>(got));
        }
        if (!unsent_.empty() && SSL_is_init_finished(ssl_) != 0) {
            SSL_write(ssl_, unsent_.data(), static_cast<int>(unsent_.size()));
            unsent_.clear();
        }
        push();
    }
    [[nodiscard]] bool got(std::string_view text) const {
        return received.find(text) != std::string::npos;
    }
    [[nodiscard]] std::string server_name() const {
        X509* x509 = SSL_get1_peer_certificate(ssl_);
        char name[64] = {};
        X509_NAME_get_text_by_NID(X509_get_subject_name(x509), NID_commonName, name, sizeof name);
        X509_free(x509);
        return name;
    }
    [[nodiscard]] int version() const { return SSL_version(ssl_); }

    Peer raw;
    std::string received;

private:
    void push() {
        char bytes[16 * 1024];
        for (int got = 0; (got = BIO_read(SSL_get_wbio(ssl_), bytes, sizeof bytes)) > 0;) {
            raw.send({bytes, static_cast<std::size_t>(got)});
        }
    }
    SSL_CTX* context_;
    SSL* ssl_;
    std::string unsent_;
};

class ServerTls : public NetTest {
protected:
    ServerTls() {
        tls_listener_ = Listener::open("127.0.0.1:0").value();
        server_.listen(tls_listener_, TlsContext::load(first_.certificate(), first_.key()).value());
    }
    void pump_until_got(TlsPeer& peer, std::string_view text) {
        pump_until([&] {
            peer.poll();
            return peer.got(text) || peer.raw.closed;
        });
        EXPECT_TRUE(peer.got(text)) << peer.received.substr(0, 200);
    }

    Certificate first_{"first"};
    std::shared_ptr<Listener> tls_listener_;
};

TEST_F(ServerTls, HttpAndWebSocketWorkOverTls) {
    TlsPeer peer(tls_listener_->port());
    peer.send("GET /secret HTTP/1.1\r\nHost: h\r\n\r\n");
    pump_until_got(peer, "path /secret");
    EXPECT_GE(peer.version(), TLS1_2_VERSION);
    peer.send(kUpgrade);
    pump_until_got(peer, "101 Switching");
    peer.send(encode_client_frame(Opcode::text, "hello", kMask));
    pump_until_messages(1);
    server_.send_text(id(), "answer");
    pump_until_got(peer,
                   "\x81\x06"
                   "answer");
    server_.close(id(), 4401, "token_expired");
    pump_until_got(peer, "token_expired");
}

TEST_F(ServerTls, PlainClientsOnTheSameServerAreServedToo) {
    Peer peer(port());
    peer.send("GET /plain HTTP/1.1\r\nHost: h\r\n\r\n");
    NetTest::pump_until_got(peer, "path /plain");
}

TEST_F(ServerTls, NonsenseInsteadOfAHandshakeIsClosedAndCounted) {
    Peer peer(tls_listener_->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    pump_until_closed(peer);
    EXPECT_EQ(server_.counters().tls_failures, 1U);
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST_F(ServerTls, ABlockedConnectionLosesNoByte) {
    TlsPeer peer(tls_listener_->port(), 8192);
    peer.send(kUpgrade);
    pump_until_got(peer, "101 Switching");
    peer.received.clear();
    std::string expected;
    const auto queue = [&](std::string text) {
        const auto frame = std::make_shared<const std::string>(encode_text_frame(text));
        const SendResult result = server_.send_text_shared(id(), frame);
        if (result != SendResult::overflow) {
            expected += *frame;
        }
        return result;
    };
    int n = 0;
    while (queue(std::string(20'000, static_cast<char>('a' + n % 26))) == SendResult::sent) {
        ++n;
    }
    queue("small");
    queue(std::string(30'000, 'z'));
    pump_until([&] {
        peer.poll();
        return peer.received.size() >= expected.size();
    });
    EXPECT_EQ(peer.received, expected);
}

TEST_F(ServerTls, AReloadServesNewConnectionsAndKeepsTheOld) {
    TlsPeer old(tls_listener_->port());
    old.send(kUpgrade);
    pump_until_got(old, "101 Switching");
    const Certificate second("second");
    server_.reload_tls(TlsContext::load(second.certificate(), second.key()).value());
    TlsPeer fresh(tls_listener_->port());
    fresh.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    pump_until_got(fresh, "path /x");
    EXPECT_EQ(old.server_name(), "first");
    EXPECT_EQ(fresh.server_name(), "second");
    old.send(encode_client_frame(Opcode::text, "still here", kMask));
    pump_until_messages(1);
}

TEST_F(ServerTls, AConnectionMovesToAnotherServerWithItsTls) {
    Loop other_loop{clock_};
    Recorder other_handler;
    Server other(other_loop, other_handler);
    TlsPeer peer(tls_listener_->port());
    peer.send(kUpgrade);
    pump_until_got(peer, "101 Switching");
    peer.send(encode_client_frame(Opcode::text, "first", kMask));
    pump_until_messages(1);
    const ConnectionId moved = other.adopt(server_.release(id()), 5);
    peer.send(encode_client_frame(Opcode::text, "second", kMask));
    other_loop.set_tick(1ms, [&](const Loop::Tick&) {
        peer.poll();
        if (!other_handler.messages.empty()) {
            other.send_text(moved, "answer");
            other_loop.stop();
        }
    });
    other_loop.after(10s, [&] { other_loop.stop(); });
    other_loop.run();
    EXPECT_EQ(other_handler.messages, (std::vector<std::string>{"second"}));
    pump_until_got(peer, "answer");
}

TEST_F(ServerTls, AHandshakeThatNeverEndsIsGivenUp) {
    NetLimits limits;
    limits.http_head_timeout = 150ms;
    server_.set_limits(limits);
    Peer silent(tls_listener_->port());
    Peer dripping(tls_listener_->port());
    const std::string hello =
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s + std::string(300, 'x');
    std::size_t at = 0;
    MonoTime next = clock_.now();
    pump_until([&] {
        if (clock_.now() >= next && at < hello.size()) {
            dripping.send_some(hello.substr(at++, 1));
            next = next + 10ms;
        }
        silent.poll();
        dripping.poll();
        return silent.closed && dripping.closed;
    });
    EXPECT_GT(at, 5U);
    EXPECT_LT(at, 100U);
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST(TlsContext, SaysWhatIsWrongWithItsFiles) {
    const Certificate one("one");
    const Certificate two("two");
    const auto missing = TlsContext::load("/nowhere/c.pem", one.key());
    ASSERT_FALSE(missing.has_value());
    EXPECT_NE(missing.error().message.find("/nowhere/c.pem"), std::string::npos);
    const auto mixed = TlsContext::load(one.certificate(), two.key());
    ASSERT_FALSE(mixed.has_value());
    EXPECT_NE(mixed.error().message.find(two.key()), std::string::npos);
}

}  // namespace
}  // namespace presence::net::testing
