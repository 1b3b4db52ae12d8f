// What a keeper and a desk do where words of others may have been lost: after a gap in what the bus
// brings, after an outage of the store, and for a node that goes on under another name.

#include "presence/core/room_desk.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace presence {

namespace {
/// Rooms asked about in one round, and how far rounds are apart: 200,000 rooms take 40 s, and no
/// node has more than 50 statements to make in each 10 ms for one that asks.
constexpr std::size_t kAsksARound = 50;
constexpr Millis kAskRound{10};
/// Members looked at by viewers in one round, and users who are in rooms from here: some
/// milliseconds of work, so that beats are not kept waiting.
constexpr std::size_t kPairsARound = 20'000;
constexpr std::size_t kUsersARound = 256;
constexpr Millis kLookRound{10};
/// A look that failed is made again after that long.
constexpr Millis kRetry{1000};

/// Whether a node of them has not said anew what it has.
bool any_doubted(const auto& others) {
    return std::ranges::any_of(others, [](const auto& entry) { return entry.second.doubted; });
}
}  // namespace

// --- The keeper asks ---------------------------------------------------------------------------

void RoomKeeper::doubt_all() {
    for (const auto& [room, kept] : rooms_) {
        for (auto& [node, foreign] : kept->others) {
            foreign.doubted = true;
            foreign.unanswered = 0;
        }
        ask_soon(*kept, Millis{0});
    }
}

void RoomKeeper::doubt(const RoomId& room, const NodeId& node) {
    Kept* const kept = find(room);
    if (kept == nullptr) {
        return;
    }
    if (node == parts_.nodes.self) {
        kept->owes_full = true;  // What it said itself was lost on the way back.
        arm(*kept);
        return;
    }
    Foreign& foreign = kept->others[node];
    foreign.broken = true;
    foreign.doubted = true;
    ask_soon(*kept, Millis{0});
}

void RoomKeeper::ask_soon(Kept& kept, Millis wait) {
    if (!kept.ask_at) {
        kept.ask_at = parts_.clock.now() + wait;
        questions_.emplace(*kept.ask_at, kept.room);
        file_asking();
    }
}

void RoomKeeper::ask_no_more(Kept& kept) {
    if (kept.ask_at) {
        questions_.erase({*kept.ask_at, kept.room});
        kept.ask_at.reset();
    }
}

void RoomKeeper::file_asking() {
    if (questions_.empty() || std::exchange(asking_, true)) {
        return;
    }
    const MonoTime due = std::max(questions_.begin()->first, next_round_);
    parts_.scheduler.after(std::max(due - parts_.clock.now(), Millis{0}), [this] { ask_due(); });
}

void RoomKeeper::ask_due() {
    asking_ = false;
    const MonoTime now = parts_.clock.now();
    next_round_ = now + kAskRound;
    for (std::size_t asked = 0; asked < kAsksARound && !questions_.empty(); ++asked) {
        if (questions_.begin()->first > now) {
            break;
        }
        Kept& kept = *find(questions_.begin()->second);
        ask_no_more(kept);
        ask(kept);
    }
    file_asking();
}

void RoomKeeper::ask(Kept& kept) {
    if (parts_.nodes.is_cut_off()) {
        return;  // Nobody would hear it; all rooms are asked for when the store is back.
    }
    std::vector<std::pair<NodeId, std::uint64_t>> mute;
    for (auto& [node, foreign] : kept.others) {
        if (foreign.doubted && ++foreign.unanswered > kMostUnanswered) {
            mute.emplace_back(node, foreign.sequence);
        }
    }
    for (const auto& [node, sequence] : mute) {
        ++parts_.counters.room_words_void;
        kept.others.erase(node);
        if (parts_.on_mute) {
            parts_.on_mute(kept.room, node, sequence);
        }
    }
    weigh(kept);
    if (!kept.own.empty()) {
        kept.owes_full = true;  // Others may have missed as much of this node.
        arm(kept);
    }
    if (any_doubted(kept.others)) {
        ask_soon(kept, kAskAgain);
    }
    parts_.bus.ask_room(kept.room);
}

