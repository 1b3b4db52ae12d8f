#include "presence/stores/redis/tls.h"

#include "presence/base/assert.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <netinet/in.h>

namespace presence::redis {

namespace {

std::string last_error() {
    std::array<char, 256> text{"unknown"};
    if (const unsigned long code = ERR_get_error(); code != 0) {
        ERR_error_string_n(code, text.data(), text.size());
    }
    ERR_clear_error();
    return text.data();
}

bool is_address(const std::string& host) {
    in6_addr ignored{};
    return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

}  // namespace

Result<TlsContext> load_tls(const RedisConfig& config) {
    if (!config.tls) {
        return TlsContext();
    }
    // OpenSSL writes with write(2), which raises SIGPIPE on a closed socket.
    std::signal(SIGPIPE, SIG_IGN);
    ERR_clear_error();
    const TlsContext tls(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    PRESENCE_ASSERT(tls != nullptr);
    SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(tls.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(tls.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(tls.get(), SSL_VERIFY_PEER, nullptr);
    const bool loaded = config.tls_ca.empty() ? SSL_CTX_set_default_verify_paths(tls.get()) == 1
                                              : SSL_CTX_load_verify_locations(
                                                    tls.get(), config.tls_ca.c_str(), nullptr) == 1;
    if (!loaded) {
        return Error{ErrorCode::bad_request,
                     "authorities of TLS, " + config.tls_ca + ": " + last_error(), 0, 0};
    }
    return tls;
}

TlsSession open_tls(ssl_ctx_st& context, int fd, const std::string& host) {
    ERR_clear_error();
    TlsSession session(SSL_new(&context), &SSL_free);
    PRESENCE_ASSERT(session != nullptr);
    SSL_set_fd(session.get(), fd);
    SSL_set_connect_state(session.get());
    int named = 0;
    if (is_address(host)) {
        named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str());
    } else {
        named = SSL_set1_host(session.get(), host.c_str());
        // What SSL_set_tlsext_host_name is, without its old casts.
        std::string name = host;
        SSL_ctrl(session.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 name.data());
    }
    PRESENCE_ASSERT(named == 1);
    return session;
}

std::string tls_trouble(const ssl_st& session) {
    const long verified = SSL_get_verify_result(&session);
    if (verified != X509_V_OK) {
        return X509_verify_cert_error_string(verified);
    }
    return last_error();
}

}  // namespace presence::redis
