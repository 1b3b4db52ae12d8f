#include "presence/base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace presence::log {
namespace {

TEST(LogQuoting, OrdinaryTextStaysAsItIs) {
    EXPECT_EQ(log::quoted("ada, j\u00FCrgen \U0001F600"), "ada, j\u00FCrgen \U0001F600");
    EXPECT_EQ(log::quoted(""), "");
}

TEST(LogQuoting, ControlCharactersCannotBeginANewLine) {
    EXPECT_EQ(log::quoted("a\nb\r\tc"), "a\\u000ab\\u000d\\u0009c");
    EXPECT_EQ(log::quoted(std::string_view("\0", 1)), "\\u0000");
    EXPECT_EQ(log::quoted("\x1B[31m\x7F"), "\\u001b[31m\\u007f");
    EXPECT_EQ(log::quoted("\u0085\u009B\u2028\u2029"), "\\u0085\\u009b\\u2028\\u2029");
}

TEST(LogQuoting, QuotesAndBackslashesAreEscaped) {
    EXPECT_EQ(log::quoted(R"(say "hi" \n)"), R"(say \"hi\" \\n)");
}

TEST(LogQuoting, WhatIsNoUtf8IsReplacedByteForByte) {
    EXPECT_EQ(log::quoted("a\xFF\xFE z"), "a\\ufffd\\ufffd z");
    EXPECT_EQ(log::quoted("\xE2\x82"), "\\ufffd\\ufffd");
}

TEST(LogQuoting, LongTextIsCutAtTheBoundAndMarked) {
    EXPECT_EQ(log::quoted(std::string(200, 'x')), std::string(200, 'x'));
    EXPECT_EQ(log::quoted(std::string(201, 'x')), std::string(200, 'x') + "...");
    EXPECT_EQ(log::quoted("abcdef", 3), "abc...");
}

TEST(LogQuoting, ACutNeverSplitsACodePoint) {
    EXPECT_EQ(log::quoted("ab\u20ACd", 3), "ab...");
    EXPECT_EQ(log::quoted("ab\u20ACd", 5), "ab\u20AC...");
}

TEST(Log, RecordsBelowTheLevelAreNotWritten) {
    configure(Level::error, Format::text);
    testing::internal::CaptureStderr();
    warning("too_quiet", "nothing of {}", 1);
    error("loud", "all of {}", 2);
    const std::string written = testing::internal::GetCapturedStderr();
    configure(Level::warning, Format::text);

    EXPECT_EQ(written.find("too_quiet"), std::string::npos);
    EXPECT_NE(written.find("loud all of 2\n"), std::string::npos);
}

TEST(Log, AJsonRecordIsOneLineWhateverItsDetailHolds) {
    configure(Level::warning, Format::json);
    testing::internal::CaptureStderr();
    warning("odd_text", "{}", "a \"quoted\"\nline");
    const std::string written = testing::internal::GetCapturedStderr();
    configure(Level::warning, Format::text);

    EXPECT_NE(written.find(R"("event":"odd_text","detail":"a \"quoted\"\u000aline"})"),
              std::string::npos);
    EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1);
}

/// What `say` writes, line by line.
template <class Say>
std::vector<std::string> lines_of(Format format, Say say) {
    configure(Level::debug, format);
    testing::internal::CaptureStderr();
    say();
    std::istringstream written(testing::internal::GetCapturedStderr());
    configure(Level::warning, Format::text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(written, line);) {
        lines.push_back(line);
    }
    return lines;
}

TEST(Log, ATextRecordIsOneLineWhateverItsDetailHolds) {
    const auto lines =
        lines_of(Format::text, [] { warning("two_lines", "{}", "a\nb \"c\" \x1B[m"); });
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines[0].ends_with(" warning two_lines a\\u000ab \"c\" \\u001b[m")) << lines[0];
}

TEST(Log, ALongDetailIsCut) {
    for (const Format format : {Format::text, Format::json}) {
        const auto lines =
            lines_of(format, [] { warning("long", "{}", std::string(100'000, 'x')); });
        ASSERT_EQ(lines.size(), 1U);
        EXPECT_LT(lines[0].size(), 2'100U);
    }
}

TEST(Log, IdsOfRequestAndSessionStandInPlacesOfTheirOwn) {
    const auto say = [] {
        debug({.request = "r\"1\n", .session = "s1"}, "both", "x={}", 1);
        debug({.session = "s2"}, "one", "-");
    };
    const auto text = lines_of(Format::text, say);
    ASSERT_EQ(text.size(), 2U);
    EXPECT_TRUE(text[0].ends_with(" debug both request=r\"1\\u000a session=s1 x=1")) << text[0];
    EXPECT_TRUE(text[1].ends_with(" debug one session=s2 -")) << text[1];
    const auto json = lines_of(Format::json, say);
    ASSERT_EQ(json.size(), 2U);
    EXPECT_TRUE(json[0].ends_with(
        R"("event":"both","request":"r\"1\u000a","session":"s1","detail":"x=1"})"))
        << json[0];
}

TEST(Log, AStormOfOneEventIsCutAndSaidAndHidesNoOther) {
    const auto lines = lines_of(Format::text, [] {
        for (int i = 0; i < 1'000; ++i) {
            warning("storm", "{}", i);
        }
        warning("calm", "-");
    });
    ASSERT_GE(lines.size(), kMostASecond + 1);
    EXPECT_LE(lines.size(), 3 * kMostASecond);  // Should a second end in between.
    EXPECT_TRUE(lines.back().ends_with(" warning calm -"));
}

}  // namespace
}  // namespace presence::log
