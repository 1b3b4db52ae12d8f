#include "presence/stores/redis/keys.h"

#include "presence/base/assert.h"
#include "presence/stores/redis/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace presence::redis {

std::vector<std::string> spread_tags(std::size_t count) {
    constexpr std::string_view kLetters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    PRESENCE_ASSERT(count >= 1 && count <= kSlots / 16);
    std::vector<std::string> tags(count);
    std::vector<int> off(count, kSlots);
    for (const char first : kLetters) {
        for (const char second : kLetters) {
            const std::string tag{'p', first, second};
            const std::size_t slot = slot_of(tag);
            const std::size_t range = slot * count / kSlots;
            const auto middle = static_cast<int>((2 * range + 1) * kSlots / (2 * count));
            const int distance = std::abs(static_cast<int>(slot) - middle);
            if (distance < off[range]) {
                off[range] = distance;
                tags[range] = tag;
            }
        }
    }
    PRESENCE_ASSERT(std::ranges::none_of(tags, &std::string::empty));
    return tags;
}

Keys::Keys(std::string_view prefix, std::size_t partitions)
    : prefix_(prefix), tags_(spread_tags(partitions)) {
    for (const std::string& tag : tags_) {
        heads_.push_back(prefix_ + '{' + tag + '}');
        slots_.push_back(slot_of(tag));
    }
}

std::string Keys::of_user(const UserId& user, char kind) const {
    const std::string& head = heads_[partition_of(user)];
    std::string name;
    name.reserve(head.size() + 1 + user.text.size());
    name += head;
    name += kind;
    name += user.text;
    return name;
}

std::string Keys::name_of(NodeId node) {
    return fmt::format("{:016x}", node.value);
}

std::optional<UserId> Keys::user_of_channel(std::string_view channel) const {
    const std::size_t head = heads_[0].size();  // All tags are of one length.
    if (channel.size() < head + 2 || channel[head] != 'c') {
        return std::nullopt;
    }
    return UserId(channel.substr(head + 1));
}

std::optional<std::uint32_t> Keys::partition_of_channel(std::string_view channel) const {
    const std::size_t head = heads_[0].size();
    if (channel.size() != head + 1 || channel[head] != 'x') {
        return std::nullopt;
    }
    const std::uint16_t slot = slot_of(channel);
    const std::size_t index = slot * heads_.size() / kSlots;  // As spread_tags has dealt them out.
    return heads_[index] == channel.substr(0, head)
               ? std::optional(static_cast<std::uint32_t>(index))
               : std::nullopt;
}

}  // namespace presence::redis
