#pragma once

#include "presence/base/ids.h"

#include <iterator>
#include <string>
#include <vector>

namespace presence::testing {

inline constexpr const char* kNastyTexts[] = {"a:b",
                                              "a",
                                              "b:c",
                                              "a:b:c",
                                              "a/b",
                                              "a?b",
                                              "a#b",
                                              "a%2Fb",
                                              "..",
                                              ".",
                                              "a b",
                                              " a",
                                              "a ",
                                              "profiles",
                                              "named_users",
                                              "open_sessions",
                                              "NULL",
                                              "null",
                                              "'; DROP TABLE profiles; --",
                                              "\"a\"",
                                              "'a'",
                                              "\\",
                                              "*",
                                              "u*",
                                              "u?",
                                              "[a-z]",
                                              "u%",
                                              "u_",
                                              "u1",
                                              "{a}",
                                              "user",
                                              "User",
                                              "USER",
                                              "us\xD0\xB5r" /* Cyrillic e */,
                                              "j\xC3\xBCrgen",
                                              "ju\xCC\x88rgen",
                                              "\xE2\x84\xAA" /* Kelvin sign */,
                                              "K",
                                              "k",
                                              "\xEF\xBC\xAB" /* fullwidth K */,
                                              "us\xE2\x80\x8D"
                                              "er" /* joiner inside */,
                                              "stra\xC3\x9F"
                                              "e",
                                              "strasse",
                                              "\xF0\x9F\x98\x80",
                                              "0",
                                              "00",
                                              "1",
                                              "1.0",
                                              "1e3",
                                              "1000",
                                              "9007199254740993",
                                              "9007199254740992",
                                              "18446744073709551616",
                                              "0x1",
                                              "-1",
                                              "true"};

/// Ids that differ in bytes only, or that mean something to a careless store: FO-069 (separators,
/// names of the store's own), FO-070 (wildcards), FO-071 (lookalikes), FO-073 (numbers). All of
/// them pass check_id.
[[nodiscard]] inline std::vector<UserId> nasty_ids() {
    constexpr std::size_t kLongest = 128;
    std::vector<UserId> ids(std::begin(kNastyTexts), std::end(kNastyTexts));
    ids.emplace_back(std::string(kLongest, 'x'));
    ids.emplace_back(std::string(kLongest - 1, 'x'));
    ids.emplace_back(std::string(kLongest - 1, 'x') + "y");
    return ids;
}

}  // namespace presence::testing
