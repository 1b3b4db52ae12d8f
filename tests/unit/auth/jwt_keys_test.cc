#include "presence/auth/jwt_verifier.h"
#include "presence/auth/mint_token.h"

#include "support/virtual_time.h"
#include "unit/auth/signer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace presence::auth {
namespace {

using testing::hs256_token;
using testing::Signer;
using testing::VirtualClock;

class JwtKeys : public ::testing::Test {
protected:
    JwtKeys()
        : folder_(std::filesystem::temp_directory_path() /
                  fmt::format("jwt-keys-{}-{}", ::getpid(),
                              ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
        std::filesystem::create_directories(folder_);
    }
    ~JwtKeys() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& name, const std::string& text) {
        const auto path = folder_ / name;
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }
    [[nodiscard]] std::string payload() const {
        return fmt::format(R"({{"sub":"alice","exp":{}}})", clock_.wall_now().ms() / 1000 + 60);
    }
    std::unique_ptr<JwtVerifier> verifier(AuthConfig config) {
        auto made = JwtVerifier::make(std::move(config), clock_);
        EXPECT_TRUE(made) << made.error().message;
        return made ? *std::move(made) : nullptr;
    }
    std::string refusal_of(AuthConfig config) {
        auto made = JwtVerifier::make(std::move(config), clock_);
        return made ? "" : made.error().message;
    }

