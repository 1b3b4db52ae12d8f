#pragma once

#include "presence/app/config.h"

namespace presence::app {

/// `presenced serve`: starts a node, prints `ready http://ADDRESS:PORT` on standard output once it
/// serves, and runs until SIGTERM or SIGINT, which drain it; a second one ends it at once. SIGHUP
/// reads the configuration anew. Returns the exit code. Main thread.
int serve(const Config& config, const ConfigSources& sources);

}  // namespace presence::app
