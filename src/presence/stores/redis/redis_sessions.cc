#include "presence/stores/redis/redis_sessions.h"

#include "presence/base/assert.h"
#include "presence/base/log.h"
#include "presence/ports/ending_record.h"
#include "presence/stores/redis/codec.h"
#include "presence/stores/redis/ends.h"
#include "presence/stores/redis/questions.h"
#include "presence/stores/redis/scripts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace presence {

using redis::Command;
using redis::Reply;
using redis::ReplyView;

namespace {

CommitOutcome outcome_of(std::int64_t number) {
    constexpr std::int64_t kFenced = 2;
    return number == 1         ? CommitOutcome::committed
           : number == kFenced ? CommitOutcome::fenced
                               : CommitOutcome::conflict;
}

}  // namespace

/// Commits that one command makes, and where their outcomes belong.
struct RedisSessionStore::Writing {
    Command command;
    std::vector<std::string> values;  ///< What follows the keys.
    std::vector<std::size_t> places;
    bool all_end = true;
};

/// Records that one command reads, and behind them the lives of their partitions: a record that is
/// missing there is missing in that life.
struct RedisSessionStore::Reading {
    redis::Question records;
    std::vector<std::uint32_t> partitions;
    std::uint64_t losses = 0;  ///< Known when it was asked.
};

std::vector<RedisSessionStore::Reading> RedisSessionStore::readings_for(
    const std::vector<UserId>& users) const {
    std::vector<Reading> readings;
    for (redis::Question& question : redis::questions_for(users, keys_, client_.config(), "MGET")) {
        Reading& reading = readings.emplace_back(Reading{std::move(question), {}, lives_.latest()});
        for (const std::size_t place : reading.records.places) {
            reading.partitions.push_back(keys_.partition_of(users[place]));
        }
        std::ranges::sort(reading.partitions);
        const auto doubles = std::ranges::unique(reading.partitions);
        reading.partitions.erase(doubles.begin(), doubles.end());
        for (const std::uint32_t partition : reading.partitions) {
            reading.records.command.arguments.push_back(keys_.incarnation(partition));
        }
    }
    return readings;
}

void RedisSessionStore::meet_losses(const Reading& reading, const ReplyView& values) {
    for (std::size_t i = 0; losses_ != nullptr && i < reading.partitions.size(); ++i) {
        const ReplyView life = values[reading.records.places.size() + i];
        losses_->meet(lives_.losses_at(reading.partitions[i], life.text(), reading.losses));
    }
}

Task<Result<std::vector<UserRecordRef>>> RedisSessionStore::load(std::vector<UserId> users) {
    std::vector<Reading> readings = readings_for(users);
    std::vector<Command> commands;
    commands.reserve(readings.size());
    for (Reading& reading : readings) {
        commands.push_back(std::move(reading.records.command));
    }
    std::vector<UserRecordRef> records(users.size());
    std::vector<Result<Reply>> answers = co_await client_.call_all(home_, std::move(commands));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (!answers[i]) {
            co_return answers[i].error();
        }
        const ReplyView values = answers[i]->view();
        const std::vector<std::size_t>& places = readings[i].records.places;
        if (values.size() != places.size() + readings[i].partitions.size()) {
            co_return Error{ErrorCode::internal, "MGET answered another number of keys", 0, 0};
        }
        meet_losses(readings[i], values);
        for (std::size_t k = 0; k < places.size(); ++k) {
            Result<UserRecordRef> record = redis::decode_record(values[k].text());
            if (!record) {
                log::error("redis_record_unreadable", "{}: {}", log::quoted(users[places[k]].text),
                           record.error().message);
            }
            records[places[k]] = record ? std::move(*record) : unreadable_record();
        }
    }
    co_return records;
}

