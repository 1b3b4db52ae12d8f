#include "store.h"

#include "presence/stores/redis/codec.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace presence::sim {

namespace {
/// No fail-over loses more than that of what was written last.
constexpr Millis kMostLost{1000};
constexpr Millis kKept{7'500'000};

/// What the wire and the store would make of a record.
UserRecordRef through_bytes(const UserRecordRef& record) {
    Result<UserRecordRef> read = redis::decode_record(redis::encode(*record));
    PRESENCE_ASSERT(read.has_value() && *read != nullptr);
    return *read;
}

std::string told(const Commit& commit, NodeId as, CommitOutcome outcome) {
    const Presence& presence = commit.record->presence;
    std::string text =
        fmt::format("node {:04x} {} {} as {} v{}, shown {} v{}, commit {}{}:", as.value >> 48U,
                    outcome == CommitOutcome::committed ? "writes" : "could not write",
                    commit.user.text, wire_name(presence.own.status), presence.own_version.value,
                    wire_name(presence.shown.status), presence.shown_version.value,
                    commit.record->commit, commit.event ? ", tells it" : "");
    for (const Session& session : commit.record->sessions) {
        text += fmt::format(" {}{}@{:04x}", std::string_view(session.id.text).substr(0, 4),
                            session.grace_until ? " in grace" : "", session.node.value >> 48U);
    }
    return text;
}
}  // namespace

Millis Stores::half_a_way() {
    if (even) {
        return Millis{1};
    }
    return Millis{
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(slowest.count()) + 1)) /
        2};
}

void Stores::note_write(const UserId& user) {
    const MonoTime now = clock.now();
    while (!written_.empty() && written_.front().at + kMostLost < now) {
        written_.pop_front();
    }
    written_.push_back({now, user, sessions.load(user)});
}

void Stores::fail_over(Millis span) {
    while (!written_.empty() && written_.back().at + span >= clock.now()) {
        const Written last = std::move(written_.back());
        written_.pop_back();
        sessions.erase(last.user);
        if (last.before) {
            const CommitOutcome outcome =
                sessions.commit({last.user, 0, last.before, kKept, nullptr, {}}, nullptr);
            PRESENCE_ASSERT(outcome == CommitOutcome::committed);
        }
    }
    nodes.fail_over();
}

Task<Result<std::vector<UserRecordRef>>> LinkedSessions::load(std::vector<UserId> users) {
    return link_.store_call(below_.load(std::move(users)), false);
}

Task<Result<std::vector<CommitOutcome>>> LinkedSessions::apply(std::vector<Commit> commits,
                                                               NodeId as) {
    for (Commit& commit : commits) {
        link_.stores().note_write(commit.user);
        commit.record = through_bytes(commit.record);
    }
    below_.set_node(as);
    std::vector<Commit> written;
    if (link_.stores().on_written) {
        written = commits;
    }
    Result<std::vector<CommitOutcome>> outcomes = co_await below_.commit_many(std::move(commits));
    for (std::size_t i = 0; i < written.size() && outcomes; ++i) {
        link_.stores().on_written(told(written[i], as, (*outcomes)[i]));
    }
    co_return outcomes;
}

Task<Result<std::vector<CommitOutcome>>> LinkedSessions::commit_many(std::vector<Commit> commits) {
    return link_.store_call(apply(std::move(commits), node_), true);
}

Task<Result<bool>> LinkedSessions::drop(std::vector<LastSeenRow> written, NodeId as) {
    below_.set_node(as);
    Result<bool> dropped = co_await below_.drop_ends(std::move(written));
    co_return dropped;
}

Task<Result<bool>> LinkedSessions::drop_ends(std::vector<LastSeenRow> written) {
    return link_.store_call(drop(std::move(written), node_), true);
}

Task<Result<bool>> LinkedSessions::erase(UserId user) {
    return link_.store_call(below_.erase(std::move(user)), true);
}

Task<Result<Membership>> LinkedRegistry::renew_there(NodeLease lease) {
    Result<Membership> membership = co_await below_.renew(std::move(lease));
    if (membership) {
        on_renewed_();
    }
    co_return membership;
}

Task<Result<Membership>> LinkedRegistry::renew(NodeLease lease) {
    return link_.store_call(renew_there(std::move(lease)), true);
}

Task<Result<bool>> LinkedRegistry::burn(NodeId node) {
    return link_.store_call(below_.burn(node), true);
}

Task<Result<Leftovers>> LinkedRegistry::entomb(NodeId node, std::uint32_t partition,
                                               std::size_t limit) {
    return link_.store_call(below_.entomb(node, partition, limit), true);
}

Task<Result<Leftovers>> LinkedRegistry::left_of(NodeId node, std::uint32_t partition,
                                                std::size_t limit) {
    return link_.store_call(below_.left_of(node, partition, limit), false);
}

Task<Result<std::vector<LastSeenRow>>> LinkedRegistry::take_ends(NodeId from, NodeId to,
                                                                 std::uint32_t partition,
                                                                 std::size_t limit) {
    return link_.store_call(below_.take_ends(from, to, partition, limit), true);
}

Task<Result<bool>> LinkedRegistry::forget(NodeId node) {
    return link_.store_call(below_.forget(node), true);
}

Task<Result<std::vector<std::uint64_t>>> LinkedRegistry::commits_of(
    std::vector<UserId> users, std::optional<NodeId> keep_for) {
    return link_.store_call(below_.commits_of(std::move(users), keep_for), false);
}

Task<Result<std::vector<ProfileRef>>> LinkedProfiles::load(std::vector<UserId> users) {
    return link_.database_call(below_.load(std::move(users)));
}

Task<Result<bool>> LinkedProfiles::save_declared(UserId user, DeclaredState declared) {
    return link_.database_call(below_.save_declared(std::move(user), std::move(declared)));
}

Task<Result<ProfileChange>> LinkedProfiles::save_privacy(UserId user, PrivacySettings settings) {
    return link_.database_call(below_.save_privacy(std::move(user), std::move(settings)));
}

Task<Result<ProfileChange>> LinkedProfiles::change_contacts(UserId user, UserSetChange change,
                                                            std::size_t limit) {
    return link_.database_call(below_.change_contacts(std::move(user), std::move(change), limit));
}

Task<Result<ProfileChange>> LinkedProfiles::change_blocks(UserId user, UserSetChange change,
                                                          std::size_t limit) {
    return link_.database_call(below_.change_blocks(std::move(user), std::move(change), limit));
}

Task<Result<ProfileChange>> LinkedProfiles::revoke(UserId user, WallTime before) {
    return link_.database_call(below_.revoke(std::move(user), before));
}

Task<Result<bool>> LinkedProfiles::save_last_seen(std::vector<LastSeenRow> rows) {
    return link_.database_call(below_.save_last_seen(std::move(rows)));
}

Task<Result<std::vector<UserId>>> LinkedProfiles::erase(UserId user, WallTime at) {
    return link_.database_call(below_.erase(std::move(user), at));
}

}  // namespace presence::sim
