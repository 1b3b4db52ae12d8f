#include "presence/protocol/json_fields.h"

#include "presence/base/utf8.h"

#include <array>

namespace presence::protocol {

void Refusal::say(std::string_view field, std::string_view what, ErrorCode code,
                  std::size_t limit) {
    if (error_) {
        return;
    }
    std::string message(field);
    message.append(field.empty() ? "" : ": ").append(what);
    error_ = Error{code, std::move(message), 0, static_cast<std::int64_t>(limit)};
}

std::optional<simdjson::dom::element> JsonFields::find(std::string_view name) const {
    std::optional<simdjson::dom::element> found;
    for (const auto& [key, value] : object_) {
        if (key == name) {
            found = value;
        }
    }
    return found;
}

std::optional<std::size_t> JsonFields::index_of(std::string_view name) const {
    std::optional<std::size_t> found;
    std::size_t index = 0;
    for (const auto& [key, value] : object_) {
        if (key == name) {
            found = index;
        }
        ++index;
    }
    return found;
}

bool JsonFields::require(std::string_view name) const {
    const bool there = has(name);
    if (!there) {
        refuse(name, "is missing");
    }
    return there;
}

std::optional<bool> JsonFields::boolean(std::string_view name) const {
    const auto value = find(name);
    bool result = false;
    if (!value) {
        return std::nullopt;
    }
    if (value->get(result)) {
        refuse(name, "must be true or false");
        return std::nullopt;
    }
    return result;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name, std::int64_t least,
                                                std::int64_t most) const {
    const auto value = find(name);
    if (!value) {
        return std::nullopt;
    }
    // The type is asked first: the parser would turn a double without fraction into an integer.
    std::int64_t result = 0;
    if (!value->is<std::int64_t>() || value->get(result) || result < least || result > most) {
        refuse(name, compose("must be an integer from ", least, " to ", most));
        return std::nullopt;
    }
    return result;
}

std::optional<std::string_view> JsonFields::text(std::string_view name) const {
    const auto value = find(name);
    std::string_view result;
    if (!value) {
        return std::nullopt;
    }
    if (value->get(result)) {
        refuse(name, "must be a string");
        return std::nullopt;
    }
    return result;
}

std::optional<std::string_view> JsonFields::bounded_text(std::string_view name,
                                                         std::size_t code_points,
                                                         std::size_t bytes) const {
    const auto value = text(name);
    if (!value) {
        return std::nullopt;
    }
    if (value->find('\0') != std::string_view::npos) {
        refuse(name, "holds U+0000 or half of a surrogate pair");
        return std::nullopt;
    }
    if (value->size() > bytes) {
        refuse(name, compose("has ", value->size(), " bytes, at most ", bytes),
               ErrorCode::bad_request, bytes);
        return std::nullopt;
    }
    const auto count = count_code_points(*value);
    if (!count || *count > code_points) {
        refuse(name, compose("has ", count.value_or(0), " code points, at most ", code_points),
               ErrorCode::bad_request, code_points);
        return std::nullopt;
    }
    return value;
}

std::optional<simdjson::dom::array> JsonFields::array(std::string_view name) const {
    const auto value = find(name);
    simdjson::dom::array result;
    if (!value) {
        return std::nullopt;
    }
    if (value->get(result)) {
        refuse(name, "must be an array");
        return std::nullopt;
    }
    return result;
}

std::optional<JsonFields> JsonFields::object(std::string_view name, std::string_view path) const {
    const auto value = find(name);
    simdjson::dom::object result;
    if (!value) {
        return std::nullopt;
    }
    if (value->get(result)) {
        refuse(name, "must be an object");
        return std::nullopt;
    }
    return JsonFields(result, path, *refusal_);
}

void JsonFields::refuse(std::string_view name, std::string_view what, ErrorCode code,
                        std::size_t limit) const {
    refusal_->say(std::string(path_).append(name), what, code, limit);
}

}  // namespace presence::protocol
