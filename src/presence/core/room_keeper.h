#pragma once

#include "presence/base/clock.h"
#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/core/node_view.h"
#include "presence/core/room_herald.h"
#include "presence/core/room_subscriptions.h"
#include "presence/model/room.h"
#include "presence/ports/presence_bus.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace presence {

using RoomStatements = std::vector<RoomStatementRef>;

/// What a thread needs to have the state of a room.
enum class RoomNeed : std::uint8_t {
    counts,   ///< How many there are.
    changes,  ///< Also what the statements that it got may not hold yet.
    all,      ///< Also everything else: it has had none.
};

/// The state of a room when it was asked for.
struct RoomPicture {
    bool large = false;
    std::size_t counted = 0;
    std::vector<RoomStatementRef> parts;  ///< Statements to apply, as `RoomNeed` wanted.
};

/// By whom one who joins a room may know that others are in it.
struct RoomSight {
    bool large = false;          ///< By the count.
    std::optional<UserId> user;  ///< Else by one whom it sees in it; empty: it sees nobody.
};

/// The members, by this node, of the rooms whose home this thread is, and what other nodes say of
/// theirs. Home threads report their users' comings and goings; the keeper makes of them one
/// statement for all threads and nodes, at most one a window, never one a member (DESIGN rule 28).
///
/// Windows lie on a fixed grid: when a statement goes out does not depend on how much happens in
/// the room, which a viewer might not be meant to know (DESIGN rule 26).
///
/// One thread.
class RoomKeeper {
public:
    static constexpr Millis kWindow{100};
    /// Counts of a large room.
    static constexpr Millis kCountWindow{1000};
    /// A room that has just been opened is told of to receivers of webhooks only then, when other
    /// nodes have said who is in it.
    static constexpr Millis kListen{300};
    /// A question that was not answered is asked again.
    static constexpr Millis kAskAgain{1000};
    /// Who joins waits no longer for what other nodes say of the room. For so long after somebody
    /// came they may also have something to say that has not come through yet.
    static constexpr Millis kAskPatience{300};
    /// They are asked at points of a grid, too, so that how long an answer takes does not depend on
    /// whether somebody else, perhaps hidden, has just asked; all who wait for one share a
    /// question.
    static constexpr Millis kAskEvery{20};
    /// Then a node that lives and hears has had its time: it is not in the room any more.
    static constexpr unsigned kMostUnanswered = 5;

    struct Parts {
        Scheduler& scheduler;
        const Clock& clock;
        PresenceBus& bus;
        RoomSubscriptions& subscriptions;
        const NodeView& nodes;
        const Limits& limits;
        CoreCounters& counters;
        WebhookEvents* webhooks = nullptr;  ///< Null: nobody is told.
        /// A node is asked and does not answer: what it said of the room up to `sequence` is void.
        std::function<void(const RoomId& room, const NodeId& node, std::uint64_t sequence)> on_mute;
        std::size_t threads = 1;
    };
    explicit RoomKeeper(Parts parts) : parts_(std::move(parts)) {}

    /// Asks each other node at once what it has of a room: full statements, older than any that it
    /// publishes, without members where it has none. On this thread.
    using AskOthers = std::function<Task<Result<RoomStatements>>(RoomId)>;
    /// Before anything else. Without it, other nodes are heard when they speak.
    void set_ask_others(AskOthers ask) { ask_others_ = std::move(ask); }

    /// The node's limits are shared out among so many threads.
    void share_limits(std::size_t threads) { parts_.threads = threads; }

    /// How long until the room's next point of the grid, moved by `after`. Rooms lie at different
    /// points, so that not all speak at once.
    [[nodiscard]] static Millis until_next_window(const RoomId& room, MonoTime now,
                                                  Millis after = Millis{0},
                                                  Millis window = kWindow);

