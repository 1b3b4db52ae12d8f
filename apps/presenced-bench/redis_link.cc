#include "redis_link.h"

#include "failure.h"

#include <hiredis/hiredis.h>

namespace presence::bench {

namespace {

constexpr timeval kPatience{5, 0};

std::string text_of(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_INTEGER:
            return std::to_string(reply.integer);
        case REDIS_REPLY_ARRAY: {
            std::string lines;
            for (std::size_t at = 0; at < reply.elements; ++at) {
                lines += text_of(*reply.element[at]) + '\n';
            }
            return lines;
        }
        case REDIS_REPLY_NIL:
            return {};
        default:
            return {reply.str, static_cast<std::size_t>(reply.len)};
    }
}

}  // namespace

void RedisLink::Free::operator()(redisContext* context) const {
    redisFree(context);
}

void RedisLink::FreeReply::operator()(redisReply* reply) const {
    freeReplyObject(reply);
}

RedisLink::RedisLink(std::uint16_t port)
    : port_(port), context_(redisConnectWithTimeout("127.0.0.1", port, kPatience)) {
    if (context_ == nullptr || context_->err != 0) {
        fail("no redis-server answers at {}", port);
    }
    redisSetTimeout(context_.get(), kPatience);
}

bool RedisLink::answers(std::uint16_t port) {
    const std::unique_ptr<redisContext, Free> context(
        redisConnectWithTimeout("127.0.0.1", port, kPatience));
    return context != nullptr && context->err == 0;
}

std::string RedisLink::run(const Words& words) {
    append(words);
    return receive();
}

bool RedisLink::accepts(const Words& words) {
    append(words);
    return next()->type != REDIS_REPLY_ERROR;
}

void RedisLink::append(const Words& words) {
    std::vector<const char*> parts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
        parts.push_back(word.data());
        sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(parts.size()), parts.data(),
                           sizes.data());
}

void RedisLink::flush() {
    int done = 0;
    while (done == 0) {
        if (redisBufferWrite(context_.get(), &done) != REDIS_OK) {
            fail("redis-server at {}: {}", port_, context_->errstr);
        }
    }
}

std::string RedisLink::receive() {
    const Reply reply = next();
    if (reply->type == REDIS_REPLY_ERROR) {
        fail("redis-server at {}: {}", port_, reply->str);
    }
    return text_of(*reply);
}

RedisLink::Reply RedisLink::next() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
        fail("redis-server at {}: {}", port_, context_->errstr);
    }
    return Reply(static_cast<redisReply*>(reply));
}

}  // namespace presence::bench
