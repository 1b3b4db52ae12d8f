#pragma once

namespace CLI {
class App;
}

namespace presence::seeds {

/// Adds `seeds` to the program: the figures of published texts on presence, beside ours. Once it
/// was parsed, `exit_code` is 0, 1 if a figure is what it may not be, or 2 if a Redis failed.
void add_command(CLI::App& app, int& exit_code);

}  // namespace presence::seeds