std::vector<RedisSessionStore::Writing> RedisSessionStore::writings_for(
    const std::vector<Commit>& commits) const {
    std::vector<Writing> writings;
    std::map<std::uint32_t, std::size_t> open;  // Partition to the command that still has room.
    for (std::size_t i = 0; i < commits.size(); ++i) {
        const Commit& commit = commits[i];
        PRESENCE_ASSERT(commit.record && commit.record->commit > commit.expected);
        PRESENCE_ASSERT(!commit.event || commit.event->user == commit.user);
        const std::uint32_t partition = keys_.partition_of(commit.user);
        const auto [found, fresh] = open.try_emplace(partition, 0);
        if (fresh || writings[found->second].places.size() >= client_.config().commits_at_once) {
            found->second = writings.size();
            Writing& writing = writings.emplace_back();
            writing.command.slot = keys_.slot(partition);
            writing.command.arguments = {"", keys_.tombstone(partition, node_)};
            writing.values = {keys_.index_head(partition), std::to_string(kIndexStays.count()),
                              keys_.ends(partition, node_)};
        }
        Writing& writing = writings[found->second];
        const UserRecord& record = *commit.record;
        const Millis life =
            record.sessions.empty() ? commit.keep : std::max(commit.keep, kWithSessions);
        writing.places.push_back(i);
        writing.all_end = writing.all_end && is_ending(record);
        writing.command.arguments.push_back(keys_.record(commit.user));
        writing.values.push_back(commit.expected == 0 ? std::string()
                                                      : redis::commit_bytes(commit.expected));
        writing.values.push_back(redis::encode(record));
        writing.values.push_back(std::to_string(std::max<std::int64_t>(life.count(), 1)));
        writing.values.emplace_back(commit.user.text);
        writing.values.push_back(commit.event ? keys_.channel(commit.user) : std::string());
        writing.values.push_back(commit.event ? redis::encode(*commit.event) : std::string());
        writing.values.push_back(commit.ended && node_ ? redis::encode_end(*commit.ended)
                                                       : std::string());
    }
    for (Writing& writing : writings) {
        std::vector<std::string>& arguments = writing.command.arguments;
        arguments.front() = std::to_string(arguments.size() - 1);
        arguments.insert(arguments.end(), std::make_move_iterator(writing.values.begin()),
                         std::make_move_iterator(writing.values.end()));
        writing.command.script =
            writing.all_end ? &redis::ending_script() : &redis::commit_script();
    }
    return writings;
}

Task<Result<std::vector<CommitOutcome>>> RedisSessionStore::commit_many(
    std::vector<Commit> commits) {
    std::vector<Writing> writings = writings_for(commits);
    std::vector<Command> commands;
    commands.reserve(writings.size());
    for (Writing& writing : writings) {
        commands.push_back(std::move(writing.command));
    }
    std::vector<CommitOutcome> outcomes(commits.size(), CommitOutcome::unknown);
    std::vector<Result<Reply>> answers = co_await client_.call_all(home_, std::move(commands));
    const auto came = [](const Result<Reply>& answer) { return answer.has_value(); };
    if (!answers.empty() && std::ranges::none_of(answers, came)) {
        co_return answers.front().error();
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (!answers[i]) {
            continue;
        }
        const ReplyView numbers = answers[i]->view();
        const std::vector<std::size_t>& places = writings[i].places;
        if (numbers.size() != places.size()) {
            co_return Error{ErrorCode::internal, "the script answered another number", 0, 0};
        }
        for (std::size_t k = 0; k < places.size(); ++k) {
            outcomes[places[k]] = outcome_of(numbers[k].integer());
        }
    }
    co_return outcomes;
}

Task<Result<bool>> RedisSessionStore::drop_ends(std::vector<LastSeenRow> written) {
    std::map<std::uint32_t, std::size_t> open;  // Partition to the command that still has room.
    std::vector<Command> commands;
    for (const LastSeenRow& row : written) {
        const std::uint32_t partition = keys_.partition_of(row.user);
        const auto [found, fresh] = open.try_emplace(partition, 0);
        if (fresh ||
            commands[found->second].arguments.size() >= 2 * client_.config().keys_at_once) {
            found->second = commands.size();
            Command& command = commands.emplace_back();
            command.slot = keys_.slot(partition);
            command.script = &redis::drop_ends_script();
            command.repeatable = true;
            command.arguments = {"1", keys_.ends(partition, node_)};
        }
        std::vector<std::string>& arguments = commands[found->second].arguments;
        arguments.emplace_back(row.user.text);
        arguments.push_back(redis::encode_end(row));
    }
    std::vector<Result<Reply>> answers = co_await client_.call_all(home_, std::move(commands));
    for (const Result<Reply>& answer : answers) {
        if (!answer) {
            co_return answer.error();
        }
    }
    co_return true;
}

Task<Result<bool>> RedisSessionStore::erase(UserId user) {
    const std::uint32_t partition = keys_.partition_of(user);
    Command command;
    command.slot = keys_.slot(partition);
    command.script = &redis::erase_script();
    command.repeatable = true;
    command.arguments = {"1", keys_.record(user), keys_.index_head(partition),
                         std::string(user.text)};
    Result<Reply> answer = co_await client_.call(home_, std::move(command));
    if (!answer) {
        co_return answer.error();
    }
    co_return true;
}

}  // namespace presence
