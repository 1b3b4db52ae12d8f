#pragma once

#include "presence/base/time.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace presence::sim {

/// What happens at one moment of a story. Each can be left out and the rest still makes sense, so
/// that a story that fails can be made shorter.
enum class Deed : std::uint8_t {
    // People; `who` is the device.
    come,      ///< The device wants to be connected, and stays at it.
    bye,       ///< Signs out.
    lose,      ///< Its connection breaks; it comes back by itself. value: 0 reset, 1 Close frame.
    put_away,  ///< Its connection breaks, and it does not want to come back.
    freeze,    ///< It neither sends nor reads for `lasts`: no network, or a closed lid.
    status,    ///< Declares a status for the user; value: index in kStatuses.
    custom,    ///< Custom status; value: which text.
    session_status,
    watch,  ///< Watches another set; value: which.
    hide,   ///< online: nobody.
    show,   ///< online: everyone.
    block,  ///< Blocks the user `value`.
    unblock,
    quiet,  ///< delivery: paused for `lasts`.
    clog,   ///< Its connection takes no more bytes for `lasts`.
    join,   ///< Joins the room `value`.
    leave_room,
    signal,  ///< Types in the room `value`.
    copy,    ///< The tab is duplicated: another one goes on with its session.
    // Faults; `who` is the machine, where there is one.
    kill,        ///< kill -9; comes up again after `lasts`. value 1: the machine's network with it.
    pause,       ///< SIGSTOP for `lasts`.
    drain,       ///< SIGTERM; comes up again after `lasts`.
    store_down,  ///< The session store answers nobody for `lasts`.
    cut_off,     ///< The session store does not answer this machine for `lasts`.
    store_slow,  ///< Answers take up to `value` ms for `lasts`.
    answers_lost,  ///< One in `value` writes is done and not answered, for `lasts`.
    fail_over,     ///< The last `value` ms of writes are lost.
    store_lost,    ///< All data of the session store is lost.
    record_lost,   ///< The record of user `value` is lost.
    database_down,
    deaf,        ///< The machine's subscriptions are silently gone; found after `lasts`.
    bus_slow,    ///< Messages between nodes take up to `value` ms for `lasts`.
    clock_step,  ///< The machine's wall clock is set by `value` ms - 500,000.
};

struct Event {
    Millis at{0};
    Deed deed = Deed::come;
    std::uint32_t who = 0;
    std::uint64_t value = 0;
    Millis lasts{0};
};

[[nodiscard]] bool is_fault(Deed deed);
[[nodiscard]] std::string to_text(const Event& event);

inline constexpr std::uint64_t kRooms = 3;
inline constexpr const char* kStatuses[] = {"auto", "online", "away", "busy", "dnd", "invisible"};

/// How the first user of a story is hidden from all others, from before its start to its end.
/// Such a story has no faults, and all that takes time takes always the same (twins.h).
enum class Hiding : std::uint8_t { none, by_rule, by_blocks, invisible };

/// One whole run: everything in it follows from these numbers.
struct Story {
    std::uint64_t seed = 0;
    std::uint32_t machines = 3;
    std::uint32_t users = 0;
    std::uint32_t devices = 0;  ///< Device d is of user d % users.
    std::uint32_t watched = 0;  ///< Users that a device watches.
    Hiding hiding = Hiding::none;
    bool silent = false;        ///< With `hiding`: the hidden one does nothing of all that.
    bool small_rooms = false;   ///< Rooms give way to counts soon.
    Millis length{0};           ///< Until the last event may happen; a quiet time follows.
    std::vector<Event> events;  ///< In the order of their times.
};

[[nodiscard]] std::string user_name(std::uint64_t index);
[[nodiscard]] std::uint32_t user_index(std::string_view name);

struct StoryOptions {
    Millis length{3'600'000};
    bool faults = true;
};

/// Whether it is something that the hidden user does.
[[nodiscard]] inline bool is_of_hidden(const Story& story, const Event& event) {
    return story.hiding != Hiding::none && !is_fault(event.deed) && event.who % story.users == 0;
}

/// The story of a seed. Which kinds of deeds and faults it has, and how many, is drawn first.
[[nodiscard]] Story make_story(std::uint64_t seed, const StoryOptions& options);

}  // namespace presence::sim
