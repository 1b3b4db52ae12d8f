#include "presence/protocol/json_document.h"

#include "presence/base/assert.h"
#include "presence/protocol/limits.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace presence::protocol {

namespace {

/// The parser and the padded copy that it reads. Both grow to the largest text of the thread,
/// which net bounds.
struct ThreadParser {
    static constexpr std::size_t kFirstCapacity = std::size_t{16} * 1024;

    ThreadParser() {
        // One more than the levels: the parser counts the values in the innermost as a level.
        const auto error = parser.allocate(kFirstCapacity, kJsonDepth + 1);
        PRESENCE_ASSERT(!error);
    }

    std::string_view copy(std::string_view text) {
        if (padded.size() < text.size() + simdjson::SIMDJSON_PADDING) {
            padded.resize(text.size() + simdjson::SIMDJSON_PADDING);
        }
        std::copy(text.begin(), text.end(), padded.begin());
        return {padded.data(), text.size()};
    }

    simdjson::simdjson_result<simdjson::dom::element> parse(std::size_t size) {
        return parser.parse(padded.data(), size, false);
    }

    simdjson::dom::parser parser;
    std::vector<char> padded;
};

ThreadParser& thread_parser() {
    thread_local ThreadParser parser;
    return parser;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Replaces what the parser would refuse or read too kindly, though it is JSON by the letter, by
/// something of the same length that no known field takes. So one odd value refuses the field it
/// stands in, by name and with the request's id, and not the text; in an unknown field it is
/// ignored. Halves of surrogate pairs become U+0000; -0 and numbers beyond a double become -1.
/// What is not JSON stays so.
class Repair {
public:
    explicit Repair(std::span<char> text) : text_(text) {}

    void run() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                string();
            } else if (c == '-' || is_digit(c)) {
                number();
            } else {
                ++at_;
            }
        }
    }

private:
    void string() {
        ++at_;
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] != '\\') {
                ++at_;
            } else if (const auto unit = escaped_unit(at_)) {
                escape(*unit);
            } else {
                at_ += 2;
            }
        }
        ++at_;
    }

    /// The UTF-16 unit of a `\uXXXX` at `position`.
    [[nodiscard]] std::optional<unsigned> escaped_unit(std::size_t position) const {
        if (position + 6 > text_.size() || text_[position] != '\\' || text_[position + 1] != 'u') {
            return std::nullopt;
        }
        unsigned unit = 0;
        const char* first = text_.data() + position + 2;
        const auto [end, error] = std::from_chars(first, first + 4, unit, 16);
        return end == first + 4 && error == std::errc() ? std::optional(unit) : std::nullopt;
    }

    void escape(unsigned unit) {
        const bool high = unit >= 0xD800 && unit <= 0xDBFF;
        const bool low = unit >= 0xDC00 && unit <= 0xDFFF;
        const auto next = high ? escaped_unit(at_ + 6) : std::nullopt;
        if (next && *next >= 0xDC00 && *next <= 0xDFFF) {
            at_ += 12;
            return;
        }
        if (high || low) {
            std::fill_n(text_.data() + at_ + 2, 4, '0');
        }
        at_ += 6;
    }

    void number() {
        const std::size_t first = at_;
        bool integer = true;
        const bool grammatical = scan_number(integer);
        const std::size_t size = at_ - first;
        if (grammatical && size >= 2 && !readable(first, size, integer)) {
            std::fill_n(text_.data() + first, size, ' ');
            text_[first] = '-';
            text_[first + 1] = '1';
        }
    }

    std::size_t digits() {
        const std::size_t first = at_;
        while (at_ < text_.size() && is_digit(text_[at_])) {
            ++at_;
        }
        return at_ - first;
    }

    [[nodiscard]] bool here(std::string_view any_of) const {
        return at_ < text_.size() && any_of.find(text_[at_]) != std::string_view::npos;
    }

    /// Moves behind the number; false where JSON does not write numbers like that.
    bool scan_number(bool& integer) {
        at_ += here("-") ? 1U : 0U;
        const bool zero = here("0");
        const std::size_t whole = digits();
        bool good = whole == 1 || (whole > 1 && !zero);
        if (here(".")) {
            integer = false;
            ++at_;
            good = digits() > 0 && good;
        }
        if (here("eE")) {
            integer = false;
            ++at_;
            at_ += here("+-") ? 1U : 0U;
            good = digits() > 0 && good;
        }
        return good;
    }

    [[nodiscard]] bool readable(std::size_t first, std::size_t size, bool integer) const {
        const char* begin = text_.data() + first;
        if (integer) {
            std::int64_t value = 0;
            std::uint64_t large = 0;
            if (std::from_chars(begin, begin + size, value).ec == std::errc()) {
                return value != 0 || *begin != '-';
            }
            return *begin != '-' && std::from_chars(begin, begin + size, large).ec == std::errc();
        }
        const bool tiny = std::string_view(begin, size).find('-', 1) != std::string_view::npos;
        double value = 0;
        return tiny || std::from_chars(begin, begin + size, value).ec == std::errc();
    }

    std::span<char> text_;
    std::size_t at_ = 0;
};

