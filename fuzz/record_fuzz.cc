// Any bytes, as they might lie in the store: a record of ours, nothing, or an error, and what was
// read is the same after it was written and read again. The first byte chooses what it is.
#include "presence/base/assert.h"
#include "presence/stores/redis/codec.h"
#include "presence/stores/redis/ends.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace presence;
using namespace presence::redis;

void try_record(std::string_view bytes) {
    const RecordHead head = decode_head(bytes);
    PRESENCE_ASSERT(head.nodes.size() <= kMostNodes);
    const Result<UserRecordRef> record = decode_record(bytes);
    if (!record || !*record) {
        return;
    }
    PRESENCE_ASSERT((*record)->commit == head.commit);
    PRESENCE_ASSERT((*record)->sessions.size() <= bytes.size());
    const std::string again = encode(**record);
    const Result<UserRecordRef> second = decode_record(again);
    PRESENCE_ASSERT(second && *second);
    PRESENCE_ASSERT(encode(**second) == again);
}

void try_end(std::string_view line) {
    const LastSeenRow row = decode_end("u", line);
    const std::string again = encode_end(row);
    const LastSeenRow second = decode_end("u", again);
    PRESENCE_ASSERT(second.last_seen == row.last_seen && second.own_version == row.own_version &&
                    second.shown_version == row.shown_version);
    PRESENCE_ASSERT(encode_end(second) == again || row.written_at.ms() < 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    data[0] == 'e' ? try_end(bytes) : try_record(bytes);
    return 0;
}
