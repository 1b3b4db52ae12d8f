#include "presence/auth/key.h"

#include "presence/auth/limits.h"
#include "presence/base/assert.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <array>

namespace presence::auth {

namespace {

template <auto Free>
struct Freed {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

using PublicKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using PublicKeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Mac = std::unique_ptr<EVP_MAC, Freed<EVP_MAC_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, Freed<EVP_MAC_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

/// Leaves no error behind in the thread's queue, where the TLS code of the same thread would take
/// it for its own.
struct ErrorsCleared {
    ErrorsCleared() = default;
    ErrorsCleared(const ErrorsCleared&) = delete;
    ErrorsCleared& operator=(const ErrorsCleared&) = delete;
    ~ErrorsCleared() { ERR_clear_error(); }
};

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

Error refused(std::string message) {
    return Error{.code = ErrorCode::bad_request, .message = std::move(message)};
}

Number number_of(std::string_view bytes) {
    return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

/// A public key from its parameters; null if OpenSSL refuses them.
PublicKey public_key_of(const char* kind, OSSL_PARAM_BLD* builder) {
    const Params params(OSSL_PARAM_BLD_to_param(builder));
    const PublicKeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
    EVP_PKEY* made = nullptr;
    if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
        return nullptr;
    }
    return PublicKey(made);
}

bool is_p256(const EVP_PKEY* key) {
    std::array<char, 64> group{};
    return EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group.data(),
                                          group.size(), nullptr) == 1 &&
           (std::string_view(group.data()) == "prime256v1" ||
            std::string_view(group.data()) == "P-256");
}

/// JOSE writes the two numbers of an ECDSA signature one after the other; OpenSSL wants DER.
std::string der_of(std::string_view signature) {
    Number r = number_of(signature.substr(0, 32));
    Number s = number_of(signature.substr(32));
    const EcdsaSignature pair(ECDSA_SIG_new());
    if (!r || !s || !pair || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) {
        return {};
    }
    static_cast<void>(r.release());
    static_cast<void>(s.release());
    unsigned char* encoded = nullptr;
    const int length = i2d_ECDSA_SIG(pair.get(), &encoded);
    if (length <= 0) {
        return {};
    }
    std::string der(reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(length));
    OPENSSL_free(encoded);
    return der;
}

}  // namespace

struct Key::Material {
    PublicKey public_key;  ///< Null for a shared secret.
    MacContext mac;        ///< Keyed; duplicated for each use. Null for a public key.
};

Key Key::from_secret(std::string_view secret, std::string id) {
    PRESENCE_ASSERT(!secret.empty());
    const Mac mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
    PRESENCE_ASSERT(mac != nullptr);
    auto material = std::make_shared<Material>();
    material->mac.reset(EVP_MAC_CTX_new(mac.get()));
    std::string digest = "SHA256";
    const std::array<OSSL_PARAM, 2> params{
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_end()};
    const int keyed =
        EVP_MAC_init(material->mac.get(), bytes_of(secret), secret.size(), params.data());
    PRESENCE_ASSERT(keyed == 1);
    return Key(Algorithm::hs256, std::move(id), std::move(material));
}

Result<Key> Key::from_public(void* public_key, std::string id) {
    PublicKey key(static_cast<EVP_PKEY*>(public_key));
    const ErrorsCleared cleared;
    if (!key) {
        return refused("is no valid public key");
    }
    Algorithm algorithm{};
    switch (EVP_PKEY_get_base_id(key.get())) {
        case EVP_PKEY_RSA:
            if (EVP_PKEY_get_bits(key.get()) < kMinRsaBits) {
                return refused(fmt::format("is an RSA key of {} bits, least is {}",
                                           EVP_PKEY_get_bits(key.get()), kMinRsaBits));
            }
            algorithm = Algorithm::rs256;
            break;
        case EVP_PKEY_EC:
            if (!is_p256(key.get())) {
                return refused("is an elliptic curve key of another curve than P-256");
            }
            algorithm = Algorithm::es256;
            break;
        case EVP_PKEY_ED25519:
            algorithm = Algorithm::eddsa;
            break;
        default:
            return refused("is a key of a kind that fits none of RS256, ES256, EdDSA");
    }
    auto material = std::make_shared<Material>();
    material->public_key = std::move(key);
    return Key(algorithm, std::move(id), std::move(material));
}

Result<std::vector<Key>> Key::from_pem(std::string_view pem) {
    const ErrorsCleared cleared;
    std::vector<Key> keys;
    const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    for (;;) {
        char* name = nullptr;
        char* header = nullptr;
        unsigned char* data = nullptr;
        long length = 0;
        if (PEM_read_bio(bio.get(), &name, &header, &data, &length) != 1) {
            break;
        }
        const std::string kind(name);
        PublicKey key;
        const unsigned char* at = data;
        if (kind == "CERTIFICATE") {
            const Certificate certificate(d2i_X509(nullptr, &at, length));
            key.reset(certificate ? X509_get_pubkey(certificate.get()) : nullptr);
        } else if (kind == "PUBLIC KEY") {
            key.reset(d2i_PUBKEY(nullptr, &at, length));
        }
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_clear_free(data, static_cast<std::size_t>(length));
        if (kind != "CERTIFICATE" && kind != "PUBLIC KEY") {
            return refused(
                fmt::format("holds a {}, only PUBLIC KEY and CERTIFICATE are read", kind));
        }
        auto made = from_public(key.release(), {});
        if (!made) {
            return made.error();
        }
        keys.push_back(*std::move(made));
    }
    if (keys.empty()) {
        return refused("holds no PUBLIC KEY or CERTIFICATE in PEM");
    }
    return keys;
}

Result<Key> Key::from_rsa(std::string_view modulus, std::string_view exponent, std::string id) {
    const ErrorsCleared cleared;
    const Number n = number_of(modulus);
    const Number e = number_of(exponent);
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    if (!n || !e || !builder ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
        return refused("is no valid RSA key");
    }
    return from_public(public_key_of("RSA", builder.get()).release(), std::move(id));
}

Result<Key> Key::from_p256(std::string_view x, std::string_view y, std::string id) {
    const ErrorsCleared cleared;
    if (x.size() != 32 || y.size() != 32) {
        return refused("has coordinates that are not 32 bytes long");
    }
    std::string point = "\x04";
    point.append(x).append(y);
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    if (!builder ||
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) !=
            1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1) {
        return refused("is no valid P-256 key");
    }
    return from_public(public_key_of("EC", builder.get()).release(), std::move(id));
}

