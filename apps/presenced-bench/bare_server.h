#pragma once

#include <cstddef>

namespace presence::bench {

/// What a bare loop does with a message. In each case it only makes the system calls that any
/// server has to make: no frame is decoded, nothing is kept per connection but one byte.
enum class BareAnswer {
    none,    ///< Reads it.
    reply,   ///< Sends one frame of `answer_bytes` back.
    fan_out  ///< Sends one frame of `answer_bytes` to every other connection.
};

struct BareOptions {
    BareAnswer answer = BareAnswer::none;
    std::size_t answer_bytes = 0;  ///< Of the payload.
};

/// The baseline, run as a process of its own (`presenced-bench bare`): accepts on a free loopback
/// port, prints `ready http://127.0.0.1:PORT`, upgrades, greets the first message with a welcome,
/// and from then on does what `options` say. Returns only on a failure.
void run_bare_server(const BareOptions& options);

}  // namespace presence::bench
