#include "presence/core/canaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace presence {

namespace {

/// A connection that no gateway has: pings and closes of it go nowhere.
constexpr SlotId kNoConnection{~std::uint32_t{0}, 1};
/// The clocks of two nodes agree by about that much, and a tick is as long.
constexpr Millis kTolerance{100};

UserId pulse_of(NodeId node) {
    return canary_named(fmt::format("pulse:{:016x}", node.value));
}

UserId mortal_of(NodeId node, std::size_t turn) {
    return canary_named(fmt::format("mortal:{:016x}:{}", node.value, turn));
}

std::uint64_t to_us(Millis time) {
    return static_cast<std::uint64_t>(std::max(time, Millis{0}).count()) * 1'000;
}

}  // namespace

Canaries::Canaries(Shard& shard, const Homes& homes, std::size_t index)
    : shard_(shard), homes_(homes), index_(index), last_tick_(shard.clock.now()) {
    shard_.watches.set_canary_sink(this);
}

Canaries::~Canaries() {
    if (running_) {
        shard_.scheduler.cancel(timer_);
    }
    shard_.watches.set_canary_sink(nullptr);
}

void Canaries::start() {
    running_ = true;
    last_tick_ = shard_.clock.now();
    tick();
}

void Canaries::stop() {
    if (!std::exchange(running_, false)) {
        return;
    }
    shard_.scheduler.cancel(timer_);
    for (std::size_t place = 0; place < watched_.size(); ++place) {
        unwatch(place);
    }
    if (pulse_) {
        mortals_.push_back(std::move(pulse_));
    }
    for (const OwnRef& own : mortals_) {
        own->dropped = true;
        if (own->session) {
            sign_out(own->session);
        }
    }
    mortals_.clear();
}

std::size_t Canaries::watches() const {
    std::size_t count = 0;
    for (std::uint32_t place = 0; place < watched_.size(); ++place) {
        count += shard_.watches.watch_count(kCanaryReader | place);
    }
    return count;
}

bool Canaries::is_home(const UserId& user) const {
    return homes_.index_of(user) == index_;
}

void Canaries::count(TruthError error) {
    ++shard_.counters.truth_errors[static_cast<std::size_t>(error)];
}

void Canaries::tick() {
    timer_ = shard_.scheduler.after(kTick, [this] { tick(); });
    const MonoTime now = shard_.clock.now();
    const NodeView& nodes = shard_.nodes;
    if (name_ != nodes.self) {
        begin_anew(nodes.self, now);
    }
    const Millis passed = now - std::exchange(last_tick_, now);
    if (!nodes.vouches(now) || nodes.health != StoreHealth::ok) {
        excuse(passed);  // What this node hears is no measure now, and it says so to its clients.
    } else if (passed > 2 * kTick) {
        excuse(passed - kTick);  // This thread did not run.
    }
    look_after_pulse(now);
    for (const OwnRef& mortal : mortals_) {
        look_after(mortal, now);
    }
    follow_nodes();
    look_for_silence(now);
}

void Canaries::begin_anew(NodeId name, MonoTime now) {
    stop();
    running_ = true;
    timer_ = shard_.scheduler.after(kTick, [this] { tick(); });
    name_ = name;
    if (is_home(pulse_of(name))) {
        pulse_ = std::make_shared<Own>();
        pulse_->user = pulse_of(name);
    }
    // As many as must take turns for one to die every minute, each offline before its next life.
    const auto turns =
        static_cast<std::size_t>(shard_.config.heartbeat.ttl / kDieEvery) + std::size_t{2};
    for (std::size_t turn = 0; turn < turns; ++turn) {
        if (!is_home(mortal_of(name, turn))) {
            continue;
        }
        mortals_.push_back(std::make_shared<Own>());
        const OwnRef& mortal = mortals_.back();
        mortal->user = mortal_of(name, turn);
        mortal->next = now + static_cast<std::int64_t>(turn) * kDieEvery;
        watch(mortal->user, name, mortal);
    }
}

void Canaries::excuse(Millis lost) {
    for (const auto& watched : watched_) {
        if (watched && watched->due_by) {
            *watched->due_by = *watched->due_by + lost;
        }
    }
}

// --- This node's own ---------------------------------------------------------------------------

