#include "twins.h"

#include "support/run_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::sim {

namespace {

/// What is drawn at random differs, and tells nothing.
std::string without_secrets(std::string_view text) {
    std::string plain(text);
    for (const std::string_view field : {R"("sessionId":")", R"("resume":")"}) {
        const std::size_t at = plain.find(field);
        if (at != std::string::npos) {
            const std::size_t begin = at + field.size();
            plain.erase(begin, plain.find('"', begin) - begin);
        }
    }
    return plain;
}

std::string play_once(const Story& story, World::Figures& figures, World::Bytes* all_told) {
    World world(story);
    world.record_bytes(all_told);
    std::string failure = world.play();
    figures.presences += world.figures().presences;
    figures.checks += world.figures().checks;
    figures.faults += world.figures().faults;
    return failure;
}

/// The first line that differs.
std::string difference(std::string_view busy, std::string_view silent) {
    const auto [at, other] = std::ranges::mismatch(busy, silent);
    const auto line_around = [](std::string_view text, std::size_t place) {
        const std::size_t before =
            place == 0 ? std::string_view::npos : text.rfind('\n', place - 1);
        const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
        return text.substr(begin, text.find('\n', begin) - begin);
    };
    const auto place = static_cast<std::size_t>(at - busy.begin());
    return fmt::format(
        "what a hidden user does shows to others (rule 26): they were told\n    {}\n"
        "  and, where that user does nothing,\n    {}",
        line_around(busy, place), line_around(silent, place));
}

}  // namespace

std::string play_story(const Story& story, World::Figures& figures) {
    if (story.hiding == Hiding::none) {
        return play_once(story, figures, nullptr);
    }
    World::Bytes busy;
    World::Bytes silent;
    std::string failure = play_once(story, figures, &busy);
    if (!failure.empty()) {
        return failure;
    }
    Story other = story;
    other.silent = true;
    failure = play_once(other, figures, &silent);
    if (!failure.empty()) {
        return failure;
    }
    for (std::uint32_t device = 0; device < story.devices; ++device) {
        if (busy[device] != silent[device]) {
            return difference(busy[device], silent[device]);
        }
    }
    return {};
}

void World::on_bytes(const Client& client, std::string_view text) {
    if (bytes_ != nullptr && client.user() != user_name(0)) {
        (*bytes_)[client.number()] +=
            fmt::format("{:.3f} s: {} on device {}: {}\n", seconds_of(now()), client.user(),
                        client.number(), without_secrets(text));
    }
}

/// The first user is hidden before anybody is there.
void World::hide_first_user() {
    MemoryProfileStore store(stores_.profiles);
    const std::string user = user_name(0);
    const auto asked = [&](const std::string& text) {
        truth_.asked(now(), user, nullptr, 0, text);
        truth_.answered(now(), user, nullptr, 0, true);
    };
    bool done = false;
    switch (story_.hiding) {
        case Hiding::by_rule: {
            PrivacySettings settings;
            settings.online = PrivacyRule{Audience::nobody, {}};
            done =
                testing::run_until_complete(store.save_privacy(UserId(user), settings)).has_value();
            asked(R"("type":"privacy","online":{"mode":"nobody"})");
            break;
        }
        case Hiding::by_blocks: {
            std::vector<UserId> others;
            for (std::uint32_t i = 1; i < story_.users; ++i) {
                others.emplace_back(user_name(i));
                asked(fmt::format(R"("type":"block","users":["{}"])", user_name(i)));
            }
            UserSetChange change;
            change.add = UserSet(std::move(others));
            done = testing::run_until_complete(
                       store.change_blocks(UserId(user), std::move(change), story_.users))
                       .has_value();
            break;
        }
        case Hiding::invisible: {
            DeclaredState declared;
            declared.status = DeclaredStatus::invisible;
            declared.revision = 1;
            done = testing::run_until_complete(store.save_declared(UserId(user), declared))
                       .has_value();
            asked(R"("type":"status","status":"invisible")");
            break;
        }
        default:
            return;
    }
    PRESENCE_ASSERT(done);
}

}  // namespace presence::sim
