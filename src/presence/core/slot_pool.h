#pragma once

#include "presence/base/assert.h"
#include "presence/base/chunks.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace presence {

/// Names one thing in a SlotPool for as long as it lives; a later thing in the same place has
/// another generation, so a late name is recognised as stale.
struct SlotId {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;  ///< 0: names nothing.
    explicit operator bool() const noexcept { return generation != 0; }
    friend bool operator==(SlotId, SlotId) = default;
};

/// Things of one kind at places that never move. One thread.
template <class T>
class SlotPool {
public:
    template <class... Args>
    SlotId create(Args&&... args) {
        if (free_.empty()) {
            free_.push_back(places_.size());
            places_.emplace_back();
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        Place& place = places_[slot];
        place.value = T(std::forward<Args>(args)...);
        place.used = true;
        ++place.generation;
        ++size_;
        return {slot, place.generation};
    }

    /// Null where `id` names nothing, or something that is gone.
    [[nodiscard]] T* find(SlotId id) noexcept {
        if (id.generation == 0 || id.slot >= slots()) {
            return nullptr;
        }
        Place& place = places_[id.slot];
        return place.used && place.generation == id.generation ? &place.value : nullptr;
    }

    /// Has the memory of what `id` names brought near.
    void prefetch(SlotId id) const noexcept {
        if (id.slot < slots()) {
            const auto* const begin = reinterpret_cast<const char*>(&places_[id.slot]);
            for (std::size_t at = 0; at < sizeof(Place); at += kCacheLine) {
                __builtin_prefetch(begin + at);
            }
        }
    }

    [[nodiscard]] T& at(SlotId id) noexcept {
        T* found = find(id);
        PRESENCE_ASSERT(found != nullptr);
        return *found;
    }

    /// What stands at `slot` now, and its name; null where nothing does.
    [[nodiscard]] std::pair<T*, SlotId> in(std::uint32_t slot) noexcept {
        if (slot >= slots() || !places_[slot].used) {
            return {nullptr, {}};
        }
        return {&places_[slot].value, name_of(slot)};
    }

    /// What stands at `slot`, where something does.
    [[nodiscard]] const T& on(std::uint32_t slot) const noexcept { return places_[slot].value; }
    /// Its name.
    [[nodiscard]] SlotId name_of(std::uint32_t slot) const noexcept {
        return {slot, places_[slot].generation};
    }

    void destroy(SlotId id) {
        PRESENCE_ASSERT(find(id) != nullptr);
        Place& place = places_[id.slot];
        place.value = T{};
        place.used = false;
        free_.push_back(id.slot);
        --size_;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Slots there are, used or free: all are below it.
    [[nodiscard]] std::uint32_t slots() const noexcept { return places_.size(); }

    template <class Visit>
    void for_each(Visit&& visit) {
        for (std::uint32_t slot = 0; slot < slots(); ++slot) {
            if (places_[slot].used) {
                visit(name_of(slot), places_[slot].value);
            }
        }
    }

private:
    static constexpr std::size_t kCacheLine = 64;
    struct Place {
        T value{};
        std::uint32_t generation = 0;
        bool used = false;
    };
    Chunks<Place> places_;
    std::vector<std::uint32_t> free_;
    std::size_t size_ = 0;
};

}  // namespace presence
