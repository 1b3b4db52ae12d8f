#pragma once

// How the keys of the configuration are made; for the files that list them.

#include "presence/app/config_keys.h"
#include "presence/app/config_values.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// An accessor of a field of `Config`.
#define PRESENCED_FIELD(path) ([](auto& config) -> auto& { return config.path; })

namespace presence::app {

[[nodiscard]] inline Error wrong_value(std::string message) {
    return {ErrorCode::bad_request, std::move(message), 0, 0};
}

/// What an accessor returns: a reference into the configuration.
template <class Access>
using Field = std::remove_reference_t<std::invoke_result_t<Access, Config&>>;

template <class Access, class Parse, class Show>
ConfigKey scalar(std::string_view name, std::string_view unit, std::string_view doc, Access access,
                 Parse parse, Show show) {
    ConfigKey key{name, unit, doc, false, false, nullptr, nullptr};
    key.set = [access, parse](Config& config, const ConfigValue& value) -> Result<bool> {
        if (value.size() != 1) {
            return wrong_value("is a list, but takes one value");
        }
        auto parsed = parse(value.front());
        if (!parsed) {
            return parsed.error();
        }
        access(config) = static_cast<Field<Access>>(*parsed);
        return true;
    };
    key.show = [access, show](const Config& config) {
        return show(access(const_cast<Config&>(config)));  // NOLINT: only read here.
    };
    return key;
}

template <class Access>
ConfigKey duration(std::string_view name, std::string_view doc, Access access,
                   Millis least = Millis{0}) {
    const auto parse = [least](std::string_view text) -> Result<Millis> {
        Result<Millis> parsed = parse_duration(text);
        if (parsed && *parsed < least) {
            return wrong_value(fmt::format("is too short, least is {}", show_duration(least)));
        }
        return parsed;
    };
    return scalar(name, "duration", doc, access, parse, show_duration);
}

template <class Access>
ConfigKey number(std::string_view name, std::string_view doc, Access access,
                 std::uint64_t least = 1, std::uint64_t most = 1'000'000'000) {
    const auto parse = [least, most](std::string_view text) -> Result<std::uint64_t> {
        Result<std::uint64_t> parsed = parse_number(text);
        if (parsed && (*parsed < least || *parsed > most)) {
            return wrong_value(fmt::format("is out of bounds, {} to {}", least, most));
        }
        return parsed;
    };
    return scalar(name, "number", doc, access, parse,
                  [](std::size_t value) { return std::to_string(value); });
}

template <class Access>
ConfigKey real(std::string_view name, std::string_view doc, Access access) {
    return scalar(name, "number", doc, access, parse_real,
                  [](double value) { return fmt::format("{}", value); });
}

/// What a bucket holds: with less than one in it nothing could ever be taken.
template <class Access>
ConfigKey burst(std::string_view name, std::string_view doc, Access access) {
    const auto parse = [](std::string_view text) -> Result<double> {
        Result<double> parsed = parse_real(text);
        if (parsed && *parsed < 1) {
            return wrong_value("is too little, least is 1: less would let nothing through");
        }
        return parsed;
    };
    return scalar(name, "number", doc, access, parse,
                  [](double value) { return fmt::format("{}", value); });
}

template <class Access>
ConfigKey flag(std::string_view name, std::string_view doc, Access access) {
    return scalar(name, "true or false", doc, access, parse_flag,
                  [](bool value) { return std::string(value ? "true" : "false"); });
}

template <class Access>
ConfigKey text(std::string_view name, std::string_view doc, Access access) {
    return scalar(
        name, "text", doc, access,
        [](std::string_view given) -> Result<std::string> { return std::string(given); },
        [](const std::string& value) { return value; });
}

/// A text that may hold a password, and then is shown to nobody.
template <class Access>
ConfigKey url(std::string_view name, std::string_view doc, Access access) {
    ConfigKey key = scalar(name, "text", doc, access, read_secret, [](const std::string& value) {
        return value.find('@') == std::string::npos ? value : std::string("(set)");
    });
    key.secret = true;
    return key;
}

template <class Access>
ConfigKey list(std::string_view name, std::string_view doc, Access access, bool secret = false) {
    ConfigKey key{name, "list of texts", doc, false, secret, nullptr, nullptr};
    key.set = [access, secret](Config& config, const ConfigValue& value) -> Result<bool> {
        std::vector<std::string> items;
        for (const std::string& item : value) {
            Result<std::string> read = secret ? read_secret(item) : Result<std::string>(item);
            if (!read) {
                return read.error();
            }
            if (read->empty()) {
                return wrong_value("holds an empty text");
            }
            items.push_back(std::move(*read));
        }
        access(config) = std::move(items);
        return true;
    };
    key.show = [access, secret](const Config& config) {
        const auto& items = access(const_cast<Config&>(config));  // NOLINT: only read here.
        return secret ? std::string(items.empty() ? "" : "(set)")
                      : fmt::format("{}", fmt::join(items, ","));
    };
    return key;
}

template <class Enum>
struct Word {
    std::string_view word;
    Enum value;
};

template <class Access, class Enum, std::size_t N>
ConfigKey choice(std::string_view name, std::string_view doc, Access access,
                 const std::array<Word<Enum>, N>& words) {
    const auto parse = [&words](std::string_view given) -> Result<Enum> {
        std::string known;
        for (const Word<Enum>& one : words) {
            if (one.word == given) {
                return one.value;
            }
            known += (known.empty() ? "" : ", ") + std::string(one.word);
        }
        return wrong_value("is none of " + known);
    };
    return scalar(name, "word", doc, access, parse, [&words](Enum value) {
        for (const Word<Enum>& one : words) {
            if (one.value == value) {
                return std::string(one.word);
            }
        }
        return std::string("?");
    });
}

}  // namespace presence::app
