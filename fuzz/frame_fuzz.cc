// Any bytes, as a client might send them: read whole and read in pieces they must mean the same,
// stay within the limits, and crash nothing.
#include "presence/base/assert.h"
#include "presence/base/utf8.h"
#include "presence/net/frame.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using presence::net::FrameEvent;

constexpr presence::net::FrameLimits kLimits{.message_bytes = 512, .fragments = 4};

struct Told {
    FrameEvent::Kind kind;
    std::uint16_t code;
    std::string payload;
    friend bool operator==(const Told&, const Told&) = default;
};

void check(const FrameEvent& event, std::size_t available) {
    PRESENCE_ASSERT(event.consumed <= available);
    if (event.kind == FrameEvent::Kind::text) {
        PRESENCE_ASSERT(event.payload.size() <= kLimits.message_bytes);
        PRESENCE_ASSERT(presence::count_code_points(event.payload).has_value());
    }
    if (event.kind == FrameEvent::Kind::close) {
        PRESENCE_ASSERT(event.code == presence::net::close_code::kNone ||
                        presence::net::is_valid_close_code(event.code));
    }
}

std::vector<Told> read(std::string_view stream, std::size_t step) {
    std::vector<Told> told;
    std::unique_ptr<presence::net::UnfinishedMessage> unfinished;
    std::string store;
    std::string unread;
    for (std::size_t at = 0; at < stream.size(); at += step) {
        unread += stream.substr(at, step);
        for (;;) {
            const FrameEvent event = read_frame(unread, kLimits, unfinished, store);
            check(event, unread.size());
            if (event.kind == FrameEvent::Kind::incomplete) {
                break;
            }
            told.push_back({event.kind, event.code, std::string(event.payload)});
            if (event.kind == FrameEvent::Kind::error) {
                return told;
            }
            PRESENCE_ASSERT(event.consumed > 0);
            unread.erase(0, event.consumed);
        }
    }
    return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<Told> whole = read(stream, std::max<std::size_t>(stream.size(), 1));
    PRESENCE_ASSERT(read(stream, 1 + data[0] % 16) == whole);
    return 0;
}
