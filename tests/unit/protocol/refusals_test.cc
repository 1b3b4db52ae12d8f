#include "presence/protocol/client_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence::protocol {
namespace {

/// A good message with a hole for one field, and which kinds of JSON the field takes.
struct Hole {
    std::string field;    ///< As messages name it.
    std::string message;  ///< `@` is the hole.
    std::string takes;    ///< Letters of kSamples.
};

struct Sample {
    char kind;
    std::string json;
};

const std::vector<Sample> kSamples{
    {'n', "null"},
    {'b', "true"},
    {'b', "false"},
    {'i', "1"},
    {'d', "1.0"},
    {'d', "1e0"},
    {'z', "-0"},
    {'m', "-1"},
    {'h', "1e999"},
    {'h', "92233720368547758080"},
    {'s', "\"x!\""},
    {'e', "\"\""},
    {'u', "\"\\u0000\""},
    {'l', "\"\\ud83d\""},
    {'a', "[]"},
    {'A', "[[]]"},
    {'A', "[null,1,{},[]]"},
    {'A', "[\"\"]"},
    {'o', "{}"},
    {'O', "{\"x\":[]}"},
};

const std::vector<Hole> kHoles{
    {"type", R"({"type":@,"id":7})", ""},
    {"token", R"({"type":"hello","id":7,"token":@})", "seul"},
    {"resume", R"({"type":"hello","id":7,"resume":@})", "seul"},
    {"device", R"({"type":"hello","id":7,"device":@})", ""},
    {"device.type", R"({"type":"hello","id":7,"device":{"type":@}})", ""},
    {"device.name", R"({"type":"hello","id":7,"device":{"type":"web","name":@}})", "se"},
    {"activity", R"({"type":"hello","id":7,"activity":@})", ""},
    {"observe", R"({"type":"hello","id":7,"observe":@})", "b"},
    {"idleMs", R"({"type":"heartbeat","id":7,"idleMs":@})", "i"},
    {"state", R"({"type":"activity","id":7,"state":@})", ""},
    {"status", R"({"type":"status","id":7,"status":@})", ""},
    {"scope", R"({"type":"status","id":7,"status":"busy","scope":@})", ""},
    {"expiresAt", R"({"type":"status","id":7,"status":"busy","expiresAt":@})", "i"},
    {"expiresInMs", R"({"type":"status","id":7,"status":"busy","expiresInMs":@})", "i"},
    {"customStatus", R"({"type":"status","id":7,"customStatus":@})", "n"},
    {"customStatus.text", R"({"type":"status","id":7,"customStatus":{"text":@,"emoji":"e"}})",
     "se"},
    {"customStatus.emoji", R"({"type":"status","id":7,"customStatus":{"emoji":@,"text":"t"}})",
     "se"},
    {"customStatus.expiresAt",
     R"({"type":"status","id":7,"customStatus":{"text":"t","expiresAt":@}})", "i"},
    {"customStatus.expiresInMs",
     R"({"type":"status","id":7,"customStatus":{"text":"t","expiresInMs":@}})", "i"},
    {"users", R"({"type":"watch","id":7,"users":@})", ""},
    {"users[0]", R"({"type":"watch","id":7,"users":[@]})", "s"},
    {"mode", R"({"type":"watch","id":7,"users":["a"],"mode":@})", ""},
    {"known", R"({"type":"watch","id":7,"users":["a"],"known":@})", "o"},
    {"known", R"({"type":"watch","id":7,"users":["a"],"known":{"a":@}})", "i"},
    {"users", R"({"type":"unwatch","id":7,"users":@})", "a"},
    {"users[1]", R"({"type":"unwatch","id":7,"users":["a",@]})", "s"},
    {"all", R"({"type":"unwatch","id":7,"users":["a"],"all":@})", "b"},
    {"users", R"({"type":"get","id":7,"users":@})", ""},
    {"users[0]", R"({"type":"get","id":7,"users":[@]})", "s"},
    {"room", R"({"type":"join","id":7,"room":@})", "s"},
    {"meta", R"({"type":"join","id":7,"room":"r","meta":@})", "oO"},
    {"observe", R"({"type":"join","id":7,"room":"r","observe":@})", "b"},
    {"updates", R"({"type":"join","id":7,"room":"r","updates":@})", "b"},
    {"room", R"({"type":"leave","id":7,"room":@})", "s"},
    {"to", R"({"type":"signal","id":7,"kind":"k","active":true,"to":@})", ""},
    {"to.userId", R"({"type":"signal","id":7,"kind":"k","active":true,"to":{"userId":@}})", "s"},
    {"to.room", R"({"type":"signal","id":7,"kind":"k","active":true,"to":{"room":@}})", "s"},
    {"kind", R"({"type":"signal","id":7,"to":{"userId":"a"},"active":true,"kind":@})", ""},
    {"active", R"({"type":"signal","id":7,"to":{"userId":"a"},"kind":"k","active":@})", "b"},
    {"data", R"({"type":"signal","id":7,"to":{"userId":"a"},"kind":"k","active":true,"data":@})",
     "nbidmseuaAoO"},
    {"online", R"({"type":"privacy","id":7,"online":@})", ""},
    {"online.mode", R"({"type":"privacy","id":7,"online":{"mode":@}})", ""},
    {"online.users", R"({"type":"privacy","id":7,"online":{"mode":"only","users":@}})", "a"},
    {"lastSeen", R"({"type":"privacy","id":7,"lastSeen":@})", ""},
    {"lastSeen.mode", R"({"type":"privacy","id":7,"lastSeen":{"mode":@}})", ""},
    {"lastSeen.users[0]",
     R"({"type":"privacy","id":7,"lastSeen":{"mode":"contactsExcept","users":[@]}})", "s"},
    {"users", R"({"type":"block","id":7,"users":@})", "a"},
    {"users[0]", R"({"type":"block","id":7,"users":[@]})", "s"},
    {"users", R"({"type":"unblock","id":7,"users":@})", "a"},
    {"users[0]", R"({"type":"unblock","id":7,"users":[@]})", "s"},
    {"mode", R"({"type":"delivery","id":7,"mode":@})", ""},
    {"token", R"({"type":"auth","id":7,"token":@})", "seul"},
};

TEST(Refusals, Fo066EveryFieldOfEveryMessageIsHeldAgainstEveryKindOfJson) {
    for (const Hole& hole : kHoles) {
        for (const Sample& sample : kSamples) {
            std::string text = hole.message;
            text.replace(text.find('@'), 1, sample.json);
            const ParsedMessage parsed = parse_client_message(text, ParseLimits{});
            EXPECT_EQ(parsed.id, 7U) << text;
            if (hole.takes.find(sample.kind) != std::string::npos) {
                EXPECT_TRUE(parsed.message.has_value())
                    << text << ": " << parsed.message.error().message;
                continue;
            }
            ASSERT_FALSE(parsed.message.has_value()) << text;
            const Error& error = parsed.message.error();
            EXPECT_EQ(error.code, ErrorCode::bad_request) << text;
            EXPECT_THAT(error.message, ::testing::StartsWith(hole.field)) << text;
        }
    }
}

TEST(Refusals, EveryMessageTypeWithAFieldIsInTheTable) {
    for (const char* type :
         {"hello", "heartbeat", "activity", "status", "watch", "unwatch", "get", "join", "leave",
          "signal", "privacy", "block", "unblock", "delivery", "auth"}) {
        const std::string needle = "\"type\":\"" + std::string(type) + "\"";
        EXPECT_TRUE(std::any_of(kHoles.begin(), kHoles.end(), [&](const Hole& hole) {
            return hole.message.find(needle) != std::string::npos;
        })) << type;
    }
}

TEST(Refusals, MessagesNeverRepeatWhatWasSent) {
    const std::string secret = "s3cr3t-marker";
    for (const Hole& hole : kHoles) {
        for (const std::string& json :
             {"\"" + secret + "\\u0007\"", "[\"" + secret + "\\u0007\"]", "{\"" + secret + "\":1}",
              "{\"" + secret + "\\u0007\":\"" + secret + "\"}"}) {
            std::string text = hole.message;
            text.replace(text.find('@'), 1, json);
            const ParsedMessage parsed = parse_client_message(text, ParseLimits{});
            if (!parsed.message) {
                EXPECT_EQ(parsed.message.error().message.find(secret), std::string::npos) << text;
            }
        }
    }
}

TEST(Refusals, UnknownFieldsOfAnyKindAreIgnored) {
    for (const Sample& sample : kSamples) {
        const std::string text =
            R"({"future":)" + sample.json + R"(,"type":"activity","id":7,"state":"idle"})";
        const ParsedMessage parsed = parse_client_message(text, ParseLimits{});
        EXPECT_EQ(parsed.id, 7U) << text;
        EXPECT_TRUE(parsed.message.has_value()) << text;
    }
}

}  // namespace
}  // namespace presence::protocol
