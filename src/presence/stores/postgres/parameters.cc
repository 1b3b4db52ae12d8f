#include "presence/stores/postgres/parameters.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace presence::postgres {

namespace {

// Object ids of the types, fixed in PostgreSQL's catalogue.
constexpr unsigned kBytea = 17;
constexpr unsigned kBigint = 20;
constexpr unsigned kText = 25;
constexpr unsigned kTextArray = 1009;
constexpr unsigned kBigintArray = 1016;

constexpr std::size_t kWord = 4;

template <class Number>
void put(std::string& to, Number number) {
    for (int shift = static_cast<int>(sizeof number) * 8 - 8; shift >= 0; shift -= 8) {
        to.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> shift));
    }
}

template <class Number>
Number get(std::string_view from) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        number = number << 8 | static_cast<unsigned char>(from[i]);
    }
    return static_cast<Number>(number);
}

/// What stands before the elements of an array of one dimension.
std::string array_head(std::size_t size, unsigned element, bool has_null) {
    std::string head;
    put<std::int32_t>(head, size == 0 ? 0 : 1);  // Dimensions.
    put<std::int32_t>(head, has_null ? 1 : 0);
    put<std::uint32_t>(head, element);
    if (size > 0) {
        put<std::int32_t>(head, static_cast<std::int32_t>(size));
        put<std::int32_t>(head, 1);  // Index of the first.
    }
    return head;
}

void put_text(std::string& to, std::string_view text) {
    put<std::int32_t>(to, static_cast<std::int32_t>(text.size()));
    to.append(text);
}

std::string as_bytes(std::int64_t number) {
    std::string bytes;
    put(bytes, number);
    return bytes;
}

}  // namespace

void Parameters::add(unsigned type, std::optional<std::string> value) {
    types_.push_back(type);
    values_.push_back(std::move(value));
}

Parameters& Parameters::text(std::string_view value) {
    add(kText, std::string(value));
    return *this;
}

Parameters& Parameters::null_text() {
    add(kText, std::nullopt);
    return *this;
}

Parameters& Parameters::integer(std::int64_t value) {
    add(kBigint, as_bytes(value));
    return *this;
}

Parameters& Parameters::maybe(std::optional<std::int64_t> value) {
    add(kBigint, value ? std::optional(as_bytes(*value)) : std::nullopt);
    return *this;
}

Parameters& Parameters::time(std::optional<WallTime> value) {
    return maybe(value ? std::optional(value->ms()) : std::nullopt);
}

Parameters& Parameters::bytes(std::string_view value) {
    add(kBytea, std::string(value));
    return *this;
}

Parameters& Parameters::texts(std::span<const std::string_view> values) {
    std::string array = array_head(values.size(), kText, false);
    for (const std::string_view value : values) {
        put_text(array, value);
    }
    add(kTextArray, std::move(array));
    return *this;
}

Parameters& Parameters::users(std::span<const UserId> users) {
    std::string array = array_head(users.size(), kText, false);
    for (const UserId& user : users) {
        put_text(array, user.text);
    }
    add(kTextArray, std::move(array));
    return *this;
}

Parameters& Parameters::integers(std::span<const std::optional<std::int64_t>> values) {
    bool has_null = false;
    for (const auto& value : values) {
        has_null = has_null || !value;
    }
    std::string array = array_head(values.size(), kBigint, has_null);
    for (const auto& value : values) {
        put<std::int32_t>(array, value ? static_cast<std::int32_t>(sizeof *value) : -1);
        if (value) {
            put(array, *value);
        }
    }
    add(kBigintArray, std::move(array));
    return *this;
}

std::vector<const char*> Parameters::values() const {
    std::vector<const char*> pointers;
    pointers.reserve(values_.size());
    for (const auto& value : values_) {
        pointers.push_back(value ? value->c_str() : nullptr);
    }
    return pointers;
}

std::vector<int> Parameters::lengths() const {
    std::vector<int> lengths;
    lengths.reserve(values_.size());
    for (const auto& value : values_) {
        lengths.push_back(value ? static_cast<int>(value->size()) : 0);
    }
    return lengths;
}

std::vector<std::string_view> read_texts(std::string_view bytes) {
    constexpr std::size_t kHead = 5 * kWord;
    std::vector<std::string_view> texts;
    if (bytes.size() < kHead || get<std::int32_t>(bytes) != 1) {
        return texts;
    }
    const auto size = get<std::int32_t>(bytes.substr(3 * kWord));
    bytes.remove_prefix(kHead);
    for (std::int32_t i = 0; i < size; ++i) {
        const std::int32_t length = bytes.size() < kWord ? -1 : get<std::int32_t>(bytes);
        if (length < 0 || bytes.size() - kWord < static_cast<std::size_t>(length)) {
            return {};
        }
        texts.push_back(bytes.substr(kWord, static_cast<std::size_t>(length)));
        bytes.remove_prefix(kWord + static_cast<std::size_t>(length));
    }
    return texts;
}

std::int64_t read_integer(std::string_view bytes) {
    switch (bytes.size()) {
        case sizeof(std::int64_t):
            return get<std::int64_t>(bytes);
        case sizeof(std::int32_t):
            return get<std::int32_t>(bytes);
        case sizeof(std::int16_t):
            return get<std::int16_t>(bytes);
        case 1:
            return bytes[0];
        default:
            return 0;
    }
}

}  // namespace presence::postgres
