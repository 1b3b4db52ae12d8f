#include "presence/core/survey.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace presence {

namespace {

struct Share {
    Census census;
    OpenConnections connections;
};

Task<Share> count(Shard& shard) {
    co_return Share{shard.service.census(),
                    shard.readers != nullptr ? shard.readers->connections() : OpenConnections{}};
}

Task<std::vector<RoomFacts>> members_at(Shard& home, const SurveyQuestion& question) {
    std::optional<UserId> after;
    if (question.after) {
        after = UserId(*question.after);
    }
    std::vector<RoomFacts> one;
    one.push_back(home.rooms.keeper().facts(RoomId(question.name), after, question.most));
    co_return one;
}

Task<std::vector<RoomFacts>> rooms_at(Shard& shard, const SurveyQuestion& question) {
    std::optional<RoomId> after;
    if (question.after) {
        after = RoomId(*question.after);
    }
    co_return shard.rooms.keeper().rooms(question.name, after, question.most);
}

Task<Past> past_at(Shard& home, const SurveyQuestion& question) {
    co_return home.past.of(UserId(question.name));
}

/// What several nodes say of one room, as one.
class RoomSum {
public:
    explicit RoomSum(RoomId room) { sum_.room = std::move(room); }

    void add(const RoomFacts& facts) {
        holders_ += facts.members > 0 ? 1U : 0U;
        counted_by_ += facts.counted > 0 ? 1U : 0U;
        sum_.members += facts.members;
        sum_.counted += facts.counted;
        sum_.large = sum_.large || facts.large;
        sum_.exact = sum_.exact && facts.exact;
        sum_.more = sum_.more || facts.more;
        sum_.page.insert(sum_.page.end(), facts.page.begin(), facts.page.end());
    }
    [[nodiscard]] RoomFacts take(bool all_answered, std::size_t most) {
        // Lists tell who is in by several nodes; counts cannot (DESIGN rule 28).
        sum_.exact = sum_.exact && all_answered && (holders_ <= 1 || !sum_.large);
        sum_.counted_exact = all_answered && (counted_by_ <= 1 || !sum_.large);
        // Of one who is in by several nodes the latest join comes first, and stays.
        std::ranges::sort(sum_.page, [](const RoomMember& a, const RoomMember& b) {
            return a.user != b.user ? a.user < b.user : a.joined_at > b.joined_at;
        });
        const auto doubles = std::ranges::unique(sum_.page, {}, &RoomMember::user);
        sum_.page.erase(doubles.begin(), doubles.end());
        sum_.more = sum_.more || sum_.page.size() > most;
        sum_.page.resize(std::min(sum_.page.size(), most));
        return std::move(sum_);
    }

private:
    RoomFacts sum_;
    std::size_t holders_ = 0;     ///< Nodes with members,
    std::size_t counted_by_ = 0;  ///< and with some that count.
};

}  // namespace

Survey::Survey(Parts parts) : parts_(std::move(parts)), first_(*parts_.shards.all.front()) {
    first_.survey = this;
    for (Shard* const shard : parts_.shards.all) {
        shard->rooms.set_ask_others([this, shard](RoomId room) {
            return run_there<Result<RoomStatements>>(
                shard->scheduler, parts_.scheduler,
                [this, room = std::move(room)] { return room_lists(room); });
        });
    }
}

Survey::~Survey() {
    first_.survey = nullptr;
    for (Shard* const shard : parts_.shards.all) {
        shard->rooms.set_ask_others({});
    }
}

// --- What is asked -----------------------------------------------------------------------------

Task<Survey::People> Survey::people() {
    Completion<People> counted([&](Completion<People>::Done done) {
        askers_.push_back(std::move(done));
        if (askers_.size() == 1) {
            file_count();
        }
    });
    People sum = co_await counted;
    co_return sum;
}

void Survey::file_count() {
    const Millis wait = next_count_ - parts_.clock.now();
    if (wait > Millis{0}) {
        parts_.scheduler.after(wait, [this] { count_for_askers(); });
    } else {
        count_for_askers();
    }
}

Detached Survey::count_for_askers() {
    next_count_ = parts_.clock.now() + kCountEvery;
    std::vector<Completion<People>::Done> askers = std::exchange(askers_, {});
    Task<People> counting = count_all();
    const People sum = co_await counting;
    for (Completion<People>::Done& done : askers) {
        done(sum);
    }
}

Task<Survey::People> Survey::count_all() {
    Task<Heard> asking = ask({});
    const Heard heard = co_await asking;
    People sum;
    sum.nodes = heard.nodes;
    sum.exact = heard.exact;
    for (const SurveyAnswerRef& answer : heard.answers) {
        sum.census += answer->census;
        sum.connections += answer->connections;
        sum.exact = sum.exact && answer->exact;
    }
    co_return sum;
}

