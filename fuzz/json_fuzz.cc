// Any bytes, as JSON: accepted if and only if Boost.JSON accepts them, but for what is said below,
// and then with the same members.
#include "presence/base/assert.h"
#include "presence/protocol/json_document.h"
#include "presence/protocol/limits.h"

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace presence::protocol;
namespace json = boost::json;

json::value parse(std::string_view text, json::error_code& refused) {
    json::parse_options options;
    options.max_depth = kJsonDepth;
    return json::parse(text, refused, {}, options);
}

/// What we take although Boost does not: halves of surrogate pairs and numbers beyond a double,
/// which refuse the field that they stand in, not the text.
bool is_taken_all_the_same(std::string_view text, const json::error_code& refused) {
    return refused == json::error::illegal_leading_surrogate ||
           refused == json::error::illegal_trailing_surrogate ||
           refused == json::error::expected_utf16_escape ||
           refused == json::error::exponent_overflow || text.find("\\u") != std::string_view::npos;
}

/// Numbers and texts may have been repaired; the kinds, names and sizes are the same.
void compare(simdjson::dom::element ours, const json::value& theirs) {
    using Kind = simdjson::dom::element_type;
    switch (ours.type()) {
        case Kind::OBJECT: {
            PRESENCE_ASSERT(theirs.is_object());
            for (const auto& member : simdjson::dom::object(ours)) {
                PRESENCE_ASSERT(theirs.get_object().contains(
                    json::string_view(member.key.data(), member.key.size())));
            }
            break;
        }
        case Kind::ARRAY: {
            PRESENCE_ASSERT(theirs.is_array());
            std::size_t at = 0;
            for (const auto item : simdjson::dom::array(ours)) {
                PRESENCE_ASSERT(at < theirs.get_array().size());
                compare(item, theirs.get_array()[at++]);
            }
            PRESENCE_ASSERT(at == theirs.get_array().size());
            break;
        }
        case Kind::STRING: {
            const std::string_view text = ours;
            PRESENCE_ASSERT(theirs.is_string());
            const auto& other = theirs.get_string();
            PRESENCE_ASSERT(text == std::string_view(other.data(), other.size()));
            break;
        }
        case Kind::BOOL:
            PRESENCE_ASSERT(theirs.is_bool() && theirs.get_bool() == bool(ours));
            break;
        case Kind::NULL_VALUE:
            PRESENCE_ASSERT(theirs.is_null());
            break;
        case Kind::INT64:
            // -0 is kept from passing for 0: it stands as -1.
            PRESENCE_ASSERT(theirs.is_number());
            PRESENCE_ASSERT(!theirs.is_int64() || std::int64_t(ours) == -1 ||
                            theirs.get_int64() == std::int64_t(ours));
            break;
        case Kind::UINT64:
        case Kind::DOUBLE:
            PRESENCE_ASSERT(theirs.is_number());
            break;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto ours = JsonDocument::parse(text);
    json::error_code refused;
    const json::value theirs = parse(text, refused);
    if (!ours) {
        PRESENCE_ASSERT(refused);
        return 0;
    }
    if (refused) {
        PRESENCE_ASSERT(is_taken_all_the_same(text, refused));
        return 0;
    }
    compare(ours->root(), theirs);
    return 0;
}
