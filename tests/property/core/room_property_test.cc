// What somebody does in rooms who may not be seen leaves no trace with others (DESIGN rule 26), and
// whatever people do, each list ends as a fresh look would have it.

#include "property/core/story.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace presence::testing {

namespace {

constexpr std::array<const char*, 2> kRooms{"hall", "garden"};

/// Somebody who goes in and out of rooms, with what Actor does besides.
class Visitor {
public:
    Visitor(World& world, UserId user) : world_(world), user_(std::move(user)) {}

    void act(std::uint64_t dice) {
        const std::size_t which = static_cast<std::size_t>(dice / 16);
        const char* const room = kRooms[which % kRooms.size()];
        const Client device = pick(which);
        switch (dice % 10) {
            case 0:
                devices_.push_back(world_.connect(user_, {.observe = which % 7 == 0}));
                return;
            case 1:
                (void)world_.declare(user_, static_cast<DeclaredStatus>(which % 6));
                return;
            default:
                break;
        }
        if (!device) {
            return;
        }
        switch (dice % 10) {
            case 2:
            case 3:
            case 4:
                (void)world_.try_join(device, room,
                                      {.meta = std::to_string(which % 3),
                                       .observe = which % 5 == 0,
                                       .hears = which % 3 != 0});
                return;
            case 5:
                world_.leave(device, room);
                return;
            case 6:
                world_.signal(device, room);
                return;
            case 7:
                world_.bye(device);
                return;
            case 8:
                world_.lose(device);
                return;
            default:
                world_.report(device, which % 2 ? std::optional(Millis{0}) : std::nullopt);
                return;
        }
    }

private:
    Client pick(std::size_t which) {
        std::erase_if(devices_, [this](const Client& one) { return !world_.is_open(one); });
        return devices_.empty() ? nullptr : devices_[which % devices_.size()];
    }
    World& world_;
    UserId user_;
    std::vector<Client> devices_;
};

/// How the one is hidden from the viewer.
enum class Hidden { invisible, blocks, is_blocked, admits_others, is_not_admitted };
constexpr int kWays = 5;

std::vector<std::string> transcript_of(World& world, const Client& viewer) {
    std::vector<std::string> lines;
    for (const ToldRoom& told : world.connection(viewer).rooms) {
        lines.push_back(std::to_string((told.at - MonoTime{}).count()) + " " + told.line());
    }
    for (const Told& told : world.told(viewer)) {
        lines.push_back(std::to_string((told.at - MonoTime{}).count()) + " " + told.line());
    }
    return lines;
}

/// The world in which `spy` looks on while people come and go, and `ghost`, whom the spy may not
/// see, is busy or not.
std::vector<std::string> told_to_spy(const std::vector<Deed>& script, Hidden how, bool busy,
                                     std::size_t threads, std::size_t listed) {
    WorldOptions options;
    options.threads = threads;
    options.limits.room_members = listed;
    World world(options);
    const UserId ghost_id("ghost");
    switch (how) {
        case Hidden::invisible:
            (void)world.declare(ghost_id, DeclaredStatus::invisible);
            break;
        case Hidden::blocks:
            world.change_blocks("ghost", "spy", true);
            break;
        case Hidden::is_blocked:
            world.change_blocks("spy", "ghost", true);
            break;
        case Hidden::admits_others:
            world.set_online_rule("ghost", Audience::only, {UserId("friend")});
            break;
        case Hidden::is_not_admitted:
            world.set_online_rule("spy", Audience::contacts);
            world.change_contacts("spy", "person", true);
            break;
    }
    const Client spy = world.connect("spy");
    for (const char* room : kRooms) {
        world.join(spy, room);
    }
    Visitor ghost(world, ghost_id);
    Visitor person(world, UserId("person"));
    Visitor other(world, UserId("other"));
    const MonoTime start = world.clock.now();
    MonoTime at = start;
    for (const Deed& deed : script) {
        if (deed.who == 0) {
            // Where the ghost is seen as such by others, a status change would make it visible.
            const bool shows = how == Hidden::invisible && deed.dice % 10 == 1;
            if (busy && !shows) {
                ghost.act(deed.dice);
            }
        } else {
            (deed.who == 1 ? person : other).act(deed.dice);
        }
        at = at + deed.then;
        world.run_to(std::max(at, world.clock.now()));
    }
    world.run(30s);
    return transcript_of(world, spy);
}

}  // namespace

