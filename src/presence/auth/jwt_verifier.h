#pragma once

#include "presence/auth/auth_config.h"
#include "presence/auth/claims.h"
#include "presence/auth/http_fetch.h"
#include "presence/auth/remote_keys.h"
#include "presence/base/clock.h"
#include "presence/ports/token_verifier.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace presence::auth {

/// What a JwtVerifier counts.
struct JwtCounters {
    std::uint64_t accepted = 0;
    std::array<std::uint64_t, kRefusalCount> refused{};  ///< By Refusal.
    std::uint64_t key_set_fetches = 0;
    std::uint64_t key_set_failures = 0;
};

/// JSON Web Tokens in compact form: HS256, RS256, ES256, EdDSA (PROTOCOL.md section 5).
class JwtVerifier final : public TokenVerifier {
public:
    /// Reads the files that `config` names. A URL is only begun to be fetched.
    /// @retval bad_request  A file cannot be read or holds no usable key; the message names it.
    [[nodiscard]] static Result<std::unique_ptr<JwtVerifier>> make(AuthConfig config,
                                                                   const Clock& clock,
                                                                   Fetch fetch = fetch_by_http);
    ~JwtVerifier() override;

    /// Takes other keys and demands from now on. On an error nothing has changed. One thread.
    [[nodiscard]] Result<bool> reload(AuthConfig config);

    /// Ends the fetching. Those who wait in verify_patiently are resumed. Call it while the
    /// schedulers of the callers still run.
    void stop();

    [[nodiscard]] Result<TokenClaims> verify(std::string_view token) const override;
    [[nodiscard]] Task<Result<TokenClaims>> verify_patiently(std::string token,
                                                             Scheduler& home) const override;
    [[nodiscard]] Millis leeway() const override;
    [[nodiscard]] JwtCounters counters() const;

private:
    /// All that a reload replaces.
    struct State {
        AuthConfig config;
        KeySet keys;                         ///< From the configuration and files.
        std::shared_ptr<RemoteKeys> remote;  ///< Null without a URL.
    };

    JwtVerifier(const Clock& clock, Fetch fetch) : clock_(clock), fetch_(std::move(fetch)) {}
    [[nodiscard]] std::shared_ptr<const State> state() const;
    [[nodiscard]] Refusal check(const State& state, std::string_view token, TokenClaims& claims,
                                bool& may_be_fetched) const;
    [[nodiscard]] Result<TokenClaims> counted(Refusal refusal, TokenClaims claims) const;

    const Clock& clock_;
    const Fetch fetch_;
    mutable std::mutex mutex_;  ///< Guards state_.
    std::shared_ptr<const State> state_;
    mutable std::array<std::atomic<std::uint64_t>, kRefusalCount> counts_{};
};

}  // namespace presence::auth