void RoomKeeper::note_answer(Kept& kept) {
    if (!any_doubted(kept.others) && kept.ask_at && *kept.ask_at > parts_.clock.now()) {
        ask_no_more(kept);
    }
}

// --- The desk looks again ----------------------------------------------------------------------

/// Changes of rules may have been missed: nobody is told by what was judged before.
void RoomDesk::void_verdicts(RoomReplica& replica, std::uint64_t turn) {
    if (replica.member_count() == 0) {
        return;
    }
    replica.judging = true;
    replica.void_before = turn;
    for (RoomViewer& viewer : replica.viewers()) {
        viewer.turned_at = turn;
    }
}

void RoomDesk::look_at_all_again() {
    keeper_.doubt_all();
    ++rules_epoch_;
    const std::uint64_t turn = subjects_.next_turn();
    for (const auto& [room, replica] : replicas_) {
        void_verdicts(*replica, turn);
        if (!std::exchange(replica->doubted, true)) {
            doubted_.push_back(replica);
        }
    }
    doubted_users_ = stays_.users();
    file_looks();
}

void RoomDesk::file_looks() {
    if ((!doubted_.empty() || !doubted_users_.empty()) && !std::exchange(looking_, true)) {
        parts_.scheduler.after(kLookRound, [this] {
            looking_ = false;
            look_at_some();
            file_looks();
        });
    }
}

void RoomDesk::look_at_some() {
    const std::size_t count = std::min(doubted_users_.size(), kUsersARound);
    const auto from = doubted_users_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<UserId> users(std::make_move_iterator(from),
                              std::make_move_iterator(doubted_users_.end()));
    doubted_users_.erase(from, doubted_users_.end());
    if (!users.empty()) {
        refresh_selves(std::move(users));
    }
    for (std::size_t pairs = 0; pairs < kPairsARound && !doubted_.empty();) {
        const Replica replica = std::move(doubted_.back());
        doubted_.pop_back();
        replica->doubted = false;
        if (!replica->closed && replica->member_count() > 0) {
            pairs += replica->member_count() * replica->viewers().size();
            judge(replica, replica->users());
        } else if (!replica->lacks_lists()) {
            replica->judging = false;
            arm(replica);
        }
    }
}

Detached RoomDesk::refresh_selves(std::vector<UserId> users) {
    std::vector<UserId> asked = users;
    const std::uint64_t turn = subjects_.turn();
    Result<std::vector<Seen>> seen = co_await parts_.reader.look(std::nullopt, std::move(asked));
    if (!seen) {
        parts_.scheduler.after(kRetry, [this, users] { refresh_selves(users); });
        co_return;
    }
    for (const Seen& one : *seen) {
        RoomSubject* const subject = subjects_.find(one.user);
        if (subject == nullptr || !subject->at_home) {
            continue;
        }
        take_self(*subject, one, turn);
        report_all(one.user);
    }
}

void RoomDesk::take_self(RoomSubject& subject, const Seen& seen, std::uint64_t turn) {
    if (subject.turned_at <= turn) {
        subject.open_to_all = seen.open_to_all;
    }
    if (seen.rules_unread) {
        look_at_self_later(subject.user);
    }
    take_record(subject, seen.record);
}

void RoomDesk::look_at_self_later(const UserId& user) {
    if (unread_selves_.empty()) {
        parts_.scheduler.after(kRetry, [this] {
            const std::set<UserId> users = std::exchange(unread_selves_, {});
            doubted_users_.insert(doubted_users_.end(), users.begin(), users.end());
            file_looks();
        });
    }
    unread_selves_.insert(user);
}

void RoomDesk::forget_word(const RoomId& room, const NodeId& node, std::uint64_t sequence) {
    if (const Replica replica = find_replica(room)) {
        handle(replica, replica->forget_node(node, sequence));
    }
}

}  // namespace presence
