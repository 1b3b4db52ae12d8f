#pragma once

#include "presence/auth/base64url.h"
#include "presence/auth/key.h"
#include "presence/base/assert.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace presence::testing {

/// A private key that signs tokens as an issuer would.
class Signer {
public:
    static Signer rsa(unsigned bits = 2048) { return Signer(EVP_RSA_gen(bits), "RS256"); }
    static Signer p256(const char* curve = "P-256") { return Signer(EVP_EC_gen(curve), "ES256"); }
    static Signer ed25519() {
        return Signer(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), "EdDSA");
    }

    [[nodiscard]] std::string public_pem() const {
        std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
        PEM_write_bio_PUBKEY(bio.get(), key_.get());
        return drained(bio.get());
    }
    [[nodiscard]] std::string private_pem() const {
        std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
        PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
        return drained(bio.get());
    }

    /// A JSON Web Key; `extra` is put in as it is, e.g. `,"use":"enc"`.
    [[nodiscard]] std::string jwk(const std::string& id, const std::string& extra = {}) const {
        const std::string head = R"({"kid":")" + id + "\"" + extra;
        if (algorithm_ == "RS256") {
            return head + R"(,"kty":"RSA","n":")" + number(OSSL_PKEY_PARAM_RSA_N, 0) +
                   R"(","e":")" + number(OSSL_PKEY_PARAM_RSA_E, 0) + R"("})";
        }
        if (algorithm_ == "ES256") {
            return head + R"(,"kty":"EC","crv":"P-256","x":")" +
                   number(OSSL_PKEY_PARAM_EC_PUB_X, 32) + R"(","y":")" +
                   number(OSSL_PKEY_PARAM_EC_PUB_Y, 32) + R"("})";
        }
        std::array<unsigned char, 32> raw{};
        std::size_t length = raw.size();
        EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &length);
        return head + R"(,"kty":"OKP","crv":"Ed25519","x":")" +
               auth::encode_base64url({reinterpret_cast<const char*>(raw.data()), length}) +
               R"("})";
    }

    /// Signature over `text` as JOSE writes it.
    [[nodiscard]] std::string sign(std::string_view text) const {
        std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
        const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
        EVP_DigestSignInit(context.get(), nullptr, algorithm_ == "EdDSA" ? nullptr : EVP_sha256(),
                           nullptr, key_.get());
        std::size_t length = 0;
        EVP_DigestSign(context.get(), nullptr, &length, bytes, text.size());
        std::string signature(length, '\0');
        auto* out = reinterpret_cast<unsigned char*>(signature.data());
        PRESENCE_ASSERT(EVP_DigestSign(context.get(), out, &length, bytes, text.size()) == 1);
        signature.resize(length);
        return algorithm_ == "ES256" ? two_numbers(signature) : signature;
    }

    [[nodiscard]] const std::string& algorithm() const { return algorithm_; }

    /// A whole token.
    [[nodiscard]] std::string token(std::string_view payload, const std::string& id = {}) const {
        const std::string key_id = id.empty() ? "" : R"(,"kid":")" + id + "\"";
        std::string text = auth::encode_base64url(R"({"alg":")" + algorithm_ + "\"" + key_id + "}");
        text += "." + auth::encode_base64url(payload);
        return text + "." + auth::encode_base64url(sign(text));
    }

private:
    Signer(EVP_PKEY* key, std::string algorithm)
        : key_(key, EVP_PKEY_free), algorithm_(std::move(algorithm)) {
        PRESENCE_ASSERT(key != nullptr);
    }

    static std::string drained(BIO* bio) {
        char* data = nullptr;
        const long length = BIO_get_mem_data(bio, &data);
        return {data, static_cast<std::size_t>(length)};
    }

    std::string number(const char* name, int width) const {
        BIGNUM* value = nullptr;
        PRESENCE_ASSERT(EVP_PKEY_get_bn_param(key_.get(), name, &value) == 1);
        const int length = width > 0 ? width : BN_num_bytes(value);
        std::string bytes(static_cast<std::size_t>(length), '\0');
        BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()), length);
        BN_free(value);
        return auth::encode_base64url(bytes);
    }

    static std::string two_numbers(const std::string& der) {
        const auto* at = reinterpret_cast<const unsigned char*>(der.data());
        std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
            d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), ECDSA_SIG_free);
        std::string bytes(64, '\0');
        auto* out = reinterpret_cast<unsigned char*>(bytes.data());
        BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), out, 32);
        BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), out + 32, 32);
        return bytes;
    }

    std::shared_ptr<EVP_PKEY> key_;
    std::string algorithm_;
};

/// An HS256 token with a header and a payload of any text.
inline std::string hs256_token(std::string_view payload, std::string_view secret = "secret",
                               std::string_view header = R"({"alg":"HS256","typ":"JWT"})") {
    std::string text = auth::encode_base64url(header) + "." + auth::encode_base64url(payload);
    return text + "." + auth::encode_base64url(auth::hmac_sha256(secret, text));
}

}  // namespace presence::testing
