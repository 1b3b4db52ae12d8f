#include "presence/protocol/server_message.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>
#include <vector>

namespace presence::protocol {
namespace {

/// Pieces of 100 bytes each.
std::vector<std::string> pieces(std::size_t count, char letter) {
    return std::vector<std::string>(count, "\"" + std::string(98, letter) + "\"");
}

std::vector<std::string_view> views(const std::vector<std::string>& pieces) {
    return {pieces.begin(), pieces.end()};
}

std::size_t length_of(simdjson::dom::element message, const char* name) {
    simdjson::dom::array list;
    return message[name].get(list) ? 0 : list.size();
}

TEST(RoomMessages, ARoomInPartsHasAllMembersOnceAndTheIdInEach) {
    const std::vector<std::string> members = pieces(200, 'm');
    const std::vector<std::string_view> given = views(members);
    const RoomId room("r");
    const std::vector<std::string> parts = encode_room(9, {room, 200, true}, &given, 8192);
    ASSERT_GT(parts.size(), 2U);
    std::size_t found = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_LE(parts[i].size(), 8192U);
        simdjson::dom::parser parser;
        const simdjson::dom::element message = parser.parse(parts[i]);
        EXPECT_EQ(std::int64_t(message["id"]), 9);
        EXPECT_EQ(std::int64_t(message["count"]), 200);
        EXPECT_EQ(message["more"].error() == simdjson::SUCCESS, i + 1 < parts.size());
        found += length_of(message, "members");
    }
    EXPECT_EQ(found, 200U);
}

TEST(RoomMessages, AnEmptyListIsAListAndALargeRoomHasNone) {
    const RoomId room("r");
    const std::vector<std::string_view> nobody;
    EXPECT_EQ(encode_room(1, {room, 0, true}, &nobody, 8192).front(),
              R"({"type":"room","id":1,"room":"r","count":0,"exact":true,"members":[]})");
    EXPECT_EQ(encode_room({}, {room, 7, false}, nullptr, 8192).front(),
              R"({"type":"room","room":"r","count":7,"exact":false})");
}

TEST(RoomMessages, AnUpdateInPartsGoesThroughItsListsInOrder) {
    const std::vector<std::string> joined = pieces(60, 'j');
    const std::vector<std::string> changed = pieces(60, 'c');
    const std::vector<std::string> left(60, std::string(128, '"'));
    const RoomId room(std::string(128, '"'));
    const std::vector<std::string> parts =
        encode_room_update({room, 60, true}, {views(joined), views(changed), views(left)}, 8192);
    ASSERT_GT(parts.size(), 2U);
    std::size_t counts[3]{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_LE(parts[i].size(), 8192U);
        simdjson::dom::parser parser;
        const simdjson::dom::element message = parser.parse(parts[i]);
        counts[0] += length_of(message, "joined");
        counts[1] += length_of(message, "changed");
        counts[2] += length_of(message, "left");
        EXPECT_EQ(message["more"].error() == simdjson::SUCCESS, i + 1 < parts.size());
    }
    EXPECT_EQ(counts[0], 60U);
    EXPECT_EQ(counts[1], 60U);
    EXPECT_EQ(counts[2], 60U);
}

}  // namespace
}  // namespace presence::protocol
