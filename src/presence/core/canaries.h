#pragma once

#include "presence/core/homes.h"
#include "presence/core/shard.h"
#include "presence/core/watch_desk.h"
#include "presence/model/canary.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace presence {

/// The server's measure of its own truth: made-up users go the ways of all others, and what is
/// told of them is held against what they did.
///
/// A node has one canary that changes its status every ten seconds and is watched by every other
/// node: how long a change takes to get there, and whether it gets there at all. And one that every
/// minute signs in on a device which is never heard again: how long after its ttl it is shown
/// offline. (It takes several names in turn, as a ttl may be longer than a minute.)
///
///     this node:    PresenceService --commit--> store, bus
///     other nodes:                       bus --> WatchDesk --> Canaries::hear
///
/// Times go into CoreCounters::truth_propagation and truth_lateness, untruths into truth_errors.
/// What is told as `unknown` is no untruth. Of a node's canaries and those that it watches each
/// thread has those whose home it is. One thread.
class Canaries final : public WatchSink {
public:
    static constexpr Millis kTick{1'000};
    static constexpr Millis kChangeEvery{10'000};
    static constexpr Millis kDieEvery{60'000};
    /// What is later than that is an error, and not just late: a subscription that has fallen
    /// silent is healed by then (DESIGN rule 35).
    static constexpr Millis kPatience{6'000};
    /// Nodes that are watched; a deployment of more measures these.
    static constexpr std::size_t kMostWatched = 256;

    /// @param index  Of the shard's thread.
    Canaries(Shard& shard, const Homes& homes, std::size_t index);
    ~Canaries() override;
    Canaries(const Canaries&) = delete;
    Canaries& operator=(const Canaries&) = delete;

    void start();
    /// Ends what it began, as far as the store answers.
    void stop();

    /// Edges in the watch index that are canaries'.
    [[nodiscard]] std::size_t watches() const;

    // --- WatchSink
    const UserId* viewer_of(std::uint32_t connection) override;
    bool can_take(std::uint32_t) override { return true; }
    void deliver_news(std::uint32_t connection, std::span<WatchIndex::Subject* const> subjects,
                      std::span<const Verdict> verdicts) override;
    void deliver_seen(std::uint32_t connection, std::span<const Seen* const> seen) override;

private:
    /// A canary of this node. Flows under way hold it.
    struct Own {
        UserId user;
        SlotId session;        ///< Empty: it is not signed in.
        bool busy = false;     ///< A flow of it is under way.
        bool dropped = false;  ///< It belongs to a former name: what begins is ended.
        bool flipped = false;
        MonoTime next;                 ///< Its next change, or its next life.
        std::optional<MonoTime> dies;  ///< The end of its ttl, until it was told.
        bool missed = false;           ///< It was counted so.
    };
    using OwnRef = std::shared_ptr<Own>;
    /// One that is watched here: another node's, or one of this node's that die.
    struct Watched {
        UserId user;
        NodeId node;
        OwnRef mortal;                   ///< Null: it changes.
        bool watching = false;           ///< The watch stands or is being made.
        bool present = false;            ///< It was told so.
        WallTime since;                  ///< Of the status that was told last.
        std::optional<MonoTime> due_by;  ///< The next change is to be heard by then.
    };

    void tick();
    /// This node goes by another name: so do its canaries.
    void begin_anew(NodeId name, MonoTime now);
    /// For so long nothing was owed to this node.
    void excuse(Millis lost);
    void look_after_pulse(MonoTime now);
    void look_after(const OwnRef& mortal, MonoTime now);
    void follow_nodes();
    void look_for_silence(MonoTime now);
    void watch(UserId user, NodeId node, OwnRef mortal);
    void unwatch(std::size_t place);
    [[nodiscard]] bool is_watched(NodeId node) const;
    /// @param face  Null: it cannot be told.
    void hear(std::uint32_t connection, const Face* face);
    void hear_change(Watched& watched, const Face& face) const;
    void hear_of_mortal(Watched& watched, bool present);
    void count(TruthError error);
    [[nodiscard]] bool is_home(const UserId& user) const;

    Detached sign_in(OwnRef own);
    Detached change(OwnRef own);
    Detached begin_watch(std::uint32_t place);
    Detached sign_out(SlotId session);

    Shard& shard_;
    const Homes& homes_;
    std::size_t index_;
    std::optional<NodeId> name_;  ///< By which the canaries go.
    OwnRef pulse_;                ///< Null: its home is another thread.
    std::vector<OwnRef> mortals_;
    std::vector<std::unique_ptr<Watched>> watched_;  ///< By place; null: free.
    MonoTime last_tick_;
    Scheduler::TimerId timer_{};
    bool running_ = false;
};

}  // namespace presence
