#include "presence/stores/redis/redis_registry.h"

#include "presence/stores/redis/codec.h"
#include "presence/stores/redis/ends.h"
#include "presence/stores/redis/questions.h"
#include "presence/stores/redis/redis_sessions.h"
#include "presence/stores/redis/scripts.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace presence {

using redis::Command;
using redis::Reply;
using redis::ReplyView;

namespace {

std::optional<std::uint64_t> number(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty()
               ? std::optional(value)
               : std::nullopt;
}

std::string_view next_word(std::string_view& rest) {
    const std::size_t gap = rest.find(' ');
    const std::string_view word = rest.substr(0, gap);
    rest = gap == std::string_view::npos ? std::string_view{} : rest.substr(gap + 1);
    return word;
}

/// What lease_script wrote: renewed at, ttl, leaving, burnt, settled, asserted. Nothing: it is
/// settled, or not an entry of ours.
std::optional<NodeFacts> facts_from(std::string_view name, std::string_view entry,
                                    std::int64_t now) {
    constexpr int kHex = 16;
    constexpr int kTen = 10;
    const std::optional<std::uint64_t> node = number(name, kHex);
    const std::optional<std::uint64_t> renewed = number(next_word(entry), kTen);
    const std::optional<std::uint64_t> ttl = number(next_word(entry), kTen);
    const bool leaving = next_word(entry) == "1";
    const bool burnt = next_word(entry) == "1";
    const bool settled = next_word(entry) == "1";
    if (!node || !renewed || !ttl || settled) {
        return std::nullopt;
    }
    NodeFacts facts;
    facts.node = NodeId{*node};
    facts.renewed_at = WallTime::from_ms(static_cast<std::int64_t>(*renewed));
    facts.alive = !burnt && static_cast<std::int64_t>(*renewed + *ttl) > now;
    facts.leaving = leaving;
    facts.asserted = std::string(entry);
    return facts;
}

}  // namespace

Task<Result<Membership>> RedisRegistry::renew(NodeLease lease) {
    constexpr int kTen = 10;
    if (lease.node != told_bus_) {
        told_bus_ = lease.node;
        bus_.set_node(lease.node);
    }
    Command command;
    command.slot = keys_.slot(0);
    command.script = &redis::lease_script();
    command.repeatable = true;
    command.arguments = {"1",
                         keys_.nodes(),
                         redis::Keys::name_of(lease.node),
                         std::to_string(lease.ttl.count()),
                         lease.leaving ? "1" : "0",
                         lease.asserted,
                         random_.token(),
                         std::to_string(kStays.count())};
    Result<Reply> answer = co_await client_.call(home_, std::move(command));
    if (!answer) {
        co_return answer.error();
    }
    const ReplyView view = answer->view();
    if (view.size() == 0) {
        co_return Error{ErrorCode::conflict, "others have settled the death of this node", 0, 0};
    }
    Membership membership;
    const auto now = static_cast<std::int64_t>(number(view[0].text(), kTen).value_or(0));
    membership.reference_now = WallTime::from_ms(now);
    membership.losses = bus_.counters().shaken;
    membership.refuses_writes = client_.refuses_writes();
    for (std::size_t i = 1; i + 1 < view.size(); i += 2) {
        if (view[i].text() == "life") {
            const std::string_view life = view[i + 1].text();
            const std::uint64_t begun = number(life.substr(0, life.find('-')), kTen).value_or(0);
            membership.incarnation = std::string(life);
            membership.begun_at = WallTime::from_ms(static_cast<std::int64_t>(begun));
        } else if (auto facts = facts_from(view[i].text(), view[i + 1].text(), now)) {
            membership.nodes.push_back(std::move(*facts));
        }
    }
    const std::string before = std::exchange(life_, membership.incarnation);
    if (!before.empty() && before != life_) {
        bus_.look_at_lives();
    }
    co_return membership;
}

Task<Result<bool>> RedisRegistry::run_on_nodes(const redis::Script& script, NodeId node) {
    Command command;
    command.slot = keys_.slot(0);
    command.script = &script;
    command.repeatable = true;
    command.arguments = {"1", keys_.nodes(), redis::Keys::name_of(node)};
    Result<Reply> answer = co_await client_.call(home_, std::move(command));
    if (!answer) {
        co_return answer.error();
    }
    co_return true;
}

Task<Result<bool>> RedisRegistry::burn(NodeId node) {
    Result<bool> burnt = co_await run_on_nodes(redis::burn_script(), node);
    co_return burnt;
}

