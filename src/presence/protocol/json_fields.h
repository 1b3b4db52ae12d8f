#pragma once

#include "presence/base/result.h"

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace presence::protocol {

/// A message of texts and numbers.
template <class... Parts>
[[nodiscard]] std::string compose(const Parts&... parts) {
    std::string out;
    const auto add = [&](const auto& part) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
            out.append(std::to_string(part));
        } else {
            out.append(part);
        }
    };
    (add(parts), ...);
    return out;
}

/// The first thing that was wrong with a request. Readers go on after a mistake, with any value,
/// and the caller asks once at the end.
class Refusal {
public:
    /// @param field  Empty: the request as a whole.
    void say(std::string_view field, std::string_view what, ErrorCode code = ErrorCode::bad_request,
             std::size_t limit = 0);

    [[nodiscard]] bool said() const noexcept { return error_.has_value(); }
    /// Only where something was said.
    [[nodiscard]] Error take() { return std::move(*error_); }

private:
    std::optional<Error> error_;
};

/// A word and what it stands for, in a list of all that a field may say.
template <class T>
struct Choice {
    std::string_view word;
    T value;
};

/// The members of one JSON object, read by name and held against type and bounds. Of a name given
/// twice the last counts. A reader that finds nothing, or something wrong, returns nothing.
class JsonFields {
public:
    /// @param path  Where the object stands, for messages: "" or "customStatus.". Outlives this.
    JsonFields(simdjson::dom::object object, std::string_view path, Refusal& refusal)
        : object_(object), path_(path), refusal_(&refusal) {}

    [[nodiscard]] std::optional<simdjson::dom::element> find(std::string_view name) const;
    /// Position of `name` among the members.
    [[nodiscard]] std::optional<std::size_t> index_of(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const { return find(name).has_value(); }
    /// Refuses where `name` is not there.
    bool require(std::string_view name) const;

    [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t least,
                                                      std::int64_t most) const;
    [[nodiscard]] std::optional<std::string_view> text(std::string_view name) const;
    /// Text of at most so many code points and bytes, without U+0000.
    [[nodiscard]] std::optional<std::string_view> bounded_text(std::string_view name,
                                                               std::size_t code_points,
                                                               std::size_t bytes) const;
    [[nodiscard]] std::optional<simdjson::dom::array> array(std::string_view name) const;
    /// @param path  The path of what is inside.
    [[nodiscard]] std::optional<JsonFields> object(std::string_view name,
                                                   std::string_view path) const;

    template <class T, std::size_t N>
    [[nodiscard]] std::optional<T> choice(std::string_view name,
                                          const std::array<Choice<T>, N>& choices) const {
        const auto word = text(name);
        if (!word) {
            return std::nullopt;
        }
        std::string words;
        for (const Choice<T>& one : choices) {
            if (one.word == *word) {
                return one.value;
            }
            words.append(words.empty() ? "" : ", ").append(one.word);
        }
        refuse(name, compose("must be one of ", words));
        return std::nullopt;
    }

    void refuse(std::string_view name, std::string_view what,
                ErrorCode code = ErrorCode::bad_request, std::size_t limit = 0) const;

    [[nodiscard]] simdjson::dom::object members() const noexcept { return object_; }
    [[nodiscard]] Refusal& refusal() const noexcept { return *refusal_; }

private:
    simdjson::dom::object object_;
    std::string_view path_;
    Refusal* refusal_;
};

}  // namespace presence::protocol
