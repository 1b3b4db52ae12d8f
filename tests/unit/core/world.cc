#include "unit/core/world.h"

#include "presence/rules/version.h"

namespace presence::testing {

World::World(WorldOptions options)
    : config(options.config),
      limits(options.limits),
      disk(options.disk ? options.disk : std::make_shared<Disk>()),
      clock(disk->clock),
      scheduler(clock),
      random(options.seed),
      sessions(clock),
      bus(std::vector<Scheduler*>(options.threads, &scheduler)),
      homes(std::vector<Scheduler*>(options.threads, &scheduler)),
      journal(disk->journal, &scheduler),
      journal_writer(scheduler, clock, journal, limits, journal_counters) {
    for (std::size_t index = 0; index < options.threads; ++index) {
        threads.push_back(std::make_unique<Thread>(*this, index, options.journal, options.mirror));
    }
    std::vector<RoomDesk*> desks;
    for (const auto& thread : threads) {
        desks.push_back(&thread->shard.rooms);
    }
    for (RoomDesk* const desk : desks) {
        desk->connect(desks, std::vector<Scheduler*>(options.threads, &scheduler));
    }
    if (options.journal) {
        begin_life();
    }
    tick();
}

World::~World() = default;

World::Thread::Thread(World& world, std::size_t index, bool journal, bool mirrors)
    : store(world.sessions, &world.bus.endpoint(index), &world.scheduler),
      late(store, world.scheduler),
      profile_store(world.disk->profiles, &world.scheduler),
      shard({world.scheduler, world.clock, world.random, late, profile_store,
             world.bus.endpoint(index), journal ? &world.journal_writer : nullptr, world.config,
             world.limits, nullptr, &hooks, mirrors ? &mirror : nullptr}),
      gateway(shard) {}

void World::run_to(MonoTime end) {
    turn();
    while (scheduler.next_deadline() && *scheduler.next_deadline() <= end) {
        scheduler.run_next();
        flush();
    }
    scheduler.advance_to(end);
}

void World::turn() {
    scheduler.run_ready();
    flush();
}

void World::stall(Millis time) {
    clock.pass(time);
    for (const Client& client : beaters_) {
        beat(client);
    }
    turn();
}

Shard& World::shard_of(const UserId& user) {
    return threads[homes.index_of(user)]->shard;
}

RecordingGateway& World::gateway(const UserId& user) {
    return threads[homes.index_of(user)]->gateway;
}

AttachRequest World::request_of(const Client& client, const Connecting& how) {
    AttachRequest request;
    request.user = client->user;
    request.token_issued_at = how.token_issued_at;
    if (how.resume) {
        request.resume_id = how.resume->id;
        request.resume_hash = how.resume->secret;
    }
    request.new_resume_hash = client->secret;
    if (how.kind) {
        request.device = Device{*how.kind, "a device"};
    }
    request.observe = how.observe;
    request.active = how.active;
    request.connection = client->connection;
    return request;
}

Client World::new_client(const UserId& user, const Connecting& how) {
    auto client = std::make_shared<ClientState>();
    client->user = user;
    client->connection = gateway(user).open(user);
    for (std::uint8_t& byte : client->secret) {
        byte = static_cast<std::uint8_t>(random.next());
    }
    if (how.resume) {
        client->secret = how.resume->secret;
    }
    return client;
}

void World::take(const Client& client, const Attachment& attached) {
    client->session = attached.session;
    client->id = attached.id;
    client->resumed = attached.resumed;
    keep_beating(client);
}

Result<Client> World::try_connect(const UserId& user, const Connecting& how) {
    const Client client = new_client(user, how);
    Result<Attachment> attached = wait(service(user).attach(request_of(client, how)));
    if (!attached) {
        return attached.error();
    }
    take(client, *attached);
    turn();
    return client;
}

Client World::connect(const UserId& user, const Connecting& how) {
    Result<Client> client = try_connect(user, how);
    PRESENCE_ASSERT(client.has_value());
    return *client;
}

Client World::connect(const char* user, const Connecting& how) {
    return connect(UserId(user), how);
}

Client World::resume(const Client& old, Connecting how) {
    how.resume = old;
    return connect(old->user, how);
}

void World::beat(const Client& client) {
    if (client->beating && is_open(client)) {
        service(client->user).heartbeat(client->session, clock.now());
    }
}

void World::keep_beating(const Client& client) {
    client->beating = true;
    beaters_.push_back(client);
    beat_later(client);
}

void World::lose(const Client& client, bool sign_of_life) {
    client->beating = false;
    gateway(client->user).close(client->connection);
    wait(service(client->user).connection_lost(client->session, sign_of_life));
    turn();
}

void World::bye(const Client& client) {
    client->beating = false;
    gateway(client->user).close(client->connection);
    wait(service(client->user).end(client->session, Cause::goodbye));
    turn();
}

bool World::report(const Client& client, std::optional<Millis> ago) {
    Result<bool> changed = wait(service(client->user).report_activity(client->session, ago));
    turn();
    return changed && *changed;
}

RecordingGateway::Connection& World::connection(const Client& client) {
    return gateway(client->user).at(client->connection);
}

Result<StatusOutcome> World::declare(const UserId& user, StatusChange change, bool limited) {
    Result<StatusOutcome> outcome =
        wait(service(user).change_status(user, std::move(change), limited));
    turn();
    return outcome;
}

Result<StatusOutcome> World::declare(const UserId& user, DeclaredStatus status,
                                     std::optional<WallTime> until) {
    return declare(user, StatusChange{status, until, false, nullptr});
}

Result<StatusOutcome> World::say(const UserId& user, const std::string& text,
                                 std::optional<WallTime> until) {
    StatusChange change;
    change.sets_custom = true;
    change.custom = make_ref<const CustomStatus>(CustomStatus{text, "", until});
    return declare(user, std::move(change));
}

Result<StatusOutcome> World::declare_on(const Client& client, DeclaredStatus status,
                                        std::optional<WallTime> until, bool limited) {
    Result<StatusOutcome> outcome =
        wait(service(client->user)
                 .change_session_status(client->session,
                                        StatusChange{status, until, false, nullptr}, limited));
    turn();
    return outcome;
}

WatchRequest World::watch_request(const Client& viewer, std::vector<UserId> users,
                                  bool replace) const {
    return {viewer->connection.slot, viewer->user, std::move(users), replace};
}

std::vector<Told> World::views(Shard& shard, const std::vector<Seen>& seen) const {
    std::vector<Told> told;
    for (const Seen& one : seen) {
        told.push_back(told_of(clock.now(), shard.reader.view(one)));
    }
    return told;
}

Result<std::vector<Told>> World::try_watch(const Client& viewer, std::vector<UserId> users,
                                           bool replace) {
    Shard& home = shard_of(viewer->user);
    Result<std::vector<Seen>> seen =
        wait(home.watches.watch(watch_request(viewer, std::move(users), replace)));
    if (!seen) {
        return seen.error();
    }
    std::vector<Told> snapshot = views(home, *seen);
    turn();
    return snapshot;
}

std::vector<Told> World::watch(const Client& viewer, const std::vector<const char*>& users,
                               bool replace) {
    std::vector<UserId> ids(users.begin(), users.end());
    Result<std::vector<Told>> snapshot = try_watch(viewer, std::move(ids), replace);
    PRESENCE_ASSERT(snapshot.has_value());
    return *snapshot;
}

void World::unwatch(const Client& viewer, const std::vector<const char*>& users) {
    const std::vector<UserId> ids(users.begin(), users.end());
    shard_of(viewer->user).watches.unwatch(viewer->connection.slot, ids);
    turn();
}

void World::set_takes(const Client& viewer, bool takes) {
    gateway(viewer->user).set_takes(viewer->connection, takes);
    turn();
}

Told World::look(const std::optional<UserId>& viewer, const UserId& user) {
    Shard& home = viewer ? shard_of(*viewer) : shard();
    std::vector<UserId> one{user};
    Result<std::vector<Seen>> seen = wait(home.reader.look(viewer, std::move(one)));
    PRESENCE_ASSERT(seen.has_value());
    return views(home, *seen).front();
}

ProfileRef World::stored(const char* user) {
    MemoryProfileStore store(disk->profiles);
    std::vector<UserId> one{UserId(user)};
    Result<std::vector<ProfileRef>> loaded = run_until_complete(store.load(std::move(one)));
    return loaded ? loaded->front() : nullptr;
}

std::optional<WallTime> World::stored_last_seen(const char* user) {
    const ProfileRef profile = stored(user);
    return profile ? profile->last_seen : std::nullopt;
}

Result<ToldRoom> World::try_join(const Client& client, const char* room, const Joining& how) {
    const std::size_t before = connection(client).rooms.size();
    Result<bool> joined =
        wait(rooms(client).join({client->connection, client->id, client->user, RoomId(room),
                                 how.meta, how.observe, how.hears, ++room_requests_}));
    if (!joined) {
        return joined.error();
    }
    PRESENCE_ASSERT(connection(client).rooms.size() > before);
    const ToldRoom answer = connection(client).rooms[before];
    PRESENCE_ASSERT(answer.what == "room");
    connection(client).rooms.erase(connection(client).rooms.begin() +
                                   static_cast<std::ptrdiff_t>(before));
    turn();
    return answer;
}

ToldRoom World::join(const Client& client, const char* room, const Joining& how) {
    Result<ToldRoom> answer = try_join(client, room, how);
    PRESENCE_ASSERT(answer.has_value());
    return *answer;
}

void World::leave(const Client& client, const char* room) {
    wait(rooms(client).leave(client->connection.slot, client->id, client->user, RoomId(room)));
    turn();
}

void World::signal(const Client& client, const char* room) {
    auto message = std::make_shared<SignalMessage>();
    message->from = client->user;
    message->from_session = client->id;
    message->room = RoomId(room);
    message->kind = "typing";
    message->from_counted = rooms(client).is_counted(client->user);
    const Result<UserRecordRef> record = wait(service(client->user).record_of(client->user));
    if (record && *record && (*record)->presence.shown.status != Status::offline &&
        rooms(client).is_member(client->user, RoomId(room), client->id)) {
        shard_of(client->user).bus.publish_signal(std::move(message));
    }
    turn();
}

std::vector<std::string> World::told_rooms(const Client& client) {
    std::vector<std::string> lines;
    for (const ToldRoom& told : std::exchange(connection(client).rooms, {})) {
        lines.push_back(told.line());
    }
    return lines;
}

RoomFacts World::room_facts(const char* room) {
    const RoomId id(room);
    return threads[homes.index_of(id)]->shard.rooms.keeper().facts(id, std::nullopt, 20'000);
}

void World::set_online_rule(const char* user, Audience audience, std::vector<UserId> users) {
    PrivacySettings settings;
    settings.online = PrivacyRule{audience, UserSet(std::move(users))};
    set_rules(user, std::move(settings));
}

void World::set_last_seen_rule(const char* user, Audience audience) {
    PrivacySettings settings;
    settings.last_seen = PrivacyRule{audience, {}};
    set_rules(user, std::move(settings));
}

void World::set_rules(const char* user, PrivacySettings settings) {
    const UserId id(user);
    Result<ProfileChange> changed = wait(shard_of(id).editor.set_privacy(id, std::move(settings)));
    PRESENCE_ASSERT(changed.has_value());
    turn();
}

void World::change_blocks(const char* user, const char* other, bool block) {
    const UserId id(user);
    Result<ProfileChange> changed =
        wait(shard_of(id).editor.change_blocks(id, one_change(other, block)));
    PRESENCE_ASSERT(changed.has_value());
    turn();
}

void World::change_contacts(const char* user, const char* other, bool add) {
    const UserId id(user);
    Result<ProfileChange> changed =
        wait(shard_of(id).editor.change_contacts(id, one_change(other, add)));
    PRESENCE_ASSERT(changed.has_value());
    turn();
}

UserSetChange World::one_change(const char* other, bool add) {
    UserSetChange change;
    (add ? change.add : change.remove) = UserSet({UserId(other)});
    return change;
}

void World::begin_life() {
    Result<JournalStart> start = wait(journal.start(rules::version_floor(clock.wall_now())));
    PRESENCE_ASSERT(start.has_value());
    std::map<UserId, std::vector<Session>> by_user;
    for (OpenSession& open : start->open) {
        by_user[open.user].push_back(std::move(open.session));
    }
    for (const auto& thread : threads) {
        thread->shard.service.set_version_floor(start->version_floor);
    }
    const WallTime last_alive = start->last_alive.value_or(clock.wall_now());
    for (auto& [user, open] : by_user) {
        std::vector<Restorer::Left> left;
        left.push_back({user, std::move(open)});
        wait(shard_of(user).restorer.restore(std::move(left), last_alive));
    }
    journal_writer.start();
}

void World::tick() {
    for (const auto& thread : threads) {
        thread->shard.service.tick();
    }
    scheduler.after(PresenceService::kTick, [this] { tick(); });
}

void World::flush() {
    for (const auto& thread : threads) {
        thread->shard.watches.flush();
    }
}

void World::beat_later(const Client& client) {
    scheduler.after(config.heartbeat.interval, [this, client] {
        if (client->beating) {
            beat(client);
            beat_later(client);
        }
    });
}

}  // namespace presence::testing
