#pragma once

#include "presence/base/ids.h"

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace presence {

/// Finds the places of things by their ids. Keeps the places alone, 6 to 12 bytes a thing, and
/// reads the ids where the things are.
///
/// IdAt: `std::string_view operator()(std::uint32_t place) const`; what it gives for a place may
/// not change while the place is in here.
template <class IdAt>
class IdIndex {
public:
    explicit IdIndex(IdAt id_at) : places_(0, Hash{id_at}, Equal{id_at}) {}

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view id) const {
        const auto found = places_.find(id);
        return found == places_.end() ? std::nullopt : std::optional(*found);
    }
    void insert(std::uint32_t place) { places_.insert(place); }
    void erase(std::uint32_t place) { places_.erase(place); }
    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

private:
    struct Hash {
        using is_transparent = void;
        IdAt id_at;
        std::size_t operator()(std::uint32_t place) const { return (*this)(id_at(place)); }
        std::size_t operator()(std::string_view id) const { return IdHash{}(id); }
    };
    struct Equal {
        using is_transparent = void;
        IdAt id_at;
        bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
        bool operator()(std::string_view a, std::uint32_t b) const { return a == id_at(b); }
        bool operator()(std::uint32_t a, std::string_view b) const { return b == id_at(a); }
    };
    boost::unordered_flat_set<std::uint32_t, Hash, Equal> places_;
};

}  // namespace presence