Task<RoomFacts> Survey::room(RoomId room, std::optional<UserId> after, std::size_t most) {
    SurveyQuestion question;
    question.about = SurveyQuestion::About::room;
    question.name = room.text;
    question.most = most;
    if (after) {
        question.after = std::move(after->text);
    }
    Task<Heard> asking = ask(std::move(question));
    const Heard heard = co_await asking;
    RoomSum sum(std::move(room));
    for (const SurveyAnswerRef& answer : heard.answers) {
        for (const RoomFacts& facts : answer->rooms) {
            sum.add(facts);
        }
    }
    co_return sum.take(heard.exact, most);
}

Task<Survey::Rooms> Survey::rooms(std::string prefix, std::optional<RoomId> after,
                                  std::size_t most) {
    SurveyQuestion question;
    question.about = SurveyQuestion::About::rooms;
    question.name = std::move(prefix);
    question.most = most + 1;
    if (after) {
        question.after = std::move(after->text);
    }
    Task<Heard> asking = ask(std::move(question));
    const Heard heard = co_await asking;
    std::map<RoomId, RoomSum> sums;
    for (const SurveyAnswerRef& answer : heard.answers) {
        for (const RoomFacts& facts : answer->rooms) {
            sums.try_emplace(facts.room, facts.room).first->second.add(facts);
        }
    }
    Rooms found;
    for (auto& [room, sum] : sums) {
        if (found.rooms.size() == most) {
            found.more = true;
            break;
        }
        found.rooms.push_back(sum.take(heard.exact, 0));
    }
    co_return found;
}

Task<Result<RoomStatements>> Survey::room_lists(RoomId room) {
    std::map<NodeId, RoomFacts> facts_of;
    std::map<NodeId, std::map<UserId, RoomMember>> members_of;
    // A list is rarely longer than one page; of a large room the first is read for its count.
    std::optional<std::string> after;
    do {
        SurveyQuestion question;
        question.about = SurveyQuestion::About::room;
        question.name = room.text;
        question.most = first_.limits.room_members + 1;
        question.after = std::exchange(after, std::nullopt);
        Task<Heard> asking = ask(std::move(question), kMostForJoins);
        const Heard heard = co_await asking;
        for (const SurveyAnswerRef& answer : heard.answers) {
            if (answer->from == first_.nodes.self) {
                continue;
            }
            facts_of.try_emplace(answer->from);
            for (const RoomFacts& facts : answer->rooms) {
                facts_of[answer->from] = facts;
                for (const RoomMember& member : facts.page) {
                    members_of[answer->from].insert_or_assign(member.user, member);
                }
                if (facts.more && !facts.large && !facts.page.empty()) {
                    const std::string last(facts.page.back().user.text);
                    after = after ? std::min(*after, last) : last;
                }
            }
        }
    } while (after);
    RoomStatements words;
    for (const auto& [node, facts] : facts_of) {
        auto word = std::make_shared<RoomStatement>();
        word->node = node;
        word->room = room;
        word->sequence = kBeforeAll;
        word->full = true;
        word->listed = !facts.large;
        word->members = std::max(facts.members, members_of[node].size());
        word->counted = facts.counted;
        for (const auto& [user, member] : members_of[node]) {
            if (word->listed) {
                word->present.push_back(member);
            }
        }
        words.push_back(std::move(word));
    }
    co_return words;
}

Task<Survey::Remembered> Survey::past(UserId user) {
    SurveyQuestion question;
    question.about = SurveyQuestion::About::past;
    question.name = std::string(user.text);
    Task<Heard> asking = ask(std::move(question));
    const Heard heard = co_await asking;
    Remembered all;
    all.complete = heard.exact;
    for (const SurveyAnswerRef& answer : heard.answers) {
        std::ranges::copy(answer->past.transitions, std::back_inserter(all.past.transitions));
        all.past.since = std::max(all.past.since, answer->past.since);
    }
    for (const auto& [node, other] : first_.nodes.others) {
        if (!other.alive) {
            all.past.since = std::max(all.past.since, other.renewed_at);  // Its memory is gone.
        }
    }
    std::ranges::stable_sort(all.past.transitions, {}, &PastTransition::at);
    co_return all;
}

// --- Asking ------------------------------------------------------------------------------------

Task<Survey::Heard> Survey::ask(SurveyQuestion question, std::size_t most) {
    question.from = first_.nodes.self;
    question.number = ++last_number_;
    const auto asked = std::make_shared<const SurveyQuestion>(std::move(question));
    if (!first_.nodes.alone() && asked_.size() < most) {
        Task<Heard> asking = ask_others(asked);
        Heard heard = co_await asking;
        co_return heard;
    }
    first_.counters.surveys_refused += first_.nodes.alone() ? 0U : 1U;
    Heard heard;
    heard.exact = first_.nodes.alone();
    SurveyAnswerRef own = co_await answer_here(asked);
    heard.answers.push_back(std::move(own));
    co_return heard;
}

