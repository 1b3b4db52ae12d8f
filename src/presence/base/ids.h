#pragma once

#include "presence/base/compact_text.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace presence {

/// Opaque text that names something outside, compared byte for byte. Which bytes are allowed is
/// decided once, by check_id in ids.cc; a value of this type has passed it or comes from a store.
template <class Tag>
struct TextId {
    CompactText text;

    TextId() = default;
    explicit TextId(CompactText value) : text(std::move(value)) {}

    friend bool operator==(const TextId&, const TextId&) = default;
    friend auto operator<=>(const TextId&, const TextId&) = default;
};

using UserId = TextId<struct UserTag>;
using RoomId = TextId<struct RoomTag>;
using SessionId = TextId<struct SessionTag>;  ///< 15 characters of base64url, made here.

/// Hash for ids that also takes plain text, so that a look-up need not copy.
struct IdHash {
    using is_transparent = void;
    template <class Tag>
    std::size_t operator()(const TextId<Tag>& id) const noexcept {
        return (*this)(std::string_view(id.text));
    }
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>{}(text);
    }
};

/// Equality beside IdHash.
struct IdEqual {
    using is_transparent = void;
    template <class Tag>
    bool operator()(const TextId<Tag>& a, const TextId<Tag>& b) const noexcept {
        return a.text == b.text;
    }
    template <class Tag>
    bool operator()(std::string_view a, const TextId<Tag>& b) const noexcept {
        return a == b.text.view();
    }
    template <class Tag>
    bool operator()(const TextId<Tag>& a, std::string_view b) const noexcept {
        return a.text.view() == b;
    }
};

/// What is wrong with a text as an id, or null if nothing is. PROTOCOL.md, "Conventions": 1 to 128
/// bytes of valid UTF-8, no control characters, no direction controls, not blank.
[[nodiscard]] const char* check_id(std::string_view text) noexcept;

/// One life of one process, drawn by chance when it begins. 0 names none: a node that is alone.
struct NodeId {
    std::uint64_t value = 0;
    explicit operator bool() const noexcept { return value != 0; }
    friend auto operator<=>(NodeId, NodeId) = default;
};

/// Fencing number of a session, larger at each attach. Every later write about the session
/// carries it; an older one is refused, so the late close of a dropped connection cannot end the
/// session that replaced it.
struct Epoch {
    std::uint64_t value = 0;
    friend auto operator<=>(const Epoch&, const Epoch&) = default;
};

/// Orders what one user's watchers are told. Below 2^53; 0 tells nothing.
struct Version {
    std::uint64_t value = 0;
    friend auto operator<=>(const Version&, const Version&) = default;
};

}  // namespace presence
