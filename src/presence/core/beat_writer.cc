#include "presence/core/beat_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace presence {

namespace {
/// Signs of life of that long go out together.
constexpr Millis kBetweenFlushes{100};
/// Users in one go: ten thousand a second and thread, and never in the way of what matters more.
constexpr std::size_t kAtOnce = 1'000;
}  // namespace

BeatWriter::Entry* BeatWriter::entry_of(const UserId& user) {
    const auto found = entries_.find(user);
    if (found != entries_.end()) {
        return &found->second;
    }
    if (entries_.size() >= limits_.beat_mirror) {
        ++counters_.beats_not_mirrored;
        return nullptr;
    }
    arm();
    return &entries_.try_emplace(user).first->second;
}

void BeatWriter::alive(const UserId& user, WallTime at) {
    if (Entry* const entry = entry_of(user)) {
        entry->next_at = entry->gone ? clock_.now() : entry->next_at;
        entry->at = std::max(entry->at, at);
        entry->fresh = true;
        entry->gone = false;
    }
}

void BeatWriter::gone(const UserId& user) {
    if (Entry* const entry = entry_of(user)) {
        entry->fresh = false;
        entry->gone = true;
    }
}

void BeatWriter::arm() {
    if (!std::exchange(armed_, true)) {
        scheduler_.after(kBetweenFlushes, [this] { flush(); });
    }
}

Detached BeatWriter::flush() {
    const MonoTime now = clock_.now();
    std::vector<ShownBeat> alive;
    std::vector<UserId> gone;
    boost::unordered::erase_if(entries_, [&](auto& one) {
        auto& [user, entry] = one;
        if (alive.size() + gone.size() >= kAtOnce) {
            return false;
        }
        if (entry.gone) {
            gone.push_back(user);
            return true;
        }
        if (now < entry.next_at) {
            return false;
        }
        if (!entry.fresh) {
            return true;
        }
        alive.push_back({user, entry.at});
        entry.fresh = false;
        entry.next_at = now + between_;
        return false;
    });
    const std::size_t beats = alive.size();
    const std::size_t ends = gone.size();
    if (beats + ends > 0) {
        Result<bool> written =
            co_await mirror_.write(nodes_.self, std::move(alive), std::move(gone));
        counters_.beats_mirrored += written ? beats : 0U;
        counters_.ends_mirrored += written ? ends : 0U;
        counters_.beats_not_mirrored += written ? 0U : beats + ends;
    }
    armed_ = false;
    if (!entries_.empty()) {
        arm();
    }
}

}  // namespace presence