Result<Key> Key::from_ed25519(std::string_view x, std::string id) {
    const ErrorsCleared cleared;
    EVP_PKEY* key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size());
    return from_public(key, std::move(id));
}

bool Key::verifies(std::string_view signed_text, std::string_view signature) const {
    const ErrorsCleared cleared;
    if (algorithm_ == Algorithm::hs256) {
        std::array<unsigned char, 32> tag{};
        std::size_t length = 0;
        const MacContext mac(EVP_MAC_CTX_dup(material_->mac.get()));
        return mac && EVP_MAC_update(mac.get(), bytes_of(signed_text), signed_text.size()) == 1 &&
               EVP_MAC_final(mac.get(), tag.data(), &length, tag.size()) == 1 &&
               equal_in_constant_time(signature,
                                      {reinterpret_cast<const char*>(tag.data()), length});
    }
    std::string der;
    if (algorithm_ == Algorithm::es256) {
        if (signature.size() != 64) {
            return false;
        }
        der = der_of(signature);
        signature = der;
    }
    const EVP_MD* digest = algorithm_ == Algorithm::eddsa ? nullptr : EVP_sha256();
    const DigestContext context(EVP_MD_CTX_new());
    return context &&
           EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr,
                                material_->public_key.get()) == 1 &&
           EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                            bytes_of(signed_text), signed_text.size()) == 1;
}

std::string hmac_sha256(std::string_view secret, std::string_view text) {
    std::string tag(32, '\0');
    unsigned length = 0;
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(text), text.size(),
         reinterpret_cast<unsigned char*>(tag.data()), &length);
    PRESENCE_ASSERT(length == tag.size());
    return tag;
}

std::string sha256(std::string_view text) {
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256(bytes_of(text), text.size(), reinterpret_cast<unsigned char*>(digest.data()));
    return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace presence::auth