bool may_need_repair(std::string_view text) {
    return text.find('\\') != std::string_view::npos || text.find("-0") != std::string_view::npos;
}

const char* complaint(simdjson::error_code error) {
    switch (error) {
        case simdjson::UTF8_ERROR:
            return "the text is not valid UTF-8";
        case simdjson::DEPTH_ERROR:
            return "the JSON is nested deeper than 32 levels";
        default:
            return "the text is not valid JSON";
    }
}

/// Walks over JSON that is known to be good.
class Walk {
public:
    explicit Walk(std::string_view text) : text_(text) {}

    /// How many arrays and objects stand within each other.
    std::size_t depth() {
        std::size_t open = 0;
        std::size_t most = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                string();
                continue;
            }
            if (c == '{' || c == '[') {
                most = std::max(most, ++open);
            } else if (c == '}' || c == ']') {
                --open;
            }
            ++at_;
        }
        return most;
    }

    /// Moves to the value of the `index`th member of the object that the text is, and behind it.
    std::pair<std::size_t, std::size_t> member(std::size_t index) {
        space();
        ++at_;  // {
        for (;; --index) {
            space();
            string();
            space();
            ++at_;  // :
            space();
            const std::size_t first = at_;
            value();
            if (index == 0) {
                return {first, at_ - first};
            }
            space();
            ++at_;  // ,
        }
    }

private:
    void space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

    void string() {
        for (++at_; text_[at_] != '"'; ++at_) {
            at_ += text_[at_] == '\\' ? 1U : 0U;
        }
        ++at_;
    }

    void value() {
        std::size_t depth = 0;
        do {
            const char c = text_[at_];
            if (c == '"') {
                string();
                continue;
            }
            if (c == '{' || c == '[') {
                ++depth;
            } else if (c == '}' || c == ']') {
                --depth;
            } else if (depth == 0) {
                at_ = std::min(text_.find_first_of(",}] \t\r\n", at_), text_.size());
                return;
            }
            ++at_;
        } while (depth > 0);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// The parser lets one level too much pass where the innermost is empty. Few texts have so many
/// brackets that one has to look.
bool is_too_deep(std::string_view text) {
    const auto opened = std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; });
    return static_cast<std::size_t>(opened) > kJsonDepth && Walk(text).depth() > kJsonDepth;
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string_view text) {
    ThreadParser& thread = thread_parser();
    const std::string_view parsed = thread.copy(text);
    const std::span<char> writable(thread.padded.data(), text.size());
    const bool repaired_first = may_need_repair(text);
    if (repaired_first) {
        Repair(writable).run();
    }
    auto root = thread.parse(text.size());
    if (root.error() == simdjson::NUMBER_ERROR && !repaired_first) {
        Repair(writable).run();
        root = thread.parse(text.size());
    }
    if (root.error()) {
        return Error{ErrorCode::bad_request, complaint(root.error())};
    }
    if (is_too_deep(text)) {
        return Error{ErrorCode::bad_request, complaint(simdjson::DEPTH_ERROR)};
    }
    return JsonDocument(text, parsed, root.value_unsafe());
}

std::optional<std::string_view> JsonDocument::sent_value(std::size_t index) const {
    const auto [first, size] = Walk(sent_).member(index);
    const std::string_view sent = sent_.substr(first, size);
    return sent == parsed_.substr(first, size) ? std::optional(sent) : std::nullopt;
}

}  // namespace presence::protocol
