#include "wire.h"

#include "failure.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace presence::bench {
namespace {

TEST(BenchWire, AnUnsolicitedPongIsSixBytes) {
    const std::string frame = client_frame(Opcode::pong, {});

    ASSERT_EQ(frame.size(), 6U);
    EXPECT_EQ(frame[0], '\x8a');
    EXPECT_EQ(frame[1], '\x80');
}

TEST(BenchWire, AClientMasksItsPayload) {
    const std::string frame = client_frame(Opcode::text, "hello");

    ASSERT_EQ(frame.size(), 2U + 4U + 5U);
    std::string unmasked;
    for (std::size_t at = 0; at < 5; ++at) {
        unmasked += static_cast<char>(frame[6 + at] ^ frame[2 + at % 4]);
    }
    EXPECT_EQ(unmasked, "hello");
}

TEST(BenchWire, AServerFrameIsReadOnceItIsWhole) {
    for (const std::size_t size : {0U, 1U, 125U, 126U, 300U, 65'535U}) {
        const std::string payload(size, 'x');
        const std::string frame = server_text_frame(payload);

        EXPECT_EQ(first_frame(std::string_view(frame).substr(0, frame.size() - 1)).size, 0U);
        const std::string with_more = frame + "more";
        const ServerFrame read = first_frame(with_more);
        EXPECT_EQ(read.size, frame.size());
        EXPECT_EQ(read.payload, payload);
        EXPECT_EQ(read.opcode, Opcode::text);
    }
}

TEST(BenchWire, AMaskedAnswerFailsTheRun) {
    EXPECT_THROW(static_cast<void>(first_frame(client_frame(Opcode::text, "x"))), BenchFailure);
}

TEST(BenchWire, ATokenHasThreePartsWithoutPadding) {
    const std::string token = mint_token("u1", "dev");

    EXPECT_EQ(std::count(token.begin(), token.end(), '.'), 2);
    EXPECT_EQ(token.find_first_of("=+/"), std::string::npos);
    EXPECT_TRUE(token.starts_with("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."));
}

TEST(BenchWire, EachUserOfAMessageIsGivenWithItsStatus) {
    std::string seen;
    const auto note = [&seen](std::string_view user, std::string_view status) {
        seen += std::string(user) + "=" + std::string(status) + " ";
    };
    for_each_status(R"({"users":[{"userId":"a","status":"away","version":1},)"
                    R"({"userId":"b","status":"offline","version":2}]})",
                    note);
    EXPECT_EQ(seen, "a=away b=offline ");
    EXPECT_THROW(for_each_status(R"({"userId":"a","version":1})", note), BenchFailure);
}

}  // namespace
}  // namespace presence::bench
