// Any bytes, as they might come from what is said to be a Redis: the same however they arrive, and
// what is read out of them (maps of a cluster, redirections, errors) makes sense.
#include "presence/base/assert.h"
#include "presence/stores/redis/reply.h"
#include "presence/stores/redis/topology.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hiredis/hiredis.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace presence::redis;

constexpr unsigned kSlots = 16'384;
const Endpoint kAsked{"asked.example", 7000};

void show(ReplyView reply, std::string& shown) {
    if (reply.is_array()) {
        shown += '[';
        for (std::size_t i = 0; i < reply.size(); ++i) {
            show(reply[i], shown);
        }
        shown += ']';
    } else if (reply.is_integer()) {
        shown += std::to_string(reply.integer()) + ';';
    } else {
        shown += reply.is_nil() ? "nil;" : reply.is_error() ? "error " : "text ";
        shown += std::string(reply.text()) + ';';
    }
}

void check(ReplyView reply) {
    static_cast<void>(classify(reply));
    if (const auto moved = parse_redirection(reply.text(), kAsked)) {
        PRESENCE_ASSERT(moved->slot < kSlots && moved->to.port != 0 && !moved->to.host.empty());
    }
    if (const auto ranges = parse_cluster_slots(reply, kAsked)) {
        for (const SlotRange& range : *ranges) {
            PRESENCE_ASSERT(range.first <= range.last && range.last < kSlots);
            PRESENCE_ASSERT(range.master.port != 0 && !range.master.host.empty());
        }
    }
}

/// Reads as net does, and returns what was read as text; ends where the protocol is broken.
std::vector<std::string> read(std::string_view stream, std::size_t step) {
    std::vector<std::string> shown;
    const ReplyReader reader = new_reader();
    for (std::size_t at = 0; at < stream.size(); at += step) {
        const std::string_view piece = stream.substr(at, step);
        redisReaderFeed(reader.get(), piece.data(), piece.size());
        for (;;) {
            void* raw = nullptr;
            if (redisReaderGetReply(reader.get(), &raw) != REDIS_OK) {
                shown.emplace_back("broken");
                return shown;
            }
            if (raw == nullptr) {
                break;
            }
            const Reply reply(static_cast<redisReply*>(raw));
            check(reply.view());
            show(reply.view(), shown.emplace_back());
        }
    }
    return shown;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<std::string> whole = read(stream, std::max<std::size_t>(stream.size(), 1));
    PRESENCE_ASSERT(read(stream, 1 + data[0] % 16) == whole);
    return 0;
}
