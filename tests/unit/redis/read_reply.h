#pragma once

#include "presence/base/assert.h"
#include "presence/stores/redis/reply.h"

#include <hiredis/hiredis.h>
#include <string_view>

namespace presence::testing {

/// A reply from the bytes of the protocol.
inline redis::Reply read_reply(std::string_view bytes) {
    redisReader* const reader = redisReaderCreate();
    redisReaderFeed(reader, bytes.data(), bytes.size());
    void* raw = nullptr;
    PRESENCE_ASSERT(redisReaderGetReply(reader, &raw) == REDIS_OK && raw != nullptr);
    redisReaderFree(reader);
    return redis::Reply(static_cast<redisReply*>(raw));
}

}  // namespace presence::testing
