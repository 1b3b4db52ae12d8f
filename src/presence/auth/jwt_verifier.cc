#include "presence/auth/jwt_verifier.h"

#include "presence/base/log.h"

#include <utility>

namespace presence::auth {

namespace {

bool is_url(std::string_view text) {
    return text.starts_with("http://") || text.starts_with("https://");
}

/// The keys that `config` gives directly or in files.
Result<KeySet> local_keys(const AuthConfig& config) {
    KeySet keys;
    for (const std::string& secret : config.secrets) {
        if (secret.empty()) {
            return Error{.code = ErrorCode::bad_request, .message = "auth.secret is empty"};
        }
        keys.add(Key::from_secret(secret));
    }
    std::vector<std::pair<std::string, bool>> files;
    for (const std::string& path : config.public_keys) {
        files.emplace_back(path, false);
    }
    if (!config.jwks.empty() && !is_url(config.jwks)) {
        files.emplace_back(config.jwks, true);
    }
    for (const auto& [path, is_key_set] : files) {
        const auto read = read_key_file(path, is_key_set);
        if (!read) {
            return read.error();
        }
        for (const Key& key : read->keys()) {
            keys.add(key);
        }
    }
    return keys;
}

/// Waits until a fetch is over, and comes back on the thread of `home`. False: there was none.
Task<bool> fetched(RemoteKeys& remote, Scheduler& home) {
    Completion<bool> completion([&](auto done) {
        auto shared = std::make_shared<decltype(done)>(std::move(done));
        const bool waits =
            remote.ask([shared, &home] { home.post([shared] { (*shared)(true); }); });
        if (!waits) {
            (*shared)(false);
        }
    });
    const bool came = co_await completion;
    co_return came;
}

}  // namespace

Result<std::unique_ptr<JwtVerifier>> JwtVerifier::make(AuthConfig config, const Clock& clock,
                                                       Fetch fetch) {
    std::unique_ptr<JwtVerifier> verifier(new JwtVerifier(clock, std::move(fetch)));
    if (const auto loaded = verifier->reload(std::move(config)); !loaded) {
        return loaded.error();
    }
    return verifier;
}

JwtVerifier::~JwtVerifier() {
    stop();
}

Result<bool> JwtVerifier::reload(AuthConfig config) {
    auto keys = local_keys(config);
    if (!keys) {
        return keys.error();
    }
    auto next = std::make_shared<State>();
    next->config = std::move(config);
    next->keys = *std::move(keys);
    const auto before = state();
    const std::string& url = next->config.jwks;
    const auto old_remote = before ? before->remote : nullptr;
    if (old_remote && old_remote->url() == url &&
        before->config.jwks_refresh == next->config.jwks_refresh) {
        next->remote = old_remote;
    } else if (is_url(url)) {
        next->remote = std::make_shared<RemoteKeys>(url, next->config.jwks_refresh, clock_, fetch_);
    }
    const bool is_replaced = old_remote && next->remote != old_remote;
    {
        const std::lock_guard lock(mutex_);
        state_ = std::move(next);
    }
    if (is_replaced) {
        old_remote->stop();  // Here, not on the thread that happens to drop it last.
    }
    return true;
}

void JwtVerifier::stop() {
    if (const auto now = state(); now && now->remote) {
        now->remote->stop();
    }
}

std::shared_ptr<const JwtVerifier::State> JwtVerifier::state() const {
    const std::lock_guard lock(mutex_);
    return state_;
}

Refusal JwtVerifier::check(const State& state, std::string_view token, TokenClaims& claims,
                           bool& may_be_fetched) const {
    TokenParts parts;
    if (const Refusal refusal = split_token(token, parts); refusal != Refusal::none) {
        return refusal;
    }
    auto answer =
        state.keys.check(parts.algorithm, parts.key_id, parts.signed_text, parts.signature);
    if (state.remote && answer != KeySet::Answer::good) {
        const auto keys = state.remote->keys();
        const auto here =
            keys->check(parts.algorithm, parts.key_id, parts.signed_text, parts.signature);
        answer = here == KeySet::Answer::no_key ? answer : here;
        const bool names_another = !parts.key_id.empty() && !keys->names(parts.key_id);
        may_be_fetched =
            parts.algorithm != Algorithm::hs256 && (names_another || !state.remote->has_loaded());
    }
    if (answer == KeySet::Answer::no_key) {
        return Refusal::unknown_key;
    }
    if (answer == KeySet::Answer::bad) {
        return Refusal::signature;
    }
    may_be_fetched = false;
    return read_claims(parts.payload, state.config, clock_.wall_now(), claims);
}

Result<TokenClaims> JwtVerifier::counted(Refusal refusal, TokenClaims claims) const {
    counts_[static_cast<std::size_t>(refusal)].fetch_add(1, std::memory_order_relaxed);
    if (refusal == Refusal::none) {
        return claims;
    }
    log::debug("token_refused", "{}", name_of(refusal));
    return Error{.code = ErrorCode::unauthorized, .message = "the token was refused"};
}

Result<TokenClaims> JwtVerifier::verify(std::string_view token) const {
    const auto now = state();
    TokenClaims claims;
    bool may_be_fetched = false;
    const Refusal refusal = check(*now, token, claims, may_be_fetched);
    if (may_be_fetched) {
        now->remote->ask();
    }
    return counted(refusal, std::move(claims));
}

Task<Result<TokenClaims>> JwtVerifier::verify_patiently(std::string token, Scheduler& home) const {
    const auto now = state();
    TokenClaims claims;
    bool may_be_fetched = false;
    Refusal refusal = check(*now, token, claims, may_be_fetched);
    if (may_be_fetched) {
        const bool came = co_await fetched(*now->remote, home);
        if (came) {
            refusal = check(*now, token, claims, may_be_fetched);
        }
    }
    co_return counted(refusal, std::move(claims));
}

Millis JwtVerifier::leeway() const {
    return state()->config.leeway;
}

JwtCounters JwtVerifier::counters() const {
    JwtCounters counters;
    for (std::size_t i = 0; i < kRefusalCount; ++i) {
        counters.refused[i] = counts_[i].load(std::memory_order_relaxed);
    }
    counters.accepted = std::exchange(counters.refused[0], 0);
    if (const auto now = state(); now->remote) {
        counters.key_set_fetches = now->remote->fetches();
        counters.key_set_failures = now->remote->failures();
    }
    return counters;
}

}  // namespace presence::auth
