#include "script.h"

#include "presence/base/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace presence::sim {

namespace {

struct DeedRow {
    Deed deed;
    const char* name;
    bool fault;
    std::uint32_t weight;         ///< How often, against the others of its kind.
    std::uint64_t values;         ///< `value` is drawn below it.
    std::uint32_t lasts_seconds;  ///< The longest; 0: no time.
};

/// One story in so many is played twice, with a hidden user who does much and one who does nothing.
constexpr std::uint64_t kTwins = 8;

constexpr DeedRow kDeeds[] = {
    {Deed::come, "come", false, 10, 1, 0},
    {Deed::bye, "bye", false, 4, 1, 0},
    {Deed::lose, "lose", false, 6, 2, 0},
    {Deed::put_away, "put away", false, 3, 2, 0},
    {Deed::freeze, "freeze", false, 3, 1, 240},
    {Deed::status, "status", false, 5, 6, 0},
    {Deed::custom, "custom status", false, 3, 4, 0},
    {Deed::session_status, "session status", false, 2, 5, 0},
    {Deed::watch, "watch", false, 3, 1'000'000, 0},
    {Deed::hide, "hide", false, 1, 1, 0},
    {Deed::show, "show", false, 2, 1, 0},
    {Deed::block, "block", false, 1, 1'000'000, 0},
    {Deed::unblock, "unblock", false, 2, 1'000'000, 0},
    {Deed::quiet, "delivery paused", false, 1, 1, 60},
    {Deed::clog, "clog", false, 1, 1, 25},
    {Deed::join, "join room", false, 6, kRooms, 0},
    {Deed::leave_room, "leave room", false, 3, kRooms, 0},
    {Deed::signal, "signal in room", false, 2, kRooms, 0},
    {Deed::copy, "duplicate tab", false, 2, 1, 0},
    {Deed::kill, "kill", true, 3, 2, 40},
    {Deed::pause, "pause", true, 3, 1, 40},
    {Deed::drain, "drain", true, 2, 1, 20},
    {Deed::store_down, "store down", true, 3, 1, 60},
    {Deed::cut_off, "cut off from the store", true, 2, 1, 40},
    {Deed::store_slow, "store slow", true, 2, 1'500, 30},
    {Deed::answers_lost, "answers lost", true, 2, 20, 30},
    {Deed::fail_over, "fail-over", true, 2, 800, 0},
    {Deed::store_lost, "store lost", true, 1, 1, 0},
    {Deed::record_lost, "record lost", true, 2, 1'000'000, 0},
    {Deed::database_down, "database down", true, 2, 1, 120},
    {Deed::deaf, "deaf", true, 3, 1, 5},
    {Deed::bus_slow, "bus slow", true, 1, 700, 30},
    {Deed::clock_step, "clock step", true, 2, 1'000'000, 0},
};

const DeedRow& row_of(Deed deed) {
    return *std::ranges::find(kDeeds, deed, &DeedRow::deed);
}

class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    /// Short more often than long.
    Millis lasting(std::uint32_t most_seconds) {
        const std::uint64_t most = std::uint64_t{most_seconds} * 1000;
        const std::uint64_t cut = one_in(2) ? most : most / 8;
        return Millis{static_cast<std::int64_t>(1 + below(std::max<std::uint64_t>(cut, 1)))};
    }

private:
    SeededRandom random_;
};

/// Some of the kinds, each with its weight; in each story others are missing.
std::vector<DeedRow> some_of(Dice& dice, bool faults) {
    std::vector<DeedRow> rows;
    for (const DeedRow& row : kDeeds) {
        const bool always = row.deed == Deed::come;
        if (row.fault == faults && (always || !dice.one_in(faults ? 2 : 4))) {
            rows.push_back(row);
        }
    }
    return rows;
}

Event draw(Dice& dice, const std::vector<DeedRow>& rows, const Story& story) {
    std::uint64_t sum = 0;
    for (const DeedRow& row : rows) {
        sum += row.weight;
    }
    std::uint64_t at = dice.below(sum);
    const DeedRow* chosen = nullptr;
    for (const DeedRow& row : rows) {
        chosen = &row;
        if (at < row.weight) {
            break;
        }
        at -= row.weight;
    }
    Event event;
    event.deed = chosen->deed;
    event.who =
        static_cast<std::uint32_t>(dice.below(chosen->fault ? story.machines : story.devices));
    event.value = dice.below(chosen->values);
    event.lasts = chosen->lasts_seconds == 0 ? Millis{0} : dice.lasting(chosen->lasts_seconds);
    return event;
}

void fill(Dice& dice, Story& story, const std::vector<DeedRow>& rows, Millis mean_gap) {
    Millis at{0};
    while (!rows.empty()) {
        // Bursts: half of the deeds follow soon after another.
        const std::uint64_t mean = static_cast<std::uint64_t>(mean_gap.count());
        const std::uint64_t gap =
            dice.one_in(2) ? dice.below(2'000) : dice.below(std::max<std::uint64_t>(4 * mean, 1));
        at += Millis{static_cast<std::int64_t>(gap)};
        if (at >= story.length) {
            return;
        }
        Event event = draw(dice, rows, story);
        event.at = at;
        story.events.push_back(event);
    }
}

/// Whether one who is hidden like that would be hidden no more.
bool shows_again(Hiding hiding, Deed deed) {
    switch (hiding) {
        case Hiding::by_rule:
            return deed == Deed::show;
        case Hiding::by_blocks:
            return deed == Deed::unblock;
        case Hiding::invisible:
            return deed == Deed::status;
        default:
            return false;
    }
}

}  // namespace

bool is_fault(Deed deed) {
    return row_of(deed).fault;
}

std::string user_name(std::uint64_t index) {
    return fmt::format("u{:03}", index);
}

std::uint32_t user_index(std::string_view name) {
    std::uint32_t index = 0;
    std::from_chars(name.data() + 1, name.data() + name.size(), index);
    return index;
}

std::string to_text(const Event& event) {
    const DeedRow& row = row_of(event.deed);
    std::string text =
        fmt::format("{:>9.3f} s  {} {}: {}", static_cast<double>(event.at.count()) / 1000,
                    row.fault ? "machine" : "device", event.who, row.name);
    if (row.values > 1) {
        text += fmt::format(" ({})", event.value);
    }
    if (event.lasts > Millis{0}) {
        text += fmt::format(" for {} ms", event.lasts.count());
    }
    return text;
}

Story make_story(std::uint64_t seed, const StoryOptions& options) {
    Dice dice(seed * 2 + 1);
    Story story;
    story.seed = seed;
    story.machines = static_cast<std::uint32_t>(3 + dice.below(5));
    // Small crowds meet the corners, large ones the queues.
    story.users =
        static_cast<std::uint32_t>(dice.one_in(4) ? 40 + dice.below(80) : 3 + dice.below(12));
    story.devices = story.users * static_cast<std::uint32_t>(1 + dice.below(3));
    story.watched =
        std::min<std::uint32_t>(story.users, static_cast<std::uint32_t>(2 + dice.below(20)));
    story.small_rooms = dice.one_in(3);
    story.length = options.length;
    const Millis people_gap{static_cast<std::int64_t>(300 + dice.below(20'000))};
    fill(dice, story, some_of(dice, false), people_gap);
    if (dice.one_in(kTwins)) {
        story.hiding = static_cast<Hiding>(1 + dice.below(3));
        // Counts go by whom everyone may see, whatever blocks say; rule 26 takes them as given
        // (RULINGS 10).
        story.small_rooms = story.small_rooms && story.hiding != Hiding::by_blocks;
        std::erase_if(story.events, [&](const Event& event) {
            return is_of_hidden(story, event) && shows_again(story.hiding, event.deed);
        });
        return story;
    }
    if (options.faults && !dice.one_in(5)) {
        const Millis fault_gap{static_cast<std::int64_t>(15'000 + dice.below(400'000))};
        fill(dice, story, some_of(dice, true), fault_gap);
    }
    std::ranges::stable_sort(story.events, {}, &Event::at);
    return story;
}

}  // namespace presence::sim