    // -- From home threads ---------------------------------------------------------------------
    /// The user is a member from now on, or another one than before.
    /// @retval ErrorCode::limit_exceeded  The room is full, or there are too many rooms.
    [[nodiscard]] Result<RoomPicture> enter(const RoomId& room, RoomMember member, RoomNeed need);
    void leave(const RoomId& room, const UserId& user);

    // -- From threads with viewers ---------------------------------------------------------------
    /// @retval ErrorCode::limit_exceeded  There are too many rooms.
    [[nodiscard]] Result<RoomPicture> look(const RoomId& room, RoomNeed need);
    /// A thread that holds a room is told of it, and its keeper stays. Balanced by let_go.
    void hold(const RoomId& room);
    void let_go(const RoomId& room);
    /// What other nodes have of a room, for one who joins it, within kAskPatience. They are asked
    /// unless the joiner may know that it is known here: because somebody `sees` stands for has
    /// been in the room by this node for long enough. Whether it is known by somebody whom the
    /// joiner may not see must make no difference (DESIGN rule 26). The room is held meanwhile.
    /// @return  Empty: they were not asked. Else what has changed here, and their words, each to be
    ///          applied ahead of what they publish.
    [[nodiscard]] Task<std::optional<RoomPicture>> hear_others(RoomId room, RoomSight sees);

    // -- From other nodes ------------------------------------------------------------------------
    void on_room(const RoomStatementRef& statement);
    void on_room_asked(const RoomId& room);
    /// The node is dead: what it said is void.
    void forget_node(const NodeId& node);

    // -- Where words may have been lost, in room_healing.cc --------------------------------------
    /// Asks about every room, in paced rounds, until each node that was known has said anew what
    /// it has, and states what this one has. What a node said that does not answer is void.
    void doubt_all();
    /// Likewise of one node and room.
    void doubt(const RoomId& room, const NodeId& node);

    // -- For back ends ---------------------------------------------------------------------------
    // What this node answers for: its own members, but for those who are also in the room by a node
    // with a lower name, as they are that node's. So the answers of all nodes add up, whoever asks.
    /// The members after `after`, at most `most`.
    [[nodiscard]] RoomFacts facts(const RoomId& room, const std::optional<UserId>& after,
                                  std::size_t most) const;
    /// Rooms with members whose names begin with `prefix`, by name, after `after`.
    [[nodiscard]] std::vector<RoomFacts> rooms(std::string_view prefix,
                                               const std::optional<RoomId>& after,
                                               std::size_t most) const;

    [[nodiscard]] std::size_t room_count() const noexcept { return rooms_.size(); }

private:
    using Members = std::map<UserId, RoomMember>;
    /// A member by this node.
    struct Own : RoomMember {
        MonoTime since;
    };
    using WordsRef = std::shared_ptr<const RoomStatements>;

    /// What another node said.
    struct Foreign {
        std::uint64_t sequence = 0;
        bool listed = true;
        bool broken = false;      ///< A statement is missing.
        bool doubted = false;     ///< A full one was asked for.
        unsigned unanswered = 0;  ///< How often, in vain.
        std::size_t members = 0;
        std::size_t counted = 0;
        Members list;

        void take(const RoomStatement& statement) {
            sequence = statement.sequence;
            listed = statement.listed;
            members = statement.members;
            counted = statement.counted;
            for (const RoomMember& member : statement.present) {
                list.insert_or_assign(member.user, member);
            }
            for (const UserId& user : statement.gone) {
                list.erase(user);
            }
        }
    };

