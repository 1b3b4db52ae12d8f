// Any bytes, as the body of an HTTP call: what is accepted keeps what it promises, and what is
// stored of it comes back the same through the body that shows it. The first byte chooses the call.
#include "presence/base/assert.h"
#include "presence/base/ids.h"
#include "presence/protocol/rest_body.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace presence;
using namespace presence::protocol;

constexpr Millis kMostWait{30'000};
const ParseLimits kLimits{.watch = 8, .list_users = 8, .query_users = 8};

void check_users(const std::vector<UserId>& users) {
    PRESENCE_ASSERT(users.size() <= 8);
    for (const UserId& user : users) {
        PRESENCE_ASSERT(check_id(user.text) == nullptr);
    }
}

void try_privacy(std::string_view text) {
    const Result<PrivacySettings> read = parse_privacy_body(text, kLimits);
    if (!read) {
        return;
    }
    const PrivacyRule everyone;
    const PrivacyRule& online = read->online ? *read->online : everyone;
    const PrivacyRule& last_seen = read->last_seen ? *read->last_seen : everyone;
    check_users(online.users.users());
    check_users(last_seen.users.users());
    const Result<PrivacySettings> again =
        parse_privacy_body(encode_privacy_body(online, last_seen), kLimits);
    PRESENCE_ASSERT(again && again->online == online && again->last_seen == last_seen);
}

void try_user_set(std::string_view text) {
    if (const Result<UserSet> read = parse_user_set_body(text, kLimits)) {
        check_users(read->users());
        const Result<UserSet> again = parse_user_set_body(encode_user_set_body(*read), kLimits);
        PRESENCE_ASSERT(again && *again == *read);
    }
}

void try_delta(std::string_view text) {
    if (const Result<UserSetDelta> read = parse_user_set_delta_body(text, kLimits)) {
        check_users(read->add.users());
        check_users(read->remove.users());
        for (const UserId& user : read->add.users()) {
            PRESENCE_ASSERT(!read->remove.contains(user));
        }
    }
}

void try_poll(std::string_view text) {
    if (const Result<PollBody> read = parse_poll_body(text, kLimits, kMostWait)) {
        check_users(read->users);
        PRESENCE_ASSERT(read->wait.count() >= 0 && read->wait <= kMostWait);
    }
}

void try_revoke(std::string_view text) {
    if (const Result<WallTime> read = parse_revoke_body(text)) {
        const Result<WallTime> again = parse_revoke_body(encode_revoke_body(*read));
        PRESENCE_ASSERT(again && *again == *read);
    }
}

void try_beat(std::string_view text) {
    if (const Result<BeatBody> read = parse_beat_body(text)) {
        PRESENCE_ASSERT(check_id(read->device_id) == nullptr);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0]) {
        case 'p':
            try_privacy(text);
            break;
        case 'l':
            try_user_set(text);
            break;
        case 'd':
            try_delta(text);
            break;
        case 'q':
            if (const auto users = parse_query_body(text, kLimits)) {
                check_users(*users);
            }
            break;
        case 'c':
            try_poll(text);
            break;
        case 'r':
            try_revoke(text);
            break;
        case 'b':
            try_beat(text);
            break;
        default:
            if (const auto change = parse_status_body(text, kLimits)) {
                PRESENCE_ASSERT(!change->session_scope);
            }
            break;
    }
    return 0;
}
