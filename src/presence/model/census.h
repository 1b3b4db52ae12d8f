#pragma once

#include "presence/model/presence.h"

#include <array>
#include <cstddef>

namespace presence {

/// What is open to clients of one thread.
struct OpenConnections {
    std::size_t web_sockets = 0;  ///< Those that have not said hello yet included.
    std::size_t streams = 0;
    std::size_t polls = 0;  ///< That wait.

    OpenConnections& operator+=(const OpenConnections& other) {
        web_sockets += other.web_sockets;
        streams += other.streams;
        polls += other.polls;
        return *this;
    }
};

/// How many people and sessions there are, at one moment.
struct Census {
    static constexpr std::size_t kStatuses = 7;

    /// People who are there, by the status of their own face: who is invisible stands in a row of
    /// their own, who is known only from before a restart under `unknown`. `offline` stays 0.
    std::array<std::size_t, kStatuses> by_status{};
    std::array<std::size_t, kDeviceKinds> by_device{};  ///< People with such a device there.
    std::size_t live = 0;       ///< Sessions with a connection, or that live by HTTP.
    std::size_t grace = 0;      ///< Sessions in grace.
    std::size_t observing = 0;  ///< Sessions of both kinds that count as nothing.
    std::size_t beating = 0;    ///< Sessions of both kinds that live by HTTP.

    /// A user who is there by the own face.
    void count(const Presence& presence) {
        if (presence.own.status == Status::offline) {
            return;
        }
        const Status shown = presence.doubtful ? Status::unknown : presence.own.status;
        ++by_status.at(static_cast<std::size_t>(shown));
        for (std::size_t kind = 0; kind < by_device.size(); ++kind) {
            by_device.at(kind) +=
                presence.own.devices.contains(static_cast<DeviceKind>(kind)) ? 1U : 0U;
        }
    }
    void count(const Session& session) {
        ++(session.grace_until ? grace : live);
        observing += session.counts ? 0U : 1U;
        beating += session.beats_until ? 1U : 0U;
    }

    Census& operator+=(const Census& other) {
        for (std::size_t i = 0; i < by_status.size(); ++i) {
            by_status.at(i) += other.by_status.at(i);
        }
        for (std::size_t i = 0; i < by_device.size(); ++i) {
            by_device.at(i) += other.by_device.at(i);
        }
        live += other.live;
        grace += other.grace;
        observing += other.observing;
        beating += other.beating;
        return *this;
    }
};

}  // namespace presence
