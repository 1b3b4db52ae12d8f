#include "presence/api/page_cursor.h"

#include <gtest/gtest.h>

#include <string>

namespace presence::api {
namespace {

TEST(PageCursor, WhatWasEncodedIsReadBackByteForByte) {
    for (const std::string& id : {std::string("a"), std::string("room-7"),
                                  std::string("Zo\u00EB/1"), std::string(128, 'x')}) {
        EXPECT_EQ(decode_page_cursor(encode_page_cursor(id)), id);
        EXPECT_EQ(encode_page_cursor(id).find(id), std::string::npos);
    }
    EXPECT_EQ(encode_page_cursor("ab"), "16162");
}

TEST(PageCursor, WhatIsNoCursorOfOursIsNone) {
    for (const char* unknown :
         {"", "1", "161626", "1616", "26162", "1616g", "1 162", "1-162", "room-7", "zz"}) {
        EXPECT_FALSE(decode_page_cursor(unknown)) << unknown;
    }
}

}  // namespace
}  // namespace presence::api
