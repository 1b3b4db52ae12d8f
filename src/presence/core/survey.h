#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/shard.h"
#include "presence/model/survey.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace presence {

/// What only all nodes together can answer: how many people there are, who is in a room, which
/// rooms there are. Each answers for what is its own (docs/adr/0006-surveys.md).
///
///     any thread --> first thread --question--> all other nodes
///                                 <--one answer each--
///
/// A node that does not answer within kPatience is left out, and the sum is not `exact`. Where
/// nothing is shared it is this node's word alone. On the thread of `parts.scheduler`, a node's
/// first; to be asked from any of them by run_there.
class Survey {
public:
    struct Parts {
        Scheduler& scheduler;
        const Clock& clock;
        const Shards& shards;
        /// Brings this node's records up to the store (ClusterMember::look_over). Empty: nothing is
        /// shared.
        std::function<Task<bool>()> look_over;
    };
    explicit Survey(Parts parts);
    ~Survey();
    Survey(const Survey&) = delete;
    Survey& operator=(const Survey&) = delete;

    /// DESIGN rule 30.
    static constexpr Millis kPatience{900};
    /// What is said so of a room is older than any statement of it: these count from a time of day.
    static constexpr std::uint64_t kBeforeAll = 1;
    /// Counts of people begin at least so far apart: one that begins late still ends within the
    /// second.
    static constexpr Millis kCountEvery{50};
    /// Questions under way. Beyond it, this node's own word has to do.
    static constexpr std::size_t kMost = 1'000;
    /// Of these, those for who joins a room: a storm of joins leaves room for all others.
    static constexpr std::size_t kMostForJoins = kMost / 2;

    struct People {
        Census census;
        OpenConnections connections;
        std::size_t nodes = 1;  ///< With a lease, or that answered.
        bool exact = true;
    };
    struct Rooms {
        std::vector<RoomFacts> rooms;  ///< By name, at most as many as were asked for.
        bool more = false;
    };
    /// As of some moment after the call. All who ask within kCountEvery share a count, as each
    /// compares all records of all nodes with the store.
    [[nodiscard]] Task<People> people();
    /// The members after `after`, at most `most`.
    [[nodiscard]] Task<RoomFacts> room(RoomId room, std::optional<UserId> after, std::size_t most);
    /// Rooms with members whose names begin with `prefix`, after `after`.
    [[nodiscard]] Task<Rooms> rooms(std::string prefix, std::optional<RoomId> after,
                                    std::size_t most);
    /// What each other node has of the room, as a full statement numbered kBeforeAll; without
    /// members of those that have nothing. For RoomKeeper::set_ask_others.
    [[nodiscard]] Task<Result<RoomStatements>> room_lists(RoomId room);

    struct Remembered {
        Past past;             ///< Of all nodes, by time. What a dead node remembered is gone.
        bool complete = true;  ///< All nodes answered.
    };
    /// What all nodes remember of a user.
    [[nodiscard]] Task<Remembered> past(UserId user);

    // -- From the bus ---------------------------------------------------------------------------
    void on_question(const SurveyQuestionRef& question);
    void on_answer(const SurveyAnswerRef& answer);

    /// Questions of this node that wait for answers.
    [[nodiscard]] std::size_t under_way() const noexcept { return asked_.size(); }

private:
    /// A question that is under way.
    struct Asked {
        std::vector<SurveyAnswerRef> answers;
        std::set<NodeId> missing;          ///< Nodes with a lease that have not answered.
        std::optional<std::size_t> heard;  ///< By so many nodes, once that is known.
        std::optional<Completion<bool>::Done> done;
        [[nodiscard]] bool complete() const noexcept { return heard && answers.size() >= *heard; }
    };
    struct Heard {
        std::vector<SurveyAnswerRef> answers;  ///< This node's own first.
        std::size_t nodes = 1;
        bool exact = true;
    };
    void file_count();
    Detached count_for_askers();
    [[nodiscard]] Task<People> count_all();
    /// @param most  With so many under way this node's own word has to do.
    [[nodiscard]] Task<Heard> ask(SurveyQuestion question, std::size_t most = kMost);
    [[nodiscard]] Task<Heard> ask_others(SurveyQuestionRef question);
    [[nodiscard]] Task<bool> wait_for(std::uint64_t number, MonoTime until);
    [[nodiscard]] Task<SurveyAnswerRef> answer_here(SurveyQuestionRef question);
    [[nodiscard]] Task<bool> count_people(SurveyAnswer& answer);
    [[nodiscard]] Task<bool> look_at_room(const SurveyQuestion& question, SurveyAnswer& answer);
    [[nodiscard]] Task<bool> look_at_rooms(const SurveyQuestion& question, SurveyAnswer& answer);
    [[nodiscard]] Task<bool> look_at_past(const SurveyQuestion& question, SurveyAnswer& answer);
    Detached answer_to(SurveyQuestionRef question);
    void settle(std::uint64_t number);

    Parts parts_;
    Shard& first_;
    std::uint64_t last_number_ = 0;
    std::map<std::uint64_t, Asked> asked_;
    std::vector<Completion<People>::Done> askers_;  ///< For the next count; a call over HTTP each.
    MonoTime next_count_;                           ///< None begins before.
};

}  // namespace presence
