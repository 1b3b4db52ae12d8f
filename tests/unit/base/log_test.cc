#include "presence/base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

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

}  // namespace
}  // namespace presence::log
