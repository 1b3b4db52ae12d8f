#pragma once

namespace CLI {
class App;
}

namespace presence::plan {

/// Adds `plan` to the program: what a deployment needs. Once it was parsed, `exit_code` is 0, or 2
/// if a field is out of its bounds.
void add_command(CLI::App& app, int& exit_code);

}  // namespace presence::plan
