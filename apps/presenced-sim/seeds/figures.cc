#include "figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace presence::seeds {

namespace {

std::string_view holds_word(const std::optional<bool>& holds) {
    if (!holds) {
        return "-";
    }
    return *holds ? "yes" : "NO";
}

/// The words are this program's own: no control characters, and ASCII.
std::string json_text(std::string_view text) {
    std::string json = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            json += '\\';
        }
        json += c;
    }
    return json + '"';
}

}  // namespace

std::string_view name(How how) noexcept {
    switch (how) {
        case How::computed:
            return "computed";
        case How::simulated:
            return "simulated";
        case How::measured:
            return "measured";
        case How::skipped:
            return "skipped";
    }
    return "";
}

std::string grouped(double number) {
    std::string digits = fmt::format("{:.0f}", number);
    const std::ptrdiff_t least = number < 0 ? 2 : 1;
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at >= least; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

std::string as_table(const Figures& figures) {
    std::size_t what = std::string_view("figure").size();
    std::size_t theirs = std::string_view("theirs").size();
    std::size_t ours = std::string_view("ours").size();
    for (const Figure& figure : figures) {
        what = std::max(what, figure.what.size());
        theirs = std::max(theirs, figure.theirs.size());
        ours = std::max(ours, figure.ours.size());
    }
    std::string table;
    const auto line = [&](std::string_view text, std::string_view a, std::string_view b,
                          std::string_view c, std::string_view how, std::string_view holds) {
        table += fmt::format("  {:<4} {:<{}}  {:<{}}  {:<{}}  {:<9}  {}\n", text, a, what, b,
                             theirs, c, ours, how, holds);
    };
    std::string_view part;
    for (const Figure& figure : figures) {
        if (figure.part != part) {
            part = figure.part;
            table += fmt::format("{}{}\n", table.empty() ? "" : "\n", part);
            line("text", "figure", "theirs", "ours", "how", "holds");
        }
        line({&figure.text, 1}, figure.what, figure.theirs, figure.ours, name(figure.how),
             holds_word(figure.holds));
    }
    table += "\n";
    for (const Text& text : kTexts) {
        table += fmt::format("{}: {}\n", text.name, text.title);
    }
    return table;
}

std::string as_json(const Figures& figures) {
    std::string json = R"({"figures":[)";
    std::string_view comma;
    for (const Figure& figure : figures) {
        json += fmt::format(
            R"({}{{"part":{},"text":"{}","figure":{},"theirs":{},"ours":{},"how":"{}","holds":{},)"
            R"("values":{{)",
            comma, json_text(figure.part), figure.text, json_text(figure.what),
            json_text(figure.theirs), json_text(figure.ours), name(figure.how),
            !figure.holds   ? "null"
            : *figure.holds ? "true"
                            : "false");
        comma = "";
        for (const auto& [key, value] : figure.values) {
            json += fmt::format("{}{}:{}", comma, json_text(key),
                                std::isfinite(value) ? fmt::format("{:.6g}", value) : "null");
            comma = ",";
        }
        json += "}}";
        comma = ",";
    }
    return json + "]}";
}

bool all_hold(const Figures& figures) {
    return std::ranges::all_of(figures,
                               [](const Figure& figure) { return figure.holds.value_or(true); });
}

}  // namespace presence::seeds
