// How webhooks stand, what was given up, and a test call: for back ends only.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/api/request_target.h"
#include "presence/protocol/json_writer.h"

#include <charconv>

namespace presence::api {

namespace {

using protocol::ObjectWriter;

/// Adds `name` with one object for each of `all`, which `write` fills.
template <class All, class Write>
void append_list(ObjectWriter& object, std::string_view name, const All& all, Write write) {
    object.name(name);
    std::string& out = object.out();
    out.push_back('[');
    bool first = true;
    for (const auto& one : all) {
        out += first ? "" : ",";
        first = false;
        ObjectWriter inside(out);
        write(inside, one);
        inside.close();
    }
    out.push_back(']');
}

std::string encode(const WebhookFacts& facts) {
    std::string out;
    ObjectWriter object(out);
    append_list(object, "receivers", facts.targets,
                [](ObjectWriter& inside, const WebhookTargetFacts& target) {
                    inside.text("url", target.url);
                    inside.boolean("stopped", target.stopped);
                    inside.integer("delivered", static_cast<std::int64_t>(target.delivered));
                    inside.integer("failed", static_cast<std::int64_t>(target.failed));
                    if (!target.last_error.empty()) {
                        inside.text("lastError", target.last_error);
                    }
                });
    object.integer("waiting", static_cast<std::int64_t>(facts.outbox.waiting));
    object.integer("deadLetters", static_cast<std::int64_t>(facts.outbox.dead));
    object.close();
    return out;
}

std::string encode(const DeadLetters& page) {
    std::string out;
    ObjectWriter object(out);
    append_list(object, "deadLetters", page.letters,
                [](ObjectWriter& inside, const DeadLetter& letter) {
                    inside.text("id", letter.id);
                    inside.text("url", letter.target);
                    inside.integer("attempts", letter.attempts);
                    inside.integer("at", letter.at.ms());
                    inside.text("error", letter.error);
                    inside.name("events");
                    char separator = '[';
                    for (const std::string& body : letter.bodies) {
                        inside.out().push_back(separator);
                        inside.out() += body;  // JSON already.
                        separator = ',';
                    }
                    inside.out() += letter.bodies.empty() ? "[]" : "]";
                });
    if (page.next) {
        object.text("cursor", std::to_string(*page.next));
    }
    object.close();
    return out;
}

std::string encode(const std::vector<WebhookTrial>& trials) {
    std::string out;
    ObjectWriter object(out);
    append_list(object, "results", trials, [](ObjectWriter& inside, const WebhookTrial& trial) {
        inside.text("url", trial.url);
        inside.boolean("delivered", trial.delivered);
        if (trial.status != 0) {
            inside.integer("status", trial.status);
        }
        if (!trial.error.empty()) {
            inside.text("error", trial.error);
        }
    });
    object.close();
    return out;
}

/// Cursors are opaque; one that is not of ours gives everything.
std::optional<std::int64_t> number_of(const std::optional<std::string>& cursor) {
    std::int64_t number = 0;
    if (!cursor) {
        return std::nullopt;
    }
    const char* const end = cursor->data() + cursor->size();
    const auto [stopped, error] = std::from_chars(cursor->data(), end, number);
    return error == std::errc{} && stopped == end ? std::optional(number) : std::nullopt;
}

}  // namespace

Task<Calls::Answer> Calls::get_webhooks() const {
    if (parts_.webhooks == nullptr) {
        co_return not_found();
    }
    Result<WebhookFacts> facts = co_await parts_.webhooks->facts(parts_.scheduler);
    if (!facts) {
        co_return facts.error();
    }
    co_return json_answer(encode(*facts));
}

Task<Calls::Answer> Calls::list_dead_letters(const AdmittedCall& call) const {
    constexpr std::size_t kPage = 100;
    Result<std::optional<std::string>> cursor = query_value(call.request.query(), "cursor");
    if (!cursor) {
        co_return cursor.error();
    }
    if (parts_.webhooks == nullptr) {
        co_return not_found();
    }
    const std::optional<std::int64_t> after = number_of(*cursor);
    Result<DeadLetters> page =
        co_await parts_.webhooks->dead_letters(parts_.scheduler, after, kPage);
    if (!page) {
        co_return page.error();
    }
    co_return json_answer(encode(*page));
}

Task<Calls::Answer> Calls::test_webhooks() const {
    if (parts_.webhooks == nullptr) {
        co_return not_found();
    }
    Result<std::vector<WebhookTrial>> trials = co_await parts_.webhooks->test(parts_.scheduler);
    if (!trials) {
        co_return trials.error();
    }
    co_return json_answer(encode(*trials));
}

}  // namespace presence::api
