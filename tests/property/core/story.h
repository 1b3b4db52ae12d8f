#pragma once

#include "unit/core/world.h"

#include <rapidcheck.h>

#include <array>
#include <ostream>
#include <string>
#include <vector>

namespace presence::testing {

/// Somebody who does things at random: comes, goes, falls silent, returns, changes status.
class Actor {
public:
    Actor(World& world, UserId user) : world_(world), user_(std::move(user)) {}

    /// @param dice  Which of the deeds; the same number does the same in another world.
    void act(std::uint64_t dice) {
        const std::size_t which = static_cast<std::size_t>(dice / 16);
        switch (dice % 12) {
            case 0:
            case 1:
                come(static_cast<DeviceKind>(which % kDeviceKinds), which % 5 == 0);
                break;
            case 2:
                if (const Client one = pick(which)) {
                    world_.bye(one);
                }
                break;
            case 3:
                if (const Client one = pick(which)) {
                    world_.lose(one, which % 2 == 0);
                    lost_.push_back(one);
                }
                break;
            case 4:
                if (!lost_.empty()) {
                    const Client one = lost_.back();
                    lost_.pop_back();
                    if (Result<Client> back = world_.try_connect(user_, {.resume = one})) {
                        devices_.push_back(*back);
                    }
                }
                break;
            case 5:
                if (const Client one = pick(which)) {
                    World::fall_silent(one);
                }
                break;
            case 6:
                (void)world_.declare(user_, static_cast<DeclaredStatus>(which % 6));
                break;
            case 7:
                (void)world_.declare(user_, static_cast<DeclaredStatus>(which % 6),
                                     world_.clock.wall_now() + Millis{which % 20'000 + 1});
                break;
            case 8:
                (void)world_.say(user_, "text " + std::to_string(which % 3));
                break;
            case 9:
                if (const Client one = pick(which)) {
                    world_.report(one, which % 2 ? std::optional(Millis{0}) : std::nullopt);
                }
                break;
            case 10:
                if (const Client one = pick(which)) {
                    (void)world_.declare_on(one, static_cast<DeclaredStatus>(which % 5));
                }
                break;
            default:
                break;
        }
    }
    void come(DeviceKind kind, bool observe) {
        if (Result<Client> one = world_.try_connect(user_, {.kind = kind, .observe = observe})) {
            devices_.push_back(*one);
        }
    }
    void leave() {
        while (const Client one = pick(0)) {
            world_.bye(one);
        }
    }
    [[nodiscard]] const UserId& user() const { return user_; }

private:
    /// One whose connection stands.
    Client pick(std::size_t which) {
        std::erase_if(devices_, [this](const Client& one) { return !world_.is_open(one); });
        return devices_.empty() ? nullptr : devices_[which % devices_.size()];
    }

    World& world_;
    UserId user_;
    std::vector<Client> devices_;
    std::vector<Client> lost_;
};

/// One step of a script.
struct Deed {
    std::size_t who = 0;
    std::uint64_t dice = 0;
    Millis then{0};

    friend std::ostream& operator<<(std::ostream& out, const Deed& deed) {
        return out << "{" << deed.who << ", deed " << deed.dice % 12 << " which " << deed.dice / 16
                   << ", dice " << deed.dice << ", then " << deed.then.count() << " ms}";
    }
};

[[nodiscard]] inline rc::Gen<std::vector<Deed>> any_script(std::size_t people) {
    return rc::gen::container<std::vector<Deed>>(rc::gen::apply(
        [](std::size_t who, std::uint64_t dice, int then) {
            // Most in quick succession, some after a while, few after long.
            return Deed{who, dice,
                        Millis{then < 80   ? then * 20
                               : then < 97 ? then * 150
                                           : 130'000}};
        },
        rc::gen::inRange<std::size_t>(0, people), rc::gen::inRange<std::uint64_t>(0, 100'000),
        rc::gen::inRange(0, 100)));
}

}  // namespace presence::testing
