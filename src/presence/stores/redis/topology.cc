#include "presence/stores/redis/topology.h"

#include "presence/stores/redis/slots.h"

#include <charconv>

namespace presence::redis {

namespace {

template <class Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty()
               ? std::optional(value)
               : std::nullopt;
}

bool is_slot(std::int64_t value) {
    return value >= 0 && value < kSlots;
}

bool is_port(std::int64_t value) {
    constexpr std::int64_t kMostPort = 65'535;
    return value > 0 && value <= kMostPort;
}

}  // namespace

Result<std::vector<SlotRange>> parse_cluster_slots(ReplyView reply, const Endpoint& asked) {
    constexpr std::size_t kParts = 3;
    if (!reply.is_array()) {
        return Error{ErrorCode::unavailable,
                     "no answer to CLUSTER SLOTS: " + std::string(reply.text()), 0, 0};
    }
    std::vector<SlotRange> ranges;
    for (std::size_t i = 0; i < reply.size(); ++i) {
        const ReplyView range = reply[i];
        if (range.size() < kParts || range[2].size() < 2) {
            continue;
        }
        const std::int64_t first = range[0].integer();
        const std::int64_t last = range[1].integer();
        const std::string_view host = range[2][0].text();
        const std::int64_t port = range[2][1].integer();
        if (!is_slot(first) || !is_slot(last) || last < first || !is_port(port)) {
            continue;
        }
        ranges.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last),
                          Endpoint{std::string(host.empty() || host == "?" ? asked.host : host),
                                   static_cast<std::uint16_t>(port)}});
    }
    return ranges;
}

std::optional<Redirection> parse_redirection(std::string_view text, const Endpoint& asked) {
    const std::size_t word = text.find(' ');
    const std::size_t gap = word == std::string_view::npos ? word : text.find(' ', word + 1);
    if (gap == std::string_view::npos) {
        return std::nullopt;
    }
    const auto slot = number<std::uint16_t>(text.substr(word + 1, gap - word - 1));
    const std::string_view address = text.substr(gap + 1);
    const std::size_t colon = address.rfind(':');  // IPv6 comes without brackets.
    if (!slot || !is_slot(*slot) || colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto port = number<std::uint16_t>(address.substr(colon + 1));
    if (!port || *port == 0) {
        return std::nullopt;
    }
    const std::string_view host = address.substr(0, colon);
    return Redirection{*slot, Endpoint{host.empty() ? asked.host : std::string(host), *port}};
}

}  // namespace presence::redis