RC_GTEST_PROP(RoomPrivacy, WhatTheHiddenDoInRoomsChangesNoByteAndNoMomentForOthers, ()) {
    const std::vector<Deed> script = *any_script(3);
    const auto how = static_cast<Hidden>(*rc::gen::inRange(0, kWays));
    const std::size_t threads = *rc::gen::element<std::size_t>(1, 3);
    const std::vector<std::string> quiet = told_to_spy(script, how, false, threads, 500);
    const std::vector<std::string> busy = told_to_spy(script, how, true, threads, 500);
    RC_ASSERT(quiet == busy);
}

/// The same about counts, as far as RULINGS 10 lets it: one who is not counted.
RC_GTEST_PROP(RoomPrivacy, WhoIsNotCountedMovesNoCountAndNoSwitch, ()) {
    const std::vector<Deed> script = *any_script(3);
    const auto how = *rc::gen::element(Hidden::invisible, Hidden::admits_others);
    const std::vector<std::string> quiet = told_to_spy(script, how, false, 2, 2);
    const std::vector<std::string> busy = told_to_spy(script, how, true, 2, 2);
    RC_ASSERT(quiet == busy);
}

/// What a viewer holds after all that it was told.
static std::set<std::string> fold(const std::vector<ToldRoom>& told) {
    std::set<std::string> held;
    const auto drop = [&](const std::string& user) {
        std::erase_if(held, [&](const std::string& line) { return line.starts_with(user + " "); });
    };
    const auto user_of = [](const std::string& line) { return line.substr(0, line.find(' ')); };
    for (const ToldRoom& one : told) {
        if (one.what == "signal") {
            continue;
        }
        if (one.what == "room") {
            held.clear();
        }
        for (const std::string& user : one.left) {
            drop(user);
        }
        for (const auto& lines : {one.joined, one.changed}) {
            for (const std::string& line : lines) {
                drop(user_of(line));
                held.insert(line);
            }
        }
        RC_ASSERT(!one.listed || held.size() == one.count);
    }
    return held;
}

RC_GTEST_PROP(Rooms, WhateverHappensAListEndsAsAFreshJoinWouldHaveIt, ()) {
    const std::vector<Deed> script = *any_script(5);
    WorldOptions options;
    options.threads = *rc::gen::element<std::size_t>(1, 3);
    options.limits.room_members = *rc::gen::element<std::size_t>(2, 500);
    World world(options);
    const Client viewer = world.connect("viewer");
    const ToldRoom first = world.join(viewer, "hall");
    std::vector<Visitor> people;
    for (const char* name : {"ann", "bob", "carl", "dora"}) {
        people.emplace_back(world, UserId(name));
    }
    for (const Deed& deed : script) {
        if (deed.who < people.size()) {
            people[deed.who].act(deed.dice);
        } else if (deed.dice % 3 == 0) {
            world.change_blocks("viewer", "ann", deed.dice % 2 == 0);
        } else if (deed.dice % 3 == 1) {
            world.set_online_rule("bob", deed.dice % 2 ? Audience::everyone : Audience::nobody);
        } else {
            world.set_takes(viewer, deed.dice % 2 == 0);
        }
        world.run(deed.then);
    }
    world.set_takes(viewer, true);
    world.run(30s);
    std::vector<ToldRoom> told = world.connection(viewer).rooms;
    told.insert(told.begin(), first);
    const std::set<std::string> held = fold(told);
    const ToldRoom fresh = world.join(viewer, "hall");
    RC_ASSERT(fresh.count == told.back().count || told.back().what == "signal");
    if (fresh.listed) {
        RC_ASSERT(held == fold({fresh}));
    }
}

}  // namespace presence::testing