void Canaries::look_after_pulse(MonoTime now) {
    if (!pulse_ || pulse_->busy) {
        return;
    }
    if (!pulse_->session || shard_.service.name_of(pulse_->session) == nullptr) {
        sign_in(pulse_);
        return;
    }
    shard_.service.heartbeat(pulse_->session, now);
    if (now >= pulse_->next) {
        pulse_->next = now + kChangeEvery;
        change(pulse_);
    }
}

void Canaries::look_after(const OwnRef& mortal, MonoTime now) {
    if (mortal->busy) {
        return;
    }
    if (mortal->dies && now > *mortal->dies + kPatience && shard_.nodes.vouches(now) &&
        !std::exchange(mortal->missed, true)) {
        count(TruthError::death_missed);
    }
    if (now < mortal->next) {
        return;
    }
    if (mortal->session && shard_.service.name_of(mortal->session) != nullptr) {
        sign_out(mortal->session);  // It should be dead for long.
    }
    mortal->session = {};
    mortal->dies.reset();
    mortal->missed = false;
    mortal->next = now + (shard_.config.heartbeat.ttl / kDieEvery + 2) * kDieEvery;
    sign_in(mortal);
}

Detached Canaries::sign_in(OwnRef own) {
    own->busy = true;
    AttachRequest request;
    request.user = own->user;
    request.device = Device{DeviceKind::bot, "canary"};
    request.connection = kNoConnection;
    Result<Attachment> attached = co_await shard_.service.attach(std::move(request));
    own->busy = false;
    if (!attached) {
        co_return;  // The one that changes tries again at the next tick, the other next time.
    }
    if (own->dropped) {
        sign_out(attached->session);
        co_return;
    }
    own->session = attached->session;
    const MonoTime now = shard_.clock.now();
    shard_.service.heartbeat(own->session, now);
    if (own == pulse_) {
        own->next = now + kChangeEvery;
    } else {
        own->dies = now + shard_.config.heartbeat.ttl;  // From now on nothing is heard of it.
    }
}

Detached Canaries::change(OwnRef own) {
    own->busy = true;
    own->flipped = !own->flipped;
    StatusChange wanted;
    wanted.status = own->flipped ? DeclaredStatus::busy : DeclaredStatus::online;
    co_await shard_.service.change_session_status(own->session, std::move(wanted), false);
    own->busy = false;
}

Detached Canaries::sign_out(SlotId session) {
    co_await shard_.service.end(session, Cause::goodbye);
}

// --- What is watched ---------------------------------------------------------------------------

bool Canaries::is_watched(NodeId node) const {
    return std::ranges::any_of(watched_, [node](const auto& watched) {
        return watched && !watched->mortal && watched->node == node;
    });
}

void Canaries::follow_nodes() {
    const NodeView& nodes = shard_.nodes;
    const auto should_be = [&](NodeId node) {
        const auto found = nodes.others.find(node);
        return nodes.alone() ? node == nodes.self
                             : found != nodes.others.end() && found->second.alive;
    };
    for (std::size_t place = 0; place < watched_.size(); ++place) {
        if (watched_[place] && !watched_[place]->mortal && !should_be(watched_[place]->node)) {
            unwatch(place);
        }
    }
    const auto add = [&](NodeId node) {
        if (is_home(pulse_of(node)) && !is_watched(node)) {
            watch(pulse_of(node), node, nullptr);
        }
    };
    if (nodes.alone()) {
        add(nodes.self);  // Nobody else could: through this process at least.
    }
    for (const auto& [node, other] : nodes.others) {
        if (other.alive) {
            add(node);
        }
    }
    for (std::size_t place = 0; place < watched_.size(); ++place) {
        if (watched_[place] && !watched_[place]->watching) {
            begin_watch(static_cast<std::uint32_t>(place));
        }
    }
}

void Canaries::watch(UserId user, NodeId node, OwnRef mortal) {
    const auto free =
        std::ranges::find_if(watched_, [](const auto& place) { return place == nullptr; });
    if (free == watched_.end() && watched_.size() >= kMostWatched) {
        return;
    }
    auto watched = std::make_unique<Watched>();
    watched->user = std::move(user);
    watched->node = node;
    watched->mortal = std::move(mortal);
    if (free != watched_.end()) {
        *free = std::move(watched);
    } else {
        watched_.push_back(std::move(watched));
    }
}

