#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace presence::bench {

/// What the command line says. Defaults keep a scenario within 60 s.
struct Options {
    std::string server_binary;                ///< Path of `presenced`.
    std::string peers_folder;                 ///< `bench/peers` of the sources.
    std::vector<std::string> server_sets;     ///< Further key=value for the server, the last wins.
    int server_core = 0;                      ///< Core of the server and of the bare loop.
    int load_core = 1;                        ///< Core of this process, which makes the load.
    std::size_t rounds = 3;                   ///< Each measures the server, then the bare loop.
    std::chrono::milliseconds phase{3'000};   ///< Length of one measured phase.
    std::chrono::milliseconds settle{1'500};  ///< Before memory is read.
    std::optional<std::size_t> connections;   ///< Overrides what the scenario takes.
    double beats_per_second = 20'000;         ///< Heartbeats, over all connections.
    bool acked = false;                       ///< Heartbeats that ask for an answer.
};

}  // namespace presence::bench
