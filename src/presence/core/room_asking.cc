// What other nodes have of a room, asked for those who join it on this one (DESIGN rules 26, 28).

#include "presence/core/deadline.h"
#include "presence/core/room_keeper.h"

#include <algorithm>
#include <map>
#include <utility>

namespace presence {

bool RoomKeeper::is_known_to(const Kept& kept, const RoomSight& sees) const {
    const MonoTime now = parts_.clock.now();
    if (sees.large) {
        return kept.counted > 0 && now - kept.counted_since >= kAskPatience;
    }
    const auto found = sees.user ? kept.own.find(*sees.user) : kept.own.end();
    return found != kept.own.end() && now - found->second.since >= kAskPatience;
}

Task<std::optional<RoomPicture>> RoomKeeper::hear_others(RoomId room, RoomSight sees) {
    Kept* const kept = find(room);
    if (kept == nullptr || !ask_others_ || parts_.nodes.alone() || parts_.nodes.is_cut_off() ||
        is_known_to(*kept, sees)) {
        co_return std::nullopt;
    }
    if (kept->asking.empty()) {
        const Millis wait = until_next_window(room, parts_.clock.now(), Millis{0}, kAskEvery);
        parts_.scheduler.after(wait, [this, room] { put_question(room); });
    }
    Completion<WordsRef> answered(
        [&](Completion<WordsRef>::Done done) { kept->asking.push_back(std::move(done)); });
    const WordsRef words = co_await answered;
    const Kept* const still = find(room);
    co_return still == nullptr ? RoomPicture{} : picture_with(*still, *words);
}

Detached RoomKeeper::put_question(RoomId room) {
    std::vector<Completion<WordsRef>::Done> waiting = std::exchange(find(room)->asking, {});
    std::map<NodeId, std::uint64_t> heard;
    for (const auto& [node, foreign] : find(room)->others) {
        heard.emplace(node, foreign.sequence);
    }
    RoomId asked = room;
    Task<Result<RoomStatements>> asking =
        within(parts_.scheduler, kAskPatience, ask_others_(std::move(asked)), "the other nodes");
    Result<RoomStatements> answer = co_await asking;
    const auto words =
        std::make_shared<RoomStatements>(answer ? std::move(*answer) : RoomStatements{});
    if (const Kept* const kept = find(room)) {
        // What a node has stated since may be newer than its answer.
        std::erase_if(*words, [&](const RoomStatementRef& word) {
            const auto now = kept->others.find(word->node);
            const auto then = heard.find(word->node);
            return now != kept->others.end() &&
                   (then == heard.end() || then->second != now->second.sequence);
        });
    }
    take_first_words(room, *words);
    for (Completion<WordsRef>::Done& done : waiting) {
        done(words);
    }
}

void RoomKeeper::take_first_words(const RoomId& room, const RoomStatements& words) {
    Kept* const kept = find(room);
    if (kept == nullptr) {
        return;
    }
    for (const RoomStatementRef& word : words) {
        if (word->node == parts_.nodes.self || word->members == 0 ||
            kept->others.contains(word->node)) {
            continue;  // It has said so itself meanwhile.
        }
        Foreign& foreign = kept->others[word->node];
        foreign.take(*word);
        foreign.doubted = true;  // Until its statement comes, which was asked for.
        ask_soon(*kept, kAskAgain);
    }
    weigh(*kept);
}

/// The statements of some nodes may be old, and those of others not have come yet: whoever joins is
/// given the same in either case. Who was there before hears when they come.
RoomPicture RoomKeeper::picture_with(const Kept& kept, const RoomStatements& words) const {
    RoomPicture picture = this->picture(kept, RoomNeed::changes);
    for (const RoomStatementRef& word : words) {
        const auto found = kept.others.find(word->node);
        if (found == kept.others.end()) {
            continue;
        }
        const Foreign& known = found->second;
        auto part = std::make_shared<RoomStatement>();
        part->node = word->node;
        part->room = kept.room;
        part->sequence = known.sequence;
        part->listed = known.listed;
        part->members = known.members;
        part->counted = known.counted;
        if (word->listed && known.listed) {
            part->present = word->present;
            for (const auto& [user, member] : known.list) {
                if (!std::ranges::binary_search(word->present, user, {}, &RoomMember::user)) {
                    part->gone.push_back(user);
                }
            }
        }
        picture.counted += word->counted;
        picture.counted -= known.counted;
        picture.parts.push_back(std::move(part));
    }
    return picture;
}

}  // namespace presence