Task<Result<Leftovers>> RedisRegistry::entomb(NodeId node, std::uint32_t partition,
                                              std::size_t limit) {
    Result<Leftovers> left = co_await look(node, partition, limit, true);
    co_return left;
}

Task<Result<Leftovers>> RedisRegistry::left_of(NodeId node, std::uint32_t partition,
                                               std::size_t limit) {
    Result<Leftovers> left = co_await look(node, partition, limit, false);
    co_return left;
}

Task<Result<Leftovers>> RedisRegistry::look(NodeId node, std::uint32_t partition, std::size_t limit,
                                            bool bury) {
    Leftovers left;
    while (true) {
        Command command;
        command.slot = keys_.slot(partition);
        command.script = &redis::users_script();
        command.repeatable = true;
        command.arguments = {bury ? "3" : "2", keys_.index(partition, node),
                             keys_.ends(partition, node)};
        if (bury) {
            command.arguments.push_back(keys_.tombstone(partition, node));
        }
        for (std::string value : {std::to_string(limit), keys_.record_head(partition),
                                  std::to_string(kStays.count())}) {
            command.arguments.push_back(std::move(value));
        }
        Result<Reply> answer = co_await client_.call(home_, std::move(command));
        if (!answer) {
            co_return answer.error();
        }
        const ReplyView view = answer->view();
        if (view.size() != 3) {
            co_return Error{ErrorCode::internal, "the script answered another number", 0, 0};
        }
        const ReplyView found = view[1];
        for (std::size_t i = 0; i < found.size(); ++i) {
            left.users.emplace_back(found[i].text());
        }
        left.ends = static_cast<std::size_t>(view[2].integer());
        // Where all that it looked at was gone, there may be more behind.
        if (!left.users.empty() || view[0].integer() == 0) {
            co_return left;
        }
    }
}

Task<Result<std::vector<LastSeenRow>>> RedisRegistry::take_ends(NodeId from, NodeId to,
                                                                std::uint32_t partition,
                                                                std::size_t limit) {
    Command command;
    command.slot = keys_.slot(partition);
    command.script = &redis::take_ends_script();
    command.arguments = {"2", keys_.ends(partition, from), keys_.ends(partition, to),
                         std::to_string(limit),
                         std::to_string(RedisSessionStore::kIndexStays.count())};
    Result<Reply> answer = co_await client_.call(home_, std::move(command));
    if (!answer) {
        co_return answer.error();
    }
    std::vector<LastSeenRow> rows;
    const ReplyView view = answer->view();
    for (std::size_t i = 0; i + 1 < view.size(); i += 2) {
        rows.push_back(redis::decode_end(view[i].text(), view[i + 1].text()));
    }
    co_return rows;
}

Task<Result<bool>> RedisRegistry::forget(NodeId node) {
    Result<bool> forgotten = co_await run_on_nodes(redis::forget_script(), node);
    co_return forgotten;
}

Task<Result<std::vector<std::uint64_t>>> RedisRegistry::commits_of(std::vector<UserId> users,
                                                                   std::optional<NodeId> keep_for) {
    // An index has its partition's slot, so a command that renews it is about one partition.
    const redis::Grouping grouping =
        keep_for ? redis::Grouping::by_partition : redis::Grouping::by_server;
    std::vector<redis::Question> questions =
        redis::questions_for(users, keys_, client_.config(), "",
                             keep_for ? &redis::keep_script() : &redis::heads_script(), grouping);
    std::vector<Command> commands;
    commands.reserve(questions.size());
    for (redis::Question& question : questions) {
        if (keep_for) {
            const std::uint32_t partition = keys_.partition_of(users[question.places.front()]);
            for (std::string value :
                 {redis::commit_bytes(keep_for->value), keys_.index(partition, *keep_for),
                  std::to_string(RedisSessionStore::kWithSessions.count()),
                  std::to_string(RedisSessionStore::kIndexStays.count())}) {
                question.command.arguments.push_back(std::move(value));
            }
        }
        commands.push_back(std::move(question.command));
    }
    std::vector<std::uint64_t> commits(users.size());
    std::vector<Result<Reply>> answers = co_await client_.call_all(home_, std::move(commands));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (!answers[i]) {
            co_return answers[i].error();
        }
        const ReplyView heads = answers[i]->view();
        for (std::size_t k = 0; k < questions[i].places.size() && k < heads.size(); ++k) {
            commits[questions[i].places[k]] = redis::decode_head(heads[k].text()).commit;
        }
    }
    co_return commits;
}

}  // namespace presence
