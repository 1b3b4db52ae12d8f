#include "presence/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace presence {
namespace {

/// Hands out what it was given.
class ScriptedRandom final : public Random {
public:
    explicit ScriptedRandom(std::vector<std::uint64_t> script) : script_(std::move(script)) {}
    std::uint64_t next() override { return script_.at(used_++); }
    [[nodiscard]] std::size_t used() const { return used_; }

private:
    std::vector<std::uint64_t> script_;
    std::size_t used_ = 0;
};

TEST(Random, TheSameSeedGivesTheSameNumbers) {
    SeededRandom a(42);
    SeededRandom b(42);
    SeededRandom c(43);
    const std::uint64_t first = a.next();
    EXPECT_EQ(first, b.next());
    EXPECT_NE(first, c.next());
    EXPECT_NE(first, a.next());
}

/// The reference values of splitmix64 for the seed 0.
TEST(Random, SeededNumbersAreThoseOfSplitmix64) {
    SeededRandom random(0);
    EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFULL);
    EXPECT_EQ(random.next(), 0x6E789E6AA1B965F4ULL);
}

TEST(Random, BelowStaysBelowAndReachesEveryValue) {
    SeededRandom random(7);
    std::array<int, 6> seen{};
    for (int i = 0; i < 6'000; ++i) {
        ++seen.at(random.below(6));
    }
    for (const int count : seen) {
        EXPECT_GT(count, 800);
        EXPECT_LT(count, 1'200);
    }
}

TEST(Random, BelowOneIsAlwaysZero) {
    SeededRandom random(7);
    EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, BelowDrawsAgainWhereTheRemainderWouldFavourSmallNumbers) {
    constexpr std::uint64_t kBound = (std::uint64_t{1} << 63) + 1;
    ScriptedRandom random({UINT64_MAX, kBound, 5});
    EXPECT_EQ(random.below(kBound), 5U);
    EXPECT_EQ(random.used(), 3U);
}

TEST(RandomDeathTest, BelowZeroIsABug) {
    SeededRandom random(7);
    EXPECT_DEATH((void)random.below(0), "assertion failed: bound > 0");
}

TEST(Random, ATokenIs22CharactersOfBase64Url) {
    SeededRandom random(1);
    for (int i = 0; i < 100; ++i) {
        const std::string token = random.token();
        EXPECT_EQ(token.size(), 22U);
        EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_"),
                  std::string::npos);
    }
}

TEST(Random, EveryCharacterOfATokenHangsOnFreshBits) {
    ScriptedRandom zeros({0, 0, 0});
    EXPECT_EQ(zeros.token(), std::string(22, 'A'));
    ScriptedRandom ones({UINT64_MAX, UINT64_MAX, UINT64_MAX});
    EXPECT_EQ(ones.token(), std::string(22, '_'));
    EXPECT_EQ(ones.used(), 3U);
}

TEST(Random, TokensOfTheSystemDiffer) {
    SystemRandom random;
    std::set<std::string> tokens;
    for (int i = 0; i < 1'000; ++i) {
        tokens.insert(random.token());
    }
    EXPECT_EQ(tokens.size(), 1'000U);
}

}  // namespace
}  // namespace presence
