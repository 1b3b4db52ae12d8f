#pragma once

#include "presence/model/privacy.h"
#include "presence/model/session.h"
#include "presence/model/status.h"

#include <initializer_list>
#include <string_view>

namespace presence {

// Stores keep enumerations as their words on the wire. A word that this release does not know was
// written by a newer one: each reader says what is safe then.

template <class Enum>
[[nodiscard]] Enum from_word(std::string_view word, std::initializer_list<Enum> known,
                             Enum otherwise) {
    for (const Enum value : known) {
        if (wire_name(value) == word) {
            return value;
        }
    }
    return otherwise;
}

[[nodiscard]] inline DeclaredStatus declared_from(std::string_view word) {
    using enum DeclaredStatus;
    return from_word(word, {automatic, online, away, busy, dnd, invisible}, automatic);
}

/// A rule that is not understood admits nobody but the user.
[[nodiscard]] inline Audience audience_from(std::string_view word) {
    using enum Audience;
    return from_word(word, {everyone, contacts, contacts_except, only, nobody}, nobody);
}

[[nodiscard]] inline DeviceKind device_kind_from(std::string_view word) {
    using enum DeviceKind;
    return from_word(word, {bot, desktop, mobile, other, tablet, web}, other);
}

}  // namespace presence
