#include "presence/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence {
namespace {

std::optional<std::vector<char32_t>> decoded(std::string_view text) {
    std::vector<char32_t> points;
    for (std::size_t position = 0; position < text.size();) {
        const auto point = next_code_point(text, position);
        if (!point) {
            return std::nullopt;
        }
        points.push_back(*point);
    }
    return points;
}

TEST(Utf8, EachLengthIsDecoded) {
    const std::vector<char32_t> expected{U'a', U'\u00E9', U'\u20AC', U'\U0001F600'};
    EXPECT_EQ(decoded("a\u00E9\u20AC\U0001F600"), expected);
}

TEST(Utf8, TheEdgesOfEachLengthAreDecoded) {
    EXPECT_EQ(decoded("\x7F"), std::vector<char32_t>{0x7F});
    EXPECT_EQ(decoded("\xC2\x80"), std::vector<char32_t>{0x80});
    EXPECT_EQ(decoded("\xDF\xBF"), std::vector<char32_t>{0x7FF});
    EXPECT_EQ(decoded("\xE0\xA0\x80"), std::vector<char32_t>{0x800});
    EXPECT_EQ(decoded("\xED\x9F\xBF"), std::vector<char32_t>{0xD7FF});
    EXPECT_EQ(decoded("\xEE\x80\x80"), std::vector<char32_t>{0xE000});
    EXPECT_EQ(decoded("\xEF\xBF\xBF"), std::vector<char32_t>{0xFFFF});
    EXPECT_EQ(decoded("\xF0\x90\x80\x80"), std::vector<char32_t>{0x10000});
    EXPECT_EQ(decoded("\xF4\x8F\xBF\xBF"), std::vector<char32_t>{0x10FFFF});
}

TEST(Utf8, OverlongFormsAreRefused) {
    for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF"}) {
        EXPECT_FALSE(count_code_points(text));
    }
}

TEST(Utf8, SurrogatesAndWhatLiesBeyondUnicodeAreRefused) {
    for (const char* text : {"\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80",
                             "\xF8\x88\x80\x80\x80", "\xFE", "\xFF"}) {
        EXPECT_FALSE(count_code_points(text));
    }
}

TEST(Utf8, CutAndStrayBytesAreRefused) {
    for (const char* text : {"\x80", "\xBF", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3(",
                             "\xE2(\xA1", "\xF0\x9F(\x80"}) {
        EXPECT_FALSE(count_code_points(text));
    }
}

TEST(Utf8, ARefusedCodePointDoesNotMoveThePosition) {
    std::size_t position = 1;
    EXPECT_FALSE(next_code_point("a\xFF", position));
    EXPECT_EQ(position, 1U);
}

/// FO-072: one unit, the code point, however a text looks.
TEST(Utf8, Fo072EmojiAreCountedInCodePoints) {
    std::string faces;
    for (int i = 0; i < 100; ++i) {
        faces += "\U0001F600";
    }
    EXPECT_EQ(count_code_points(faces), 100U);
    EXPECT_EQ(count_code_points("\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466"), 7U);
    EXPECT_EQ(count_code_points("\U0001F1E9\U0001F1EA"), 2U);
    EXPECT_EQ(count_code_points("e\u0301"), 2U);
    EXPECT_EQ(count_code_points(""), 0U);
}

}  // namespace
}  // namespace presence