    struct Kept {
        RoomId room;
        std::map<UserId, Own> own;
        std::size_t counted = 0;  ///< Of `own`.
        MonoTime counted_since;   ///< There is always somebody in that number.
        std::map<NodeId, Foreign> others;
        RoomHerald herald;
        MonoTime listens_until;  ///< Before that it is not known who is in by other nodes.
        std::size_t holders = 0;
        std::set<UserId> untold;  ///< Changed since the last statement; while listed.
        RoomStatementRef last;    ///< It may still be on its way to some thread.
        /// Begins at the time of day, so that what a room says that was given up and began again
        /// is later than what it said before.
        std::uint64_t sequence = 0;
        MonoTime last_at;
        MonoTime counted_at;  ///< When `told_counted` was told.
        std::size_t told_members = 0;
        std::size_t told_counted = 0;
        bool large = false;
        std::optional<MonoTime> ask_at;  ///< Stands in questions_.
        bool owes_full = false;
        bool armed = false;
        std::vector<Completion<WordsRef>::Done> asking;  ///< Wait for the next question.
    };

    [[nodiscard]] Result<Kept*> open(const RoomId& room);
    [[nodiscard]] Kept* find(const RoomId& room);
    Detached begin(RoomId room);
    void set_counted(Kept& kept, std::size_t counted) const;
    // For those who join, in room_asking.cc
    [[nodiscard]] bool is_known_to(const Kept& kept, const RoomSight& sees) const;
    Detached put_question(RoomId room);
    void take_first_words(const RoomId& room, const RoomStatements& words);
    [[nodiscard]] RoomPicture picture_with(const Kept& kept, const RoomStatements& words) const;
    void close_if_idle(Kept& kept);
    void changed(Kept& kept);
    /// Whether lists give way to counts, or return.
    void weigh(Kept& kept);
    void arm(Kept& kept);
    void publish(const RoomId& room);
    void take_back(const Kept& kept, const NodeId& name);
    void ask_soon(Kept& kept, Millis wait);
    void ask_no_more(Kept& kept);
    void file_asking();
    void ask_due();
    void ask(Kept& kept);
    void note_answer(Kept& kept);
    [[nodiscard]] RoomPicture picture(const Kept& kept, RoomNeed need) const;
    [[nodiscard]] std::shared_ptr<RoomStatement> frame_of(const Kept& kept) const;
    [[nodiscard]] RoomStatementRef everything(const Kept& kept) const;
    [[nodiscard]] RoomStatementRef recent_changes(const Kept& kept) const;
    static void add_current(const Kept& kept, const UserId& user, RoomStatement& statement);
    [[nodiscard]] static std::size_t counted_everywhere(const Kept& kept);
    /// Who is in by several nodes is in two of the numbers.
    [[nodiscard]] static std::size_t members_everywhere(const Kept& kept);
    /// Whether another node answers for the member.
    [[nodiscard]] bool is_anothers(const Kept& kept, const UserId& user) const;
    void count_up(const Kept& kept, RoomFacts& facts) const;
    // For webhooks
    [[nodiscard]] bool tells() const {
        return parts_.webhooks != nullptr && parts_.webhooks->wanted();
    }
    [[nodiscard]] bool listens(const Kept& kept) const {
        return parts_.clock.now() < kept.listens_until;
    }
    void begin_telling(const RoomId& room);
    [[nodiscard]] RoomHerald::Others others_of(const Kept& kept, const UserId& user) const;
    [[nodiscard]] static std::vector<UserId> silent_by(const Kept& kept, NodeId node);
    void tell_gone_elsewhere(Kept& kept, const RoomStatement& statement,
                             const std::vector<UserId>& waits);
    void tell_dead(Kept& kept, const Foreign& dead);
    [[nodiscard]] static bool owes(const Kept& kept);
    [[nodiscard]] bool begins_anew(const Kept& kept) const;
    [[nodiscard]] bool is_due(const Kept& kept) const;
    [[nodiscard]] bool count_is_due(const Kept& kept) const;

    Parts parts_;
    AskOthers ask_others_;
    std::map<RoomId, std::unique_ptr<Kept>> rooms_;
    std::set<std::pair<MonoTime, RoomId>> questions_;  ///< When to ask; each room once.
    MonoTime next_round_;
    bool asking_ = false;      ///< A round is filed.
    std::uint64_t floor_ = 0;  ///< No sequence begins below, whatever a clock says.
};

}  // namespace presence
