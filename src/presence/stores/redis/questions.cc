#include "presence/stores/redis/questions.h"

#include <map>
#include <string>

namespace presence::redis {

std::vector<Question> questions_for(const std::vector<UserId>& users, const Keys& keys,
                                    const RedisConfig& config, const char* word,
                                    const Script* script, Grouping grouping) {
    const bool apart = config.cluster || grouping == Grouping::by_partition;
    std::vector<Question> questions;
    std::map<std::uint32_t, std::size_t> open;  // Partition to the question that still has room.
    for (std::size_t i = 0; i < users.size(); ++i) {
        const std::uint32_t partition = keys.partition_of(users[i]);
        const auto [found, fresh] = open.try_emplace(apart ? partition : 0, 0);
        if (fresh || questions[found->second].places.size() >= config.keys_at_once) {
            found->second = questions.size();
            questions.push_back({{{word}, keys.slot(partition), script, true}, {}});
        }
        Question& question = questions[found->second];
        question.command.arguments.push_back(keys.record(users[i]));
        question.places.push_back(i);
    }
    if (script != nullptr) {
        for (Question& question : questions) {
            question.command.arguments.front() = std::to_string(question.places.size());
        }
    }
    return questions;
}

}  // namespace presence::redis
