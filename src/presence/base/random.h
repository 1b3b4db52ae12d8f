#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace presence {

/// Where chance comes from, handed in so that a run can be repeated from a seed. Owner's thread.
class Random {
public:
    virtual ~Random() = default;
    /// 64 fresh bits. For secrets these come from the operating system.
    [[nodiscard]] virtual std::uint64_t next() = 0;

    /// Even over [0, bound). `bound` is at least 1.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound);
    /// Text of base64url, six bits a character: 22 of them, 128 bits and more, for secrets.
    [[nodiscard]] std::string token(std::size_t characters = 22);
};

/// getrandom(2), buffered.
class SystemRandom final : public Random {
public:
    [[nodiscard]] std::uint64_t next() override;

private:
    static constexpr std::size_t kBuffered = 64;
    std::uint64_t buffer_[kBuffered] = {};
    std::size_t used_ = kBuffered;
};

/// splitmix64: small, even, and the same from the same seed. Never for secrets.
class SeededRandom final : public Random {
public:
    explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
    [[nodiscard]] std::uint64_t next() override;

private:
    std::uint64_t state_;
};

}  // namespace presence
