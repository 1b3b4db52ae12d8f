// Any bytes, as they might come over the bus: a message of ours or nothing, no more of it than was
// sent, and what was understood is the same after it was said again.
#include "presence/base/assert.h"
#include "presence/stores/redis/codec.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace {

using namespace presence;
using namespace presence::redis;

std::string say_again(const Message& message) {
    return std::visit(
        [](const auto& said) -> std::string {
            using Said = std::decay_t<decltype(said)>;
            if constexpr (std::is_same_v<Said, Unreadable>) {
                return {};
            } else if constexpr (std::is_same_v<Said, Probe>) {
                return probe_head() + said.incarnation;
            } else if constexpr (requires { encode(*said); }) {
                return encode(*said);
            } else {
                return encode(said);
            }
        },
        message);
}

std::size_t entries_of(const Message& message) {
    if (const auto* statement = std::get_if<RoomStatementRef>(&message)) {
        return (*statement)->present.size() + (*statement)->gone.size() +
               (*statement)->left_told.size();
    }
    if (const auto* stays = std::get_if<SessionStays>(&message)) {
        return stays->stays.size();
    }
    if (const auto* answer = std::get_if<SurveyAnswerRef>(&message)) {
        std::size_t entries = (*answer)->rooms.size();
        for (const RoomFacts& room : (*answer)->rooms) {
            entries += room.page.size();
        }
        return entries;
    }
    return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Message message = decode_message(bytes);
    PRESENCE_ASSERT(entries_of(message) <= bytes.size());
    if (std::holds_alternative<Unreadable>(message)) {
        return 0;
    }
    const std::string again = say_again(message);
    const Message second = decode_message(again);
    PRESENCE_ASSERT(second.index() == message.index());
    PRESENCE_ASSERT(say_again(second) == again);
    return 0;
}
