#include "presence/base/assert.h"
#include "presence/base/ids.h"
#include "presence/base/utf8.h"
#include "presence/protocol/client_message.h"
#include "presence/protocol/server_message.h"

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace presence;
using namespace presence::protocol;

void check_users(const std::vector<UserId>& users) {
    for (const UserId& user : users) {
        PRESENCE_ASSERT(check_id(user.text) == nullptr);
    }
}

void check_json(std::string_view text) {
    simdjson::dom::parser parser;
    PRESENCE_ASSERT(!parser.parse(simdjson::padded_string(text)).error());
}

/// What a message promises once it has been accepted.
struct Promises {
    void operator()(const Hello& hello) const {
        PRESENCE_ASSERT(!hello.device || hello.device->name.size() <= kDeviceNameBytes);
    }
    void operator()(const Heartbeat& heartbeat) const {
        PRESENCE_ASSERT(!heartbeat.idle ||
                        (heartbeat.idle->count() >= 0 && heartbeat.idle->count() <= kMaxInteger));
    }
    void operator()(const protocol::StatusChange& change) const {
        PRESENCE_ASSERT(change.status || change.custom_change != CustomChange::keep);
        PRESENCE_ASSERT(!change.session_scope || change.status != DeclaredStatus::invisible);
        PRESENCE_ASSERT(change.status || change.expiry == Expiry());
        if (change.custom_change == CustomChange::set) {
            const CustomStatusGiven& custom = change.custom;
            PRESENCE_ASSERT(!custom.text.empty() || !custom.emoji.empty());
            PRESENCE_ASSERT(count_code_points(custom.text).value() <= 100);
            PRESENCE_ASSERT(count_code_points(custom.emoji).value() <= kCustomEmojiCodePoints);
            PRESENCE_ASSERT((custom.text + custom.emoji).find('\0') == std::string::npos);
        }
    }
    void operator()(const Watch& watch) const {
        check_users(watch.users);
        PRESENCE_ASSERT(!watch.users.empty() || watch.mode == Watch::Mode::set);
        PRESENCE_ASSERT(watch.users.size() <= 500 && watch.known.size() <= 500);
        for (const auto& [user, version] : watch.known) {
            PRESENCE_ASSERT(check_id(user.text) == nullptr);
            PRESENCE_ASSERT(version.value <= static_cast<std::uint64_t>(kMaxInteger));
        }
    }
    void operator()(const Unwatch& unwatch) const { check_users(unwatch.users); }
    void operator()(const Get& get) const { check_users(get.users); }
    void operator()(const Block& block) const { check_users(block.users); }
    void operator()(const Unblock& unblock) const { check_users(unblock.users); }
    void operator()(const Join& join) const {
        PRESENCE_ASSERT(check_id(join.room.text) == nullptr);
        if (!join.meta.empty()) {
            check_json(join.meta);
        }
    }
    void operator()(const Leave& leave) const {
        PRESENCE_ASSERT(check_id(leave.room.text) == nullptr);
    }
    void operator()(const Signal& signal) const {
        PRESENCE_ASSERT(signal.data.size() <= kSignalDataBytes);
        check_json(encode_signal({UserId("u"), {}, signal.kind, signal.data, true, {}}));
    }
    void operator()(const PrivacyChange& change) const {
        if (change.rules.online) {
            check_users(change.rules.online->users.users());
        }
    }
    template <class Other>
    void operator()(const Other&) const {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const ParseLimits limits;
    const ParsedMessage parsed = parse_client_message(text, limits);
    PRESENCE_ASSERT(!parsed.id || *parsed.id <= static_cast<std::uint64_t>(kMaxInteger));
    if (parsed.message) {
        std::visit(Promises(), *parsed.message);
    } else {
        check_json(encode_error(parsed.id, parsed.message.error()));
    }
    return 0;
}