    VirtualClock clock_;
    std::filesystem::path folder_;
};

TEST_F(JwtKeys, EachAlgorithmIsAcceptedFromPemAndFromAKeySet) {
    for (const Signer& signer : {Signer::rsa(), Signer::p256(), Signer::ed25519()}) {
        const std::string token = signer.token(payload());
        const auto by_pem =
            verifier(AuthConfig{.public_keys = {file("key.pem", signer.public_pem())}});
        const auto by_set = verifier(
            AuthConfig{.jwks = file("keys.json", R"({"keys":[)" + signer.jwk("k1") + "]}")});

        EXPECT_TRUE(by_pem->verify(token)) << signer.algorithm();
        EXPECT_TRUE(by_pem->verify(signer.token(payload(), "any"))) << signer.algorithm();
        EXPECT_TRUE(by_set->verify(token)) << signer.algorithm();
        EXPECT_TRUE(by_set->verify(signer.token(payload(), "k1"))) << signer.algorithm();
        EXPECT_FALSE(by_set->verify(signer.token(payload(), "k2"))) << signer.algorithm();
        EXPECT_FALSE(by_pem->verify(hs256_token(payload())));

        std::string forged = token;
        forged[forged.size() - 10] = forged[forged.size() - 10] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(by_pem->verify(forged)) << signer.algorithm();
    }
}

TEST_F(JwtKeys, AnotherKeyOfTheSameKindIsRefused) {
    const auto good =
        verifier(AuthConfig{.public_keys = {file("a.pem", Signer::ed25519().public_pem())}});

    EXPECT_FALSE(good->verify(Signer::ed25519().token(payload())));
    EXPECT_EQ(good->counters().refused[static_cast<std::size_t>(Refusal::signature)], 1U);
}

TEST_F(JwtKeys, FO_062_NoAlgorithmAndConfusedAlgorithmsAreRefused) {
    const Signer signer = Signer::rsa();
    const std::string pem = signer.public_pem();
    const auto both =
        verifier(AuthConfig{.secrets = {"secret"}, .public_keys = {file("key.pem", pem)}});
    ASSERT_TRUE(both->verify(hs256_token(payload())));
    ASSERT_TRUE(both->verify(signer.token(payload())));

    for (const char* none :
         {"none", "None", "NONE", "nOnE", "", "HS384", "HS512", "RS512", "hs256"}) {
        const std::string header = fmt::format(R"({{"alg":"{}"}})", none);
        const std::string unsigned_token =
            encode_base64url(header) + "." + encode_base64url(payload()) + ".";
        EXPECT_FALSE(both->verify(unsigned_token)) << none;
        EXPECT_FALSE(both->verify(hs256_token(payload(), "secret", header))) << none;
    }
    EXPECT_FALSE(both->verify(hs256_token(payload(), pem)));
    EXPECT_FALSE(both->verify(hs256_token(payload(), "secret", R"({"alg":"RS256"})")));
    EXPECT_FALSE(both->verify(hs256_token(payload(), "secret", R"({"typ":"JWT"})")));
    EXPECT_FALSE(both->verify(hs256_token(payload(), "secret", R"({"alg":["HS256"]})")));
    EXPECT_FALSE(both->verify(hs256_token(payload(), "secret", R"({"alg":"none","alg":"HS256"})")));
    EXPECT_FALSE(both->verify(hs256_token(payload(), "secret", R"({"alg":"HS256","kid":7})")));
    EXPECT_FALSE(
        both->verify(hs256_token(payload(), "secret", R"({"alg":"HS256","crit":["exp"]})")));
    EXPECT_FALSE(both->verify(hs256_token(payload(), "")));
}

TEST_F(JwtKeys, ASignatureWrittenInAnotherWayIsRefused) {
    const Signer signer = Signer::p256();
    const auto by_pem = verifier(AuthConfig{.public_keys = {file("key.pem", signer.public_pem())}});
    const std::string token = signer.token(payload());
    ASSERT_TRUE(by_pem->verify(token));

    const std::string head = token.substr(0, token.rfind('.') + 1);
    EXPECT_FALSE(by_pem->verify(head));
    EXPECT_FALSE(by_pem->verify(head + encode_base64url(std::string(64, '\0'))));
    EXPECT_FALSE(by_pem->verify(head + encode_base64url(std::string(63, 'a'))));
    EXPECT_FALSE(by_pem->verify(token + "A"));
    EXPECT_FALSE(by_pem->verify(token + "=="));
}

TEST_F(JwtKeys, TwoSecretsCountDuringARotation) {
    const auto rotating = verifier(AuthConfig{.secrets = {"new", "old"}});

    EXPECT_TRUE(rotating->verify(hs256_token(payload(), "new")));
    EXPECT_TRUE(rotating->verify(hs256_token(payload(), "old")));
    EXPECT_FALSE(rotating->verify(hs256_token(payload(), "older")));
}

TEST_F(JwtKeys, AReloadReplacesKeysAndAFailedOneChangesNothing) {
    const auto reloaded = verifier(AuthConfig{.secrets = {"old"}});

    ASSERT_TRUE(reloaded->reload(AuthConfig{.secrets = {"new"}}));
    EXPECT_FALSE(reloaded->verify(hs256_token(payload(), "old")));
    EXPECT_TRUE(reloaded->verify(hs256_token(payload(), "new")));

    EXPECT_FALSE(reloaded->reload(AuthConfig{.secrets = {"x"}, .jwks = "/nowhere.json"}));
    EXPECT_TRUE(reloaded->verify(hs256_token(payload(), "new")));
}

TEST_F(JwtKeys, KeysThatDoNotFitAreLeftOutOfASet) {
    const Signer good = Signer::p256();
    const std::string set = R"({"keys":[7,{},{"kty":"RSA","kid":"small","n":"AQAB","e":"AQAB"},)"
                            R"({"kty":"EC","crv":"P-384","kid":"curve","x":"AA","y":"AA"},)"
                            R"({"kty":"EC","crv":"P-256","kid":"off","x":")" +
                            encode_base64url(std::string(32, 'a')) + R"(","y":")" +
                            encode_base64url(std::string(32, 'a')) + R"("},)" +
                            Signer::p256().jwk("enc", R"(,"use":"enc")") + "," +
                            Signer::p256().jwk("es384", R"(,"alg":"ES384")") + "," +
                            good.jwk("good", R"(,"use":"sig","alg":"ES256")") +
                            R"(,{"kty":"oct","kid":"s","k":"c2VjcmV0"}]})";

    const auto from_file = parse_key_set(set, true);
    const auto from_url = parse_key_set(set, false);

    ASSERT_TRUE(from_file);
    EXPECT_EQ(from_file->size(), 2U);
    EXPECT_TRUE(from_file->names("good"));
    EXPECT_TRUE(from_file->names("s"));
    EXPECT_EQ(from_url->size(), 1U);
    EXPECT_FALSE(parse_key_set("[]", true));
    EXPECT_FALSE(parse_key_set(R"({"keys":{}})", true));
    EXPECT_FALSE(parse_key_set(std::string(100, '['), true));
    EXPECT_FALSE(parse_key_set(R"({"keys":[)" + std::string(1024 * 1024, ' ') + "]}", true));
}