Task<Survey::Heard> Survey::ask_others(SurveyQuestionRef question) {
    const std::uint64_t number = question->number;
    const MonoTime until = parts_.clock.now() + kPatience;
    Asked& waiting = asked_[number];
    for (const auto& [node, other] : first_.nodes.others) {
        if (other.alive) {
            waiting.missing.insert(node);
        }
    }
    const std::size_t with_a_lease = waiting.missing.size();
    SurveyQuestionRef sent = question;
    Result<std::size_t> asked = co_await first_.bus.ask_nodes(std::move(sent));
    asked_.at(number).heard = asked ? *asked : 0;
    SurveyAnswerRef own = co_await answer_here(question);
    co_await wait_for(number, until);

    Asked over = std::move(asked_.at(number));
    asked_.erase(number);
    Heard heard;
    heard.exact = asked.has_value() && over.missing.empty() && over.complete();
    heard.nodes = 1 + std::max(with_a_lease, over.answers.size());
    heard.answers = std::move(over.answers);
    heard.answers.insert(heard.answers.begin(), std::move(own));
    first_.counters.surveys_incomplete += heard.exact ? 0U : 1U;
    co_return heard;
}

Task<bool> Survey::wait_for(std::uint64_t number, MonoTime until) {
    Asked& waiting = asked_.at(number);
    if (waiting.complete()) {
        co_return true;
    }
    const Millis left = std::max(Millis{1}, until - parts_.clock.now());
    const Scheduler::TimerId timer =
        parts_.scheduler.after(left, [this, number] { settle(number); });
    Completion<bool> over(
        [&](Completion<bool>::Done done) { waiting.done.emplace(std::move(done)); });
    const bool complete = co_await over;
    parts_.scheduler.cancel(timer);
    co_return complete;
}

void Survey::settle(std::uint64_t number) {
    const auto found = asked_.find(number);
    if (found != asked_.end() && found->second.done) {
        Completion<bool>::Done done = std::move(*found->second.done);
        found->second.done.reset();
        done(found->second.complete());
    }
}

void Survey::on_answer(const SurveyAnswerRef& answer) {
    const auto found = asked_.find(answer->number);
    if (found == asked_.end() || answer->to != first_.nodes.self) {
        return;  // It comes too late.
    }
    Asked& waiting = found->second;
    waiting.missing.erase(answer->from);
    waiting.answers.push_back(answer);
    if (waiting.complete()) {
        settle(answer->number);
    }
}

// --- Answering ---------------------------------------------------------------------------------

void Survey::on_question(const SurveyQuestionRef& question) {
    if (question->from != first_.nodes.self) {
        answer_to(question);
    }
}

Detached Survey::answer_to(SurveyQuestionRef question) {
    SurveyAnswerRef answer = co_await answer_here(std::move(question));
    first_.bus.answer_node(std::move(answer));
}

Task<SurveyAnswerRef> Survey::answer_here(SurveyQuestionRef question) {
    auto answer = std::make_shared<SurveyAnswer>();
    answer->from = first_.nodes.self;
    answer->to = question->from;
    answer->number = question->number;
    switch (question->about) {
        case SurveyQuestion::About::people:
            co_await count_people(*answer);
            break;
        case SurveyQuestion::About::room:
            co_await look_at_room(*question, *answer);
            break;
        case SurveyQuestion::About::rooms:
            co_await look_at_rooms(*question, *answer);
            break;
        case SurveyQuestion::About::past:
            co_await look_at_past(*question, *answer);
            break;
    }
    co_return answer;
}

Task<bool> Survey::count_people(SurveyAnswer& answer) {
    if (parts_.look_over) {
        Task<bool> looking = parts_.look_over();
        answer.exact = co_await looking;
    }
    for (Shard* const shard : parts_.shards.all) {
        Task<Share> counting =
            run_there<Share>(parts_.scheduler, shard->scheduler, [shard] { return count(*shard); });
        const Share share = co_await counting;
        answer.census += share.census;
        answer.connections += share.connections;
    }
    co_return true;
}

Task<bool> Survey::look_at_room(const SurveyQuestion& question, SurveyAnswer& answer) {
    Shard& home = parts_.shards.home_of(RoomId(question.name));
    Task<std::vector<RoomFacts>> looking = run_there<std::vector<RoomFacts>>(
        parts_.scheduler, home.scheduler,
        [&home, &question] { return members_at(home, question); });
    answer.rooms = co_await looking;
    co_return true;
}

Task<bool> Survey::look_at_past(const SurveyQuestion& question, SurveyAnswer& answer) {
    Shard& home = parts_.shards.home_of(UserId(question.name));
    Task<Past> looking = run_there<Past>(parts_.scheduler, home.scheduler,
                                         [&home, &question] { return past_at(home, question); });
    answer.past = co_await looking;
    co_return true;
}

Task<bool> Survey::look_at_rooms(const SurveyQuestion& question, SurveyAnswer& answer) {
    for (Shard* const shard : parts_.shards.all) {
        Task<std::vector<RoomFacts>> looking = run_there<std::vector<RoomFacts>>(
            parts_.scheduler, shard->scheduler,
            [shard, &question] { return rooms_at(*shard, question); });
        std::vector<RoomFacts> found = co_await looking;
        std::ranges::move(found, std::back_inserter(answer.rooms));
    }
    std::ranges::sort(answer.rooms, {}, &RoomFacts::room);
    answer.rooms.resize(std::min(answer.rooms.size(), question.most));
    co_return true;
}

}  // namespace presence
