#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::seeds {

/// How a figure of ours was found.
enum class How : std::uint8_t {
    computed,   ///< Arithmetic.
    simulated,  ///< The core as it runs in a node, in virtual time.
    measured,   ///< On this machine, in real time.
    skipped,    ///< What it needs is not here.
};
[[nodiscard]] std::string_view name(How how) noexcept;

/// One figure of a published text on presence, and beside it what comes out here.
struct Figure {
    std::string part;  ///< Heading; figures of one part follow each other.
    char text = 'A';   ///< Which text: see kTexts.
    std::string what;
    std::string theirs;
    std::string ours;
    How how = How::computed;
    /// Whether ours is what it has to be: by what presenced promises, or by arithmetic. Empty:
    /// nothing is promised.
    std::optional<bool> holds{};
    /// For programs: name with unit, and number.
    std::vector<std::pair<std::string, double>> values{};
};
using Figures = std::vector<Figure>;

/// The texts whose figures these are.
struct Text {
    char name;
    std::string_view title;
};
inline constexpr Text kTexts[] = {
    {'A', "Presence System Design: Heartbeats, Last Seen, Fan-Out and Privacy"},
    {'B', "Designing an Online Presence and Status System"},
    {'C',
     "Designing a Presence System: Heartbeat Protocols, Distributed Session Tracking, and "
     "Scalable Online Status"},
};

/// For people: aligned columns, a heading a part.
[[nodiscard]] std::string as_table(const Figures& figures);
/// For programs: one line, {"figures": [{"part", "text", "figure", "theirs", "ours", "how",
/// "holds", "values": {name: number}}]}.
[[nodiscard]] std::string as_json(const Figures& figures);
/// Whether no figure is what it may not be.
[[nodiscard]] bool all_hold(const Figures& figures);

/// 1234567 -> "1,234,567".
[[nodiscard]] std::string grouped(double number);

}  // namespace presence::seeds
