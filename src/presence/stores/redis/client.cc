#include "presence/stores/redis/client.h"

#include "presence/base/assert.h"
#include "presence/stores/redis/client_state.h"

#include <algorithm>
#include <utility>

namespace presence::redis {

Client::State::State(RedisConfig from, const Clock& clock, TlsContext secured, Loop* shared)
    : config(std::move(from)),
      tls(std::move(secured)),
      thread(clock, shared),
      parts{thread, config, tls.get(), wire_counters, random} {}

Client::State::~State() {
    PRESENCE_ASSERT(links_.empty());
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Client>> Client::start(RedisConfig config, const Clock& clock,
                                              Loop* shared) {
    Result<TlsContext> tls = load_tls(config);
    if (!tls) {
        return tls.error();
    }
    auto state = std::make_unique<State>(std::move(config), clock, std::move(*tls), shared);
    state->thread.post([s = state.get()] { s->begin(); });
    return std::unique_ptr<Client>(new Client(std::move(state)));
}

Client::~Client() {
    stop();
}

void Client::stop() {
    state_->thread.post([s = state_.get()] { s->end(); });
    state_->thread.stop();
}

Result<bool> Client::wait_for_first_contact(Millis most) {
    if (!state_->thread.wait(state_->first_contact_made, most)) {
        return false;
    }
    return state_->first_contact_made.get();
}

Task<Result<Reply>> Client::call(Scheduler& home, Command command) {
    std::vector<Command> one;
    one.push_back(std::move(command));
    std::vector<Result<Reply>> answers = co_await call_all(home, std::move(one));
    co_return std::move(answers.front());
}

namespace {

/// Collects the answers of one call_all on the store's thread; brings them home with the last.
struct Batch {
    Scheduler& home;
    Completion<std::vector<Result<Reply>>>::Done done;
    std::vector<std::optional<Result<Reply>>> answers;
    std::size_t missing;

    void take(std::size_t index, Result<Reply> answer) {
        answers[index].emplace(std::move(answer));
        if (--missing > 0) {
            return;
        }
        std::vector<Result<Reply>> all;
        all.reserve(answers.size());
        for (std::optional<Result<Reply>>& each : answers) {
            all.push_back(std::move(*each));
        }
        home.post(
            [told = std::move(done), all = std::move(all)]() mutable { told(std::move(all)); });
    }
};

Error refusal(const char* why, std::size_t limit) {
    constexpr std::int64_t kRetryAfterMs = 1000;
    return {ErrorCode::unavailable, why, kRetryAfterMs, static_cast<std::int64_t>(limit)};
}

}  // namespace

Task<std::vector<Result<Reply>>> Client::call_all(Scheduler& home, std::vector<Command> commands) {
    std::vector<Result<Reply>> answers;
    const std::size_t count = commands.size();
    if (count == 0) {
        co_return answers;
    }
    State& state = *state_;
    if (state.under_way.fetch_add(count) + count > state.config.queue) {
        state.under_way -= count;
        state.counters.refused += count;
        for (std::size_t i = 0; i < count; ++i) {
            answers.emplace_back(refusal("too many calls wait for the store", state.config.queue));
        }
        co_return answers;
    }
    Completion<std::vector<Result<Reply>>> completion([&](auto done) {
        auto batch = std::make_shared<Batch>(
            Batch{home, std::move(done), std::vector<std::optional<Result<Reply>>>(count), count});
        state.thread.dispatch([&state, batch, commands = std::move(commands)]() mutable {
            for (std::size_t i = 0; i < commands.size(); ++i) {
                state.execute(std::move(commands[i]), [&state, batch, i](Result<Reply> answer) {
                    --state.under_way;
                    batch->take(i, std::move(answer));
                });
            }
        });
    });
    answers = co_await completion;
    co_return answers;
}

void Client::execute(Command command, UniqueFunction<void(Result<Reply>)> done) {
    state_->execute(std::move(command), std::move(done));
}

void Client::add_listener(Listener& listener) {
    state_->listeners.push_back(&listener);
}

void Client::remove_listener(Listener& listener) {
    std::erase(state_->listeners, &listener);
}

std::optional<Endpoint> Client::owner_of(std::uint16_t slot) const {
    const CommandLink* const link = state_->link_of(slot);
    return link != nullptr ? std::optional(link->endpoint()) : std::nullopt;
}

std::string Client::run_id_of(std::uint16_t slot) const {
    const CommandLink* const link = state_->link_of(slot);
    return link != nullptr && link->state() == ServerLink::State::ready ? link->facts().run_id
                                                                        : std::string();
}

void Client::note_moved(std::string_view redirection, const Endpoint& by) {
    if (const std::optional<Redirection> to = parse_redirection(redirection, by)) {
        state_->note_moved(*to);
    }
}

void Client::refresh_topology() {
    state_->refresh_topology();
}

void Client::refuse(std::string why) {
    state_->refuse(std::move(why));
}

const LinkParts& Client::link_parts() const {
    return state_->parts;
}

StoreThread& Client::thread() noexcept {
    return state_->thread;
}

const RedisConfig& Client::config() const noexcept {
    return state_->config;
}

const ClientCounters& Client::counters() const noexcept {
    return state_->counters;
}

const WireCounters& Client::wire_counters() const noexcept {
    return state_->wire_counters;
}

std::size_t Client::waiting() const noexcept {
    return state_->under_way;
}

bool Client::usable() const noexcept {
    return state_->usable;
}

bool Client::refuses_writes() const noexcept {
    return state_->refuses_writes;
}

}  // namespace presence::redis
