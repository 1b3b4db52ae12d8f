#include "presence/stores/redis/reply.h"

#include "presence/base/assert.h"

#include <hiredis/hiredis.h>
#include <utility>

namespace presence::redis {

bool ReplyView::is_nil() const noexcept {
    return raw_->type == REDIS_REPLY_NIL;
}
bool ReplyView::is_error() const noexcept {
    return raw_->type == REDIS_REPLY_ERROR;
}
bool ReplyView::is_text() const noexcept {
    return raw_->type == REDIS_REPLY_STRING || raw_->type == REDIS_REPLY_STATUS;
}
bool ReplyView::is_integer() const noexcept {
    return raw_->type == REDIS_REPLY_INTEGER;
}
bool ReplyView::is_array() const noexcept {
    return raw_->type == REDIS_REPLY_ARRAY;
}

std::string_view ReplyView::text() const noexcept {
    return is_text() || is_error()
               ? std::string_view(raw_->str, static_cast<std::size_t>(raw_->len))
               : std::string_view{};
}

std::int64_t ReplyView::integer() const noexcept {
    return is_integer() ? raw_->integer : 0;
}

std::size_t ReplyView::size() const noexcept {
    return is_array() ? raw_->elements : 0;
}

ReplyView ReplyView::operator[](std::size_t index) const {
    PRESENCE_ASSERT(index < size());
    return ReplyView(raw_->element[index]);
}

void FreeReader::operator()(redisReader* reader) const noexcept {
    redisReaderFree(reader);
}

namespace {

/// As hiredis has them, but for arrays.
redisReplyObjectFunctions* bounded_functions() {
    static void* (*create_array)(const redisReadTask*, int) = nullptr;
    static redisReplyObjectFunctions functions = [] {
        const ReplyReader plain(redisReaderCreate());
        create_array = plain->fn->createArray;
        redisReplyObjectFunctions made = *plain->fn;
        made.createArray = [](const redisReadTask* task, int elements) -> void* {
            return elements > kMostElements ? nullptr : create_array(task, elements);
        };
        return made;
    }();
    return &functions;
}

}  // namespace

ReplyReader new_reader() {
    return ReplyReader(redisReaderCreateWithFunctions(bounded_functions()));
}

void Reply::Free::operator()(redisReply* raw) const noexcept {
    freeReplyObject(raw);
}

ReplyError classify(ReplyView reply) noexcept {
    if (!reply.is_error()) {
        return ReplyError::none;
    }
    constexpr std::pair<std::string_view, ReplyError> kWords[] = {
        {"NOSCRIPT", ReplyError::no_script},
        {"MOVED", ReplyError::moved},
        {"ASK", ReplyError::ask},
        {"TRYAGAIN", ReplyError::try_again},
        {"CLUSTERDOWN", ReplyError::cluster_down},
        {"LOADING", ReplyError::loading},
        {"BUSY", ReplyError::loading},
        {"READONLY", ReplyError::read_only},
        {"MASTERDOWN", ReplyError::master_down},
        {"NOREPLICAS", ReplyError::out_of_memory},
        {"MISCONF", ReplyError::out_of_memory},
        {"OOM", ReplyError::out_of_memory},
        {"NOAUTH", ReplyError::no_auth},
        {"WRONGPASS", ReplyError::no_auth},
        {"NOPERM", ReplyError::no_auth},
    };
    const std::string_view text = reply.text();
    const std::string_view word = text.substr(0, text.find(' '));
    for (const auto& [name, error] : kWords) {
        if (word == name) {
            return error;
        }
    }
    return ReplyError::other;
}

}  // namespace presence::redis
