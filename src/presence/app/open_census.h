#pragma once

#include "presence/model/presence.h"

#include <array>
#include <cstddef>

namespace presence::app {

/// How many people and sessions a node has as everyone may know it: anybody may be let to read
/// metrics, so whoever is invisible is not here, nor are their sessions (DESIGN rule 18).
struct OpenCensus {
    static constexpr std::size_t kStatuses = 7;

    std::array<std::size_t, kStatuses> by_status{};  ///< People who are there, by public face.
    std::size_t live = 0;       ///< Sessions with a connection, or that live by HTTP.
    std::size_t grace = 0;      ///< Sessions in grace.
    std::size_t observing = 0;  ///< Sessions of both kinds that count as nothing.

    /// @param self  Sessions of other nodes are theirs to count.
    void count(const UserRecord& record, NodeId self) {
        const Presence& presence = record.presence;
        if (presence.own.status == Status::invisible) {
            return;
        }
        if (presence.shown.status != Status::offline) {
            const bool doubted = presence.doubts(presence.shown);
            const Status shown = doubted ? Status::unknown : presence.shown.status;
            ++by_status.at(static_cast<std::size_t>(shown));
        }
        for (const Session& session : record.sessions) {
            if (session.node != self) {
                continue;
            }
            ++(session.grace_until ? grace : live);
            observing += session.counts ? 0U : 1U;
        }
    }

    OpenCensus& operator+=(const OpenCensus& other) {
        for (std::size_t i = 0; i < by_status.size(); ++i) {
            by_status.at(i) += other.by_status.at(i);
        }
        live += other.live;
        grace += other.grace;
        observing += other.observing;
        return *this;
    }
};

}  // namespace presence::app
