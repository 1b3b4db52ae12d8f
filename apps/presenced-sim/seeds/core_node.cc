#include "core_node.h"

#include "support/run_task.h"

#include <utility>

namespace presence::seeds {

namespace {
CoreConfig config_with(const HeartbeatConfig& heartbeat) {
    CoreConfig config;
    config.heartbeat = heartbeat;
    return config;
}
}  // namespace

CoreNode::CoreNode(const HeartbeatConfig& heartbeat, std::uint64_t seed)
    : config_(config_with(heartbeat)),
      scheduler_(clock_),
      random_(seed),
      sessions_(clock_),
      bus_({&scheduler_}),
      session_store_(sessions_, &bus_.endpoint(0), &scheduler_),
      profile_store_(profiles_, &scheduler_),
      shard_({scheduler_, clock_, random_, session_store_, profile_store_, bus_.endpoint(0),
              nullptr, config_, limits_}) {
    shard_.rooms.connect({&shard_.rooms}, {&scheduler_});
    shard_.service.set_owner(this);
    shard_.watches.set_sink(this);
    shard_.bus.set_receiver(this);
    tick();
}

CoreNode::~CoreNode() {
    shard_.bus.set_receiver(nullptr);
    shard_.watches.set_sink(nullptr);
    shard_.service.set_owner(nullptr);
}

void CoreNode::tick() {
    shard_.service.tick();
    scheduler_.after(PresenceService::kTick, [this] { tick(); });
}

void CoreNode::run(Millis time) {
    const MonoTime end = now() + time;
    scheduler_.run_ready();
    shard_.watches.flush();
    while (scheduler_.next_deadline() && *scheduler_.next_deadline() <= end) {
        scheduler_.run_next();
        shard_.watches.flush();
    }
    scheduler_.advance_to(end);
}

void CoreNode::step(Millis time) {
    scheduler_.advance(time);
}

template <class T>
T CoreNode::complete(Task<T> task) {
    // Stores in memory answer at once, and nobody else has the user's lock.
    return testing::run_until_complete(std::move(task));
}

void CoreNode::attach(Phone& phone) {
    AttachRequest request;
    request.user = phone.user;
    if (!phone.id.text.empty()) {
        request.resume_id = phone.id;
        request.resume_hash = phone.secret;
    }
    request.new_resume_hash = phone.secret;
    request.device = Device{DeviceKind::mobile, "a phone"};
    phone.connection = connections_.create(Connection{phone.user});
    request.connection = phone.connection;
    const Result<Attachment> attached = complete(shard_.service.attach(std::move(request)));
    PRESENCE_ASSERT(attached.has_value());
    phone.session = attached->session;
    phone.id = attached->id;
}

void CoreNode::lose(Phone& phone) {
    close(phone.connection);
    complete(shard_.service.connection_lost(phone.session, false));
    phone.session = {};
}

void CoreNode::leave(Phone& phone) {
    close(phone.connection);
    complete(shard_.service.end(phone.session, Cause::goodbye));
    phone.session = {};
    phone.id = {};
}

void CoreNode::watch(const Phone& viewer, std::vector<UserId> users) {
    Result<std::vector<Seen>> seen = testing::run_until_complete(
        scheduler_,
        shard_.watches.watch({viewer.connection.slot, viewer.user, std::move(users), false}));
    PRESENCE_ASSERT(seen.has_value());
}

void CoreNode::declare_busy(const UserId& user) {
    Result<StatusOutcome> outcome = complete(shard_.service.change_status(
        user, StatusChange{DeclaredStatus::busy, {}, false, nullptr}, false));
    PRESENCE_ASSERT(outcome.has_value());
}

void CoreNode::subscribe(std::vector<UserId> users) {
    Result<bool> done =
        testing::run_until_complete(scheduler_, shard_.bus.subscribe(std::move(users)));
    PRESENCE_ASSERT(done.has_value());
}

void CoreNode::close(SlotId connection) {
    shard_.watches.unwatch_all(connection.slot);
    connections_.destroy(connection);
}

void CoreNode::end_connection(SlotId connection, EndReason /*reason*/) {
    close(connection);
    if (on_closed) {
        on_closed(connection);
    }
}

void CoreNode::ping_connection(SlotId connection) {
    if (on_ping) {
        on_ping(connection);
    }
}

const UserId* CoreNode::viewer_of(std::uint32_t slot) {
    const auto [connection, id] = connections_.in(slot);
    return connection == nullptr ? nullptr : &connection->user;
}

bool CoreNode::can_take(std::uint32_t slot) {
    return connections_.in(slot).first != nullptr;
}

void CoreNode::deliver_news(std::uint32_t /*slot*/, std::span<WatchIndex::Subject* const> subjects,
                            std::span<const Verdict> verdicts) {
    for (std::size_t at = 0; on_told && at < subjects.size(); ++at) {
        const PresenceView view =
            shard_.reader.view(subjects[at]->user, &subjects[at]->news->presence, verdicts[at]);
        on_told(view.user(), view.status());
    }
}

void CoreNode::on_presence(const PresenceEventRef& event) {
    if (on_event) {
        on_event(*event);
    }
    shard_.watches.on_presence(event);
}

}  // namespace presence::seeds