/// Under the canary's own name, as that sees it whatever rules are the default.
Detached Canaries::begin_watch(std::uint32_t place) {
    watched_[place]->watching = true;
    const UserId user = watched_[place]->user;
    WatchRequest request{kCanaryReader | place, user, {user}, false};
    Result<std::vector<Seen>> seen = co_await shard_.watches.watch(std::move(request));
    Watched* const watched = place < watched_.size() ? watched_[place].get() : nullptr;
    if (watched == nullptr || !(watched->user == user)) {
        co_return;
    }
    if (!seen) {
        watched->watching = false;
        co_return;
    }
    std::vector<const Seen*> all;
    for (const Seen& one : *seen) {
        all.push_back(&one);
    }
    deliver_seen(kCanaryReader | place, all);
}

void Canaries::unwatch(std::size_t place) {
    if (watched_[place]) {
        shard_.watches.unwatch_all(kCanaryReader | static_cast<std::uint32_t>(place));
        watched_[place].reset();
    }
}

void Canaries::look_for_silence(MonoTime now) {
    for (const auto& watched : watched_) {
        if (watched && watched->due_by && now > *watched->due_by) {
            count(TruthError::change_missed);
            *watched->due_by = *watched->due_by + kChangeEvery;
        }
    }
}

// --- What is told ------------------------------------------------------------------------------

const UserId* Canaries::viewer_of(std::uint32_t connection) {
    const std::size_t place = watcher_place(connection);
    return place < watched_.size() && watched_[place] ? &watched_[place]->user : nullptr;
}

void Canaries::deliver_news(std::uint32_t connection,
                            std::span<WatchIndex::Subject* const> subjects,
                            std::span<const Verdict> verdicts) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        const Presence& presence = subjects[i]->news->presence;
        const bool told = verdicts[i].own() && !presence.doubts(presence.own);
        hear(connection, told ? &presence.own : nullptr);
    }
}

void Canaries::deliver_seen(std::uint32_t connection, std::span<const Seen* const> seen) {
    static const Face kNeverThere;
    for (const Seen* const one : seen) {
        const Presence* const presence = one->record ? &one->record->presence : nullptr;
        const bool told = one->verdict.own() && !one->unreachable &&
                          (presence == nullptr || !presence->doubts(presence->own));
        const Face& face = presence != nullptr ? presence->own : kNeverThere;
        hear(connection, told ? &face : nullptr);
    }
}

void Canaries::hear(std::uint32_t connection, const Face* face) {
    const std::size_t place = watcher_place(connection);
    if (place >= watched_.size() || !watched_[place]) {
        return;
    }
    Watched& watched = *watched_[place];
    if (face == nullptr) {
        watched.due_by.reset();  // Nothing is claimed of it.
    } else if (watched.mortal) {
        hear_of_mortal(watched, face->status != Status::offline);
    } else if (face->status != Status::offline && face->since > watched.since) {
        hear_change(watched, *face);
    }
}

void Canaries::hear_change(Watched& watched, const Face& face) const {
    // How long before the watch it last changed says nothing.
    if (std::exchange(watched.present, true)) {
        const Millis took = shard_.clock.wall_now() - face.since;
        shard_.counters.truth_propagation.add(to_us(took));
    }
    watched.since = face.since;
    watched.due_by = shard_.clock.now() + kChangeEvery + kPatience;
}

void Canaries::hear_of_mortal(Watched& watched, bool present) {
    const bool was_present = std::exchange(watched.present, present);
    Own& mortal = *watched.mortal;
    if (present || !was_present || !mortal.dies) {
        return;
    }
    const MonoTime now = shard_.clock.now();
    const Millis late = now - *std::exchange(mortal.dies, std::nullopt);
    if (!shard_.nodes.vouches(now) || name_ != shard_.nodes.self) {
        return;  // Others have settled what this node left, as it was taken for dead.
    }
    if (late < -kTolerance) {
        count(TruthError::death_early);
    } else {
        shard_.counters.truth_lateness.add(to_us(late));
    }
}

}  // namespace presence
