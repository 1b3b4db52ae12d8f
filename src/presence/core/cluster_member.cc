#include "presence/core/cluster_member.h"

#include "presence/base/log.h"
#include "presence/rules/version.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace presence {

namespace {

/// A look that finds the store away is believed that often.
constexpr Millis kSuspectEvery{5'000};
/// Looks that meet a loss ask for a renewal that often, until one tells of it.
constexpr Millis kSuspectLossEvery{250};

NodeId draw_name(Random& random) {
    NodeId name;
    while (!name) {
        name = NodeId{random.next()};
    }
    return name;
}

}  // namespace

ClusterMember::ClusterMember(Parts parts)
    : parts_(std::move(parts)), self_(draw_name(parts_.random)) {}

Task<bool> ClusterMember::start() {
    tell_threads(false, {});
    schedule(parts_.config.cluster.renew_every);
    bool renewed = co_await renew();
    if (renewed) {
        renewed = co_await renew();  // Others may wait to read that there is nothing to state.
    }
    for (std::uint32_t partition = 0; partition < parts_.registry.partitions(); ++partition) {
        kept_at_.emplace(partition, parts_.clock.now());  // Who comes now has the whole time.
    }
    check_next();
    co_return renewed;
}

Task<bool> ClusterMember::leave(bool owes) {
    stopped_ = true;
    parts_.scheduler.cancel(timer_);
    const std::vector<HeldUser> left = co_await users_in(all_partitions());
    if (owes || !left.empty()) {
        co_return false;  // The others settle what is in grace, when its time is over.
    }
    Result<bool> forgotten = co_await parts_.registry.forget(self_);
    co_return forgotten.has_value();
}

void ClusterMember::schedule(Millis wait) {
    if (stopped_) {
        return;
    }
    parts_.scheduler.cancel(timer_);
    timer_ = parts_.scheduler.after(wait, [this] { beat(); });
}

Detached ClusterMember::beat() {
    const Millis every = parts_.config.cluster.renew_every;
    // A random phase, so that nodes that began together do not go on so.
    const auto jitter = static_cast<std::int64_t>(
        parts_.random.below(static_cast<std::uint64_t>(every.count() / 10) + 1));
    schedule(every - Millis{jitter});
    co_await renew();
}

Task<bool> ClusterMember::renew() {
    const MonoTime sent_at = parts_.clock.now();
    const Millis slept = sent_at - std::exchange(beat_at_, sent_at);
    if (health_ != StoreHealth::down && slept > parts_.config.cluster.lease) {
        rename();  // Not the store, this process was away: others may have settled its death.
    }
    const WallTime sent_wall = parts_.clock.wall_now();
    const NodeId name = self_;
    NodeLease lease{self_, parts_.config.cluster.lease, leaving_, asserted_};
    Result<Membership> membership = co_await parts_.registry.renew(std::move(lease));
    if (self_ != name) {
        co_return false;  // Renamed meanwhile: what was answered is about one that is no more.
    }
    if (membership) {
        ++counters_.renewals;
        learn(*membership, sent_at, sent_wall);
        co_return true;
    }
    ++counters_.renewal_failures;
    if (membership.error().code == ErrorCode::conflict) {
        rename();
        schedule(Millis{0});
        co_return false;
    }
    set_health(StoreHealth::down);
    co_return false;
}

void ClusterMember::rename() {
    ++counters_.renamed;
    self_ = draw_name(parts_.random);
    const MonoTime last_vouched = std::exchange(lease_until_, MonoTime{});
    must_assert_ = true;  // What comes until the lease stands is kept here.
    // The store may have been away meanwhile, so nothing follows from the silence of others.
    slept_ = spares_watchers_ = true;
    asserted_.clear();
    awaited_[self_] = parts_.clock.now() + parts_.config.cluster.lease;
    log::warning(
        "renamed",
        "node={:016x}: this node did not run for longer than its lease; its sessions count "
        "again when they show life",
        self_.value);
    tell_threads(true, last_vouched);
}

void ClusterMember::keep_time(const Membership& membership, MonoTime sent_at, WallTime sent_wall) {
    // Half of the way there and back is all that can be said of when the store looked at its clock.
    const Millis half = (parts_.clock.now() - sent_at) / 2;
    const Millis off = membership.reference_now - (sent_wall + half);
    if (!parts_.clock.was_read() || std::chrono::abs(off) > half + Millis{5}) {
        parts_.clock.put_right(off);
    }
    const Millis tolerance = parts_.config.cluster.clock_tolerance;
    const Millis ahead = parts_.clock.machine_ahead();
    if (std::chrono::abs(ahead) <= tolerance) {
        warned_ahead_ = Millis{0};
        return;
    }
    ++counters_.clock_offsets;
    if (std::chrono::abs(ahead - warned_ahead_) > tolerance) {
        warned_ahead_ = ahead;
        log::warning("clock_off", "the clock is {} ms ahead of that of the store", ahead.count());
    }
}

void ClusterMember::learn(const Membership& membership, MonoTime sent_at, WallTime sent_wall) {
    keep_time(membership, sent_at, sent_wall);
    const StoreHealth health = membership.refuses_writes ? StoreHealth::degraded : StoreHealth::ok;
    const bool first = incarnation_.empty();
    const bool slept = std::exchange(slept_, false);
    const News news{
        .first = first,
        .was_down = health_ == StoreHealth::down || slept,
        .is_back = (health_ != StoreHealth::ok || slept) && health == StoreHealth::ok,
        .lost = !first && membership.incarnation != incarnation_,
        .failed_over = !first && membership.losses != losses_told_,
        .renewed_before = lease_until_ - parts_.config.cluster.lease,
    };
    incarnation_ = membership.incarnation;
    losses_told_ = membership.losses;
    version_floor_ = rules::version_floor_of_moment(membership.begun_at);
    // What happened meanwhile was kept here. (Where the store refuses writes, it is stated by
    // `is_back`.)
    const bool lapsed = lease_until_ != MonoTime{} && parts_.clock.now() >= lease_until_;
    lease_until_ = sent_at + parts_.config.cluster.lease;
    if (news.was_down || news.lost || news.failed_over) {
        // The others may find their way back to it later than this node.
        no_deaths_until_ = parts_.clock.now() + parts_.config.cluster.lease;
    }
    // A store that lost all is found to be another one in each of its parts, one after the other.
    const bool is_new_loss = news.lost || (news.failed_over && parts_.clock.now() >= loss_until_);
    if (news.lost || news.failed_over) {
        ++counters_.stores_lost;
        ++losses_;
        count_loss(news.lost);
    }
    const Others lived = others_;
    learn_who_lives(membership, news);
    // Who comes while the store is away is back with all the others.
    const bool was_missed = news.is_back && (!first || counters_.renewal_failures > 0);
    if (first && !was_missed) {
        asserted_ = incarnation_;  // There is nothing to state yet.
    }
    if (is_new_loss || was_missed || first) {
        await_all(membership, news, lived, is_new_loss);
    }
    const bool waited = !awaited_.empty();
    learn_who_has_stated(membership);
    tell_threads(false, {});
    const bool may_lack = was_missed || lapsed || must_assert_ || losses_healed_ < losses_;
    if (may_lack && health == StoreHealth::ok) {
        // After what the threads were told: this one would go ahead of it.
        parts_.scheduler.post([this] { assert_all(incarnation_); });
    } else if (waited && awaited_.empty()) {
        parts_.scheduler.post([this] { assert_all({}); });
    }
    set_health(health);
    if (first) {
        look_again_everywhere();  // Who watched before the store was reached was told `unknown`.
    }
    look_for_deaths(membership);
    if (counters_.renewals == 2 && !awaited_.empty()) {
        schedule(kSuspectLossEvery);  // Those who come together with it say so as well.
    }
}

void ClusterMember::learn_who_lives(const Membership& membership, const News& news) {
    const Others before = std::exchange(others_, {});
    live_.clear();
    for (const NodeFacts& node : membership.nodes) {
        if (node.node != self_) {
            others_[node.node] = {node.renewed_at,
                                  node.alive || parts_.clock.now() < no_deaths_until_, node.alive};
        }
        if (node.alive || node.node == self_) {
            live_.push_back(node.node);
        }
    }
    std::ranges::sort(live_);
    std::erase_if(alive_since_, [this](const auto& entry) {
        return !std::ranges::binary_search(live_, entry.first);
    });
    for (const NodeId node : live_) {
        alive_since_.try_emplace(node, parts_.clock.now());
    }
    for (const auto& [node, other] : before) {
        if (others_.contains(node)) {
            continue;
        }
        lose_memory_of_others();
        // It has taken its leave, and with it go those who were in rooms by it.
        if (!news.lost && !news.failed_over && !news.was_down) {
            forget_in_rooms(node);
        }
    }
}

MonoTime ClusterMember::death_of(WallTime renewed_at, const Membership& membership) const {
    const Millis silent = std::max(membership.reference_now - renewed_at, Millis{0});
    return parts_.clock.now() + parts_.config.death_patience() - silent;
}

void ClusterMember::await_all(const Membership& membership, const News& news, const Others& lived,
                              bool is_new_loss) {
    const Millis renew_every = parts_.config.cluster.renew_every;
    const MonoTime now = parts_.clock.now();
    // Who lives renews in that time; all are to agree 10 s after the store is back.
    awaited_until_ = now + parts_.config.cluster.lease - renew_every;
    awaited_[self_] = awaited_until_;  // Beside whom the loss before has made it wait for.
    // Of who does not, nobody can say that it holds nobody before its death is settled. It may
    // have renewed since this node last heard of it, until the store went away, or lost it.
    MonoTime last_sign = std::min(now, news.renewed_before + renew_every);
    if (news.lost) {
        last_sign = std::min(last_sign, now - (membership.reference_now - membership.begun_at));
    }
    for (const auto& [node, other] : lived) {
        if (other.leased) {
            awaited_[node] = std::max(awaited_until_, last_sign + parts_.config.death_patience());
        }
    }
    // Who lived when the store went away, only the store remembers where this one just came.
    for (std::size_t i = 0; news.first && i < membership.nodes.size(); ++i) {
        awaited_[membership.nodes[i].node] = awaited_until_;
    }
    // What others posted before an outage says nothing of what they did during it; nor before they
    // could know of a loss, where the life of the whole still has the same name.
    awaited_since_ = membership.reference_now;
    awaited_at_least_ = now;
    if (is_new_loss) {
        awaited_since_ = news.lost ? WallTime{} : membership.reference_now + renew_every;
        awaited_at_least_ = now + renew_every;
        asserted_.clear();
    } else if (news.first && counters_.renewal_failures > 0) {
        awaited_at_least_ = now + renew_every;  // It may have lost all while it was away.
    } else if (news.first) {
        awaited_since_ = WallTime{};  // It may have done so just before.
    }
}

void ClusterMember::count_loss(bool all) {
    const MonoTime now = parts_.clock.now();
    if (now >= loss_until_) {
        ++loss_;
    }
    loss_until_ = now + parts_.config.cluster.lease;
    if (all) {
        lost_all_ = loss_;
    }
}

void ClusterMember::learn_who_has_stated(const Membership& membership) {
    if (awaited_.empty()) {
        return;
    }
    const MonoTime now = parts_.clock.now();
    const WallTime in_time = membership.reference_now - (now - awaited_until_);
    for (const NodeFacts& node : membership.nodes) {
        if (node.node == self_) {
            continue;
        }
        // One that lives, and could not state them in that time, is waited for no longer.
        const bool is_late = now >= awaited_until_ && node.renewed_at >= in_time;
        if (is_late || (node.asserted == incarnation_ && node.renewed_at > awaited_since_)) {
            awaited_.erase(node.node);
        } else if (now < awaited_until_ && (node.alive || awaited_.contains(node.node))) {
            awaited_[node.node] = std::max(awaited_until_, death_of(node.renewed_at, membership));
        }
    }
    if (has_stated()) {
        awaited_.erase(self_);
    }
    std::erase_if(awaited_, [now](const auto& entry) { return entry.second <= now; });
    if (awaited_.empty()) {
        look_again_everywhere();
    }
}

bool ClusterMember::has_stated() const {
    return asserted_ == incarnation_ && parts_.clock.now() >= awaited_at_least_;
}

void ClusterMember::set_health(StoreHealth health) {
    if (std::exchange(health_, health) == health) {
        return;
    }
    log::warning("store", "the session store is {}", wire_name(health));
    if (health != StoreHealth::ok) {
        asserted_.clear();  // What happens now is kept here, and is to be stated before it counts.
    }
    spares_watchers_ = spares_watchers_ || health != StoreHealth::ok;
    tell_threads(false, {});
    parts_.on_health(health);
    parts_.scheduler.cancel(unknown_timer_);
    if (health == StoreHealth::down && parts_.config.degraded_show != DegradedShow::last_known) {
        unknown_timer_ = parts_.scheduler.after(parts_.config.cluster.unknown_after,
                                                [this] { look_again_everywhere(); });
    }
}

void ClusterMember::suspect() {
    // If the renewal went well, it is a part of the store: to go down and up with each look that
    // meets it would trouble everybody.
    const MonoTime now = parts_.clock.now();
    const bool lately = suspected_at_ != MonoTime{} && now < suspected_at_ + kSuspectEvery;
    if (health_ != StoreHealth::down && !stopped_ && !lately) {
        suspected_at_ = now;
        set_health(StoreHealth::down);
        schedule(Millis{0});
    }
}

void ClusterMember::suspect_loss() {
    const MonoTime now = parts_.clock.now();
    const bool lately =
        loss_suspected_at_ != MonoTime{} && now < loss_suspected_at_ + kSuspectLossEvery;
    if (health_ != StoreHealth::down && !stopped_ && !lately) {
        loss_suspected_at_ = now;
        schedule(Millis{0});
    }
}

void ClusterMember::look_again_everywhere() {
    spares_watchers_ = false;
    for (Shard* const shard : parts_.shards.all) {
        shard->scheduler.post([shard] {
            shard->nodes.spares_watchers = false;
            shard->watches.look_at_all_again();
            shard->rooms.look_at_all_again();
        });
    }
}

void ClusterMember::lose_memory_of_others() {
    for (Shard* const shard : parts_.shards.all) {
        shard->scheduler.post(
            [shard, now = parts_.clock.wall_now()] { shard->past.lose_others(now); });
    }
}

void ClusterMember::tell_threads(bool renamed, MonoTime last_vouched) {
    for (Shard* const shard : parts_.shards.all) {
        shard->scheduler.post(
            [shard, renamed, last_vouched, partitions = parts_.registry.partitions(),
             known = losses_told_,
             view = NodeView{health_, self_, lease_until_, others_, awaited_.empty(), loss_,
                             lost_all_, spares_watchers_, version_floor_}]() mutable {
                const bool is_back = shard->nodes.is_cut_off() && !view.is_cut_off();
                shard->losses.known = known;
                view.all_stated = view.all_stated && !shard->losses.is_behind();
                shard->nodes = std::move(view);
                shard->sessions.set_node(shard->nodes.self);
                if (renamed) {
                    shard->service.renamed(last_vouched);
                }
                if (is_back) {
                    // Nothing was heard of changed rules, nor is yet.
                    shard->cache.invalidate(PartitionSet::all(partitions));
                }
                if (renamed || is_back) {
                    shard->rooms.look_at_all_again();
                }
            });
    }
}

}  // namespace presence