TEST_F(JwtKeys, ASetIsReadUpToItsLimitAndFewKeysAreTriedForATokenThatNamesNone) {
    const Signer last = Signer::ed25519();
    std::string set = R"({"keys":[)";
    for (int i = 0; i < 99; ++i) {
        set += Signer::ed25519().jwk(fmt::format("k{}", i)) + ",";
    }
    const auto keys = parse_key_set(set + last.jwk("last") + "," + last.jwk("over") + "]}", false);
    ASSERT_TRUE(keys);
    EXPECT_EQ(keys->size(), 100U);
    EXPECT_FALSE(keys->names("over"));

    const auto check = [&](const std::string& id) {
        return keys->check(Algorithm::eddsa, id, "text", last.sign("text"));
    };
    EXPECT_EQ(check("last"), KeySet::Answer::good);
    EXPECT_EQ(check(""), KeySet::Answer::bad);  // The 17th and later are not tried.
}

TEST_F(JwtKeys, AFileThatDoesNotServeIsNamed) {
    const Signer signer = Signer::ed25519();
    const std::string empty = file("empty.pem", "");
    EXPECT_EQ(refusal_of(AuthConfig{.public_keys = {empty}}),
              empty + " holds no PUBLIC KEY or CERTIFICATE in PEM");
    EXPECT_EQ(refusal_of(AuthConfig{.public_keys = {"/nowhere.pem"}}),
              "/nowhere.pem cannot be read");
    const std::string secret = file("private.pem", signer.private_pem());
    EXPECT_EQ(refusal_of(AuthConfig{.public_keys = {secret}}),
              secret + " holds a PRIVATE KEY, only PUBLIC KEY and CERTIFICATE are read");
    const std::string small = file("small.pem", Signer::rsa(1024).public_pem());
    EXPECT_EQ(refusal_of(AuthConfig{.public_keys = {small}}),
              small + " is an RSA key of 1024 bits, least is 2048");
    const std::string curve = file("curve.pem", Signer::p256("P-384").public_pem());
    EXPECT_EQ(refusal_of(AuthConfig{.public_keys = {curve}}),
              curve + " is an elliptic curve key of another curve than P-256");
    EXPECT_EQ(refusal_of(AuthConfig{.secrets = {""}}), "auth.secret is empty");
}

TEST_F(JwtKeys, ManyThreadsVerifyAndReloadAtOnce) {
    const Signer signer = Signer::ed25519();
    const AuthConfig config{.secrets = {"secret"},
                            .public_keys = {file("key.pem", signer.public_pem())}};
    const auto shared = verifier(config);
    const std::string by_secret = hs256_token(payload());
    const std::string by_key = signer.token(payload());

    std::atomic<int> accepted = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                accepted += shared->verify(by_secret) && shared->verify(by_key) ? 1 : 0;
            }
        });
    }
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(shared->reload(config));
    }
    for (std::thread& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(accepted, 600);
}

TEST_F(JwtKeys, AMintedTokenIsAccepted) {
    const auto by_secret = verifier(AuthConfig{.secrets = {"s"}});

    for (const char* user : {"alice", "a\"b\\c", "Ünï·😀", " spaced "}) {
        const auto token = mint_token(UserId(user), Millis{60'000}, "s", clock_.wall_now());
        ASSERT_TRUE(token);
        const auto claims = by_secret->verify(*token);
        ASSERT_TRUE(claims) << user;
        EXPECT_EQ(claims->user, UserId(user));
        EXPECT_EQ(claims->issued_at, clock_.wall_now());
        EXPECT_EQ(claims->expires_at, clock_.wall_now() + Millis{60'000});
    }
    EXPECT_FALSE(mint_token(UserId(""), Millis{60'000}, "s", clock_.wall_now()));
    EXPECT_FALSE(mint_token(UserId("a"), Millis{999}, "s", clock_.wall_now()));
    EXPECT_FALSE(mint_token(UserId("a"), Millis{60'000}, "", clock_.wall_now()));
}

}  // namespace
}  // namespace presence::auth
