// Questions of one node to all others, and their answers, as bytes.

#include "presence/stores/redis/bytes.h"
#include "presence/stores/redis/codec.h"
#include "presence/stores/redis/codec_presence.h"

#include <memory>
#include <span>
#include <utility>

namespace presence::redis {

namespace {

/// With their number before them, so that there may be more one day.
void put_numbers(ByteWriter& out, std::span<const std::size_t> numbers) {
    out.number(numbers.size());
    for (const std::size_t number : numbers) {
        out.number(number);
    }
}

void numbers_from(ByteReader& in, std::span<std::size_t> numbers) {
    const std::uint64_t count = in.count();
    for (std::uint64_t i = 0; i < count && !in.broken(); ++i) {
        const std::uint64_t number = in.number();
        if (i < numbers.size()) {
            numbers[i] = number;
        }
    }
}

void put(ByteWriter& out, const RoomFacts& facts) {
    out.frame([&](ByteWriter& inner) {
        inner.text(facts.room.text);
        inner.number(facts.members);
        inner.number(facts.counted);
        inner.byte(facts.large ? 1 : 0);
        inner.byte(facts.exact ? 1 : 0);
        inner.byte(facts.more ? 1 : 0);
        inner.number(facts.page.size());
        for (const RoomMember& member : facts.page) {
            put(inner, member);
        }
    });
}

RoomFacts facts_from(ByteReader& outer) {
    ByteReader in = outer.frame();
    RoomFacts facts;
    facts.room = RoomId(in.text());
    facts.members = in.number();
    facts.counted = in.number();
    facts.large = in.byte() != 0;
    facts.exact = in.byte() != 0;
    facts.more = in.byte() != 0;
    for (std::uint64_t left = in.count(); in.has_next(left);) {
        facts.page.push_back(member_from(in));
    }
    if (in.broken()) {
        outer.mark_broken();
    }
    return facts;
}

void put(ByteWriter& out, const PastTransition::Faces& faces) {
    out.byte(static_cast<std::uint8_t>(faces.own));
    out.byte(static_cast<std::uint8_t>(faces.shown));
}

PastTransition::Faces faces_from(ByteReader& in) {
    PastTransition::Faces faces;
    faces.own = in.enumerator(Status::unknown);
    faces.shown = in.enumerator(Status::unknown);
    return faces;
}

void put(ByteWriter& out, const PastTransition& one) {
    out.frame([&](ByteWriter& inner) {
        inner.time(one.at);
        inner.text(one.cause);
        inner.number(one.node.value);
        inner.text(one.session.text);
        put(inner, one.before);
        put(inner, one.after);
        inner.number(one.shown_version.value);
        inner.byte(one.devices_changed ? 1 : 0);
        inner.byte(one.custom_changed ? 1 : 0);
        inner.byte(one.rules_changed ? 1 : 0);
    });
}

PastTransition transition_from(ByteReader& outer) {
    ByteReader in = outer.frame();
    PastTransition one;
    one.at = in.time();
    one.cause = std::string(in.text());
    one.node = NodeId{in.number()};
    one.session = SessionId(in.text());
    one.before = faces_from(in);
    one.after = faces_from(in);
    one.shown_version = Version{in.number()};
    one.devices_changed = in.byte() != 0;
    one.custom_changed = in.byte() != 0;
    one.rules_changed = in.byte() != 0;
    if (in.broken()) {
        outer.mark_broken();
    }
    return one;
}

}  // namespace

void put(ByteWriter& out, const RoomMember& member) {
    out.text(member.user.text);
    out.text(member.meta);
    out.time(member.joined_at);
    out.byte(member.counts ? 1 : 0);
}

RoomMember member_from(ByteReader& in) {
    RoomMember member;
    member.user = UserId(in.text());
    member.meta = std::string(in.text());
    member.joined_at = in.time();
    member.counts = in.byte() != 0;
    return member;
}

void put(ByteWriter& out, const SurveyQuestion& question) {
    out.number(question.from.value);
    out.number(question.number);
    out.byte(static_cast<std::uint8_t>(question.about));
    out.text(question.name);
    out.byte(question.after ? 1 : 0);
    out.text(question.after.value_or(""));
    out.number(question.most);
}

SurveyQuestionRef question_from(ByteReader& in) {
    auto question = std::make_shared<SurveyQuestion>();
    question->from = NodeId{in.number()};
    question->number = in.number();
    question->about = in.enumerator(SurveyQuestion::About::past);
    question->name = std::string(in.text());
    const bool has_after = in.byte() != 0;
    std::string after(in.text());
    if (has_after) {
        question->after = std::move(after);
    }
    question->most = in.number();
    return question;
}

void put(ByteWriter& out, const SurveyAnswer& answer) {
    out.number(answer.from.value);
    out.number(answer.to.value);
    out.number(answer.number);
    out.byte(answer.exact ? 1 : 0);
    put_numbers(out, answer.census.by_status);
    put_numbers(out, answer.census.by_device);
    const std::size_t sessions[]{answer.census.live, answer.census.grace, answer.census.observing,
                                 answer.census.beating};
    put_numbers(out, sessions);
    const std::size_t connections[]{answer.connections.web_sockets, answer.connections.streams,
                                    answer.connections.polls};
    put_numbers(out, connections);
    out.number(answer.rooms.size());
    for (const RoomFacts& facts : answer.rooms) {
        put(out, facts);
    }
    out.time(answer.past.since);
    out.number(answer.past.transitions.size());
    for (const PastTransition& one : answer.past.transitions) {
        put(out, one);
    }
}

SurveyAnswerRef answer_from(ByteReader& in) {
    auto answer = std::make_shared<SurveyAnswer>();
    answer->from = NodeId{in.number()};
    answer->to = NodeId{in.number()};
    answer->number = in.number();
    answer->exact = in.byte() != 0;
    numbers_from(in, answer->census.by_status);
    numbers_from(in, answer->census.by_device);
    std::size_t sessions[4]{};
    numbers_from(in, sessions);
    answer->census.live = sessions[0];
    answer->census.grace = sessions[1];
    answer->census.observing = sessions[2];
    answer->census.beating = sessions[3];
    std::size_t connections[3]{};
    numbers_from(in, connections);
    answer->connections = {connections[0], connections[1], connections[2]};
    for (std::uint64_t left = in.count(); in.has_next(left);) {
        answer->rooms.push_back(facts_from(in));
    }
    answer->past.since = in.time();
    for (std::uint64_t left = in.count(); in.has_next(left);) {
        answer->past.transitions.push_back(transition_from(in));
    }
    return answer;
}

}  // namespace presence::redis
