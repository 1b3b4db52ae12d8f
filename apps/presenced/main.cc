// The `presenced` program: its command line.

#include "presence/app/config.h"
#include "presence/app/config_values.h"
#include "presence/app/serve.h"
#include "presence/auth/mint_token.h"
#include "presence/base/clock.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace {

using presence::app::Config;
using presence::app::ConfigSources;

/// Exit code of a command line or a configuration that cannot be meant. 1 is: sound, but it cannot
/// run (a port in use, a folder that cannot be written).
constexpr int kWrongUse = 2;

int refuse(const presence::Error& error) {
    fmt::print(stderr, "presenced: {}\n", error.message);
    return kWrongUse;
}

/// The configuration, with the files that it names looked into.
presence::Result<Config> sound_config(ConfigSources& sources) {
    sources.environment = presence::app::environment_variables();
    presence::Result<Config> config = presence::app::load_config(sources);
    if (!config) {
        return config;
    }
    presence::Result<bool> readable = presence::app::check_files(*config);
    if (!readable) {
        return readable.error();
    }
    return config;
}

int run_serve(ConfigSources sources) {
    presence::Result<Config> config = sound_config(sources);
    if (!config) {
        return refuse(config.error());
    }
    return presence::app::serve(*config, sources);
}

int run_check(ConfigSources sources) {
    presence::Result<Config> config = sound_config(sources);
    if (!config) {
        return refuse(config.error());
    }
    fmt::print("the configuration is sound\n");
    return 0;
}

int run_token(const std::string& user, const std::string& ttl, const std::string& secret) {
    presence::Result<presence::Millis> life = presence::app::parse_duration(ttl);
    if (!life) {
        return refuse({presence::ErrorCode::bad_request, "--ttl " + life.error().message, 0, 0});
    }
    presence::Result<std::string> key = presence::app::read_secret(secret);
    if (!key) {
        return refuse({presence::ErrorCode::bad_request, "--secret " + key.error().message, 0, 0});
    }
    presence::Result<std::string> token = presence::auth::mint_token(
        presence::UserId(user), *life, *key, presence::SystemClock().wall_now());
    if (!token) {
        return refuse(token.error());
    }
    fmt::print("{}\n", *token);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"presenced: who can be reached now, and when they last could"};
    app.require_subcommand(1);

    ConfigSources sources;
    CLI::App* serve = app.add_subcommand("serve", "Serve clients until SIGTERM");
    CLI::App* check = app.add_subcommand("check", "Check a configuration and say what is wrong");
    for (CLI::App* command : {serve, check}) {
        command->add_option("--config", sources.file, "TOML file");
        command->add_option("--set", sources.sets, "key=value; wins over file and environment")
            ->allow_extra_args(false);
        command->add_flag("--dev", sources.dev,
                          "Loopback only, secret and API key `dev`, any origin");
    }
    serve->add_flag("--demo", sources.demo, "Demo page with simulated people; needs --dev");

    std::string user;
    std::string ttl = "1h";
    std::string secret = "dev";
    CLI::App* token = app.add_subcommand("token", "Print a token, for trying things out");
    token->add_option("--user", user, "User id")->required();
    token->add_option("--ttl", ttl, "How long it is good for")->capture_default_str();
    token->add_option("--secret", secret, "HS256 secret, or file:PATH")->capture_default_str();

    CLI::App* config = app.add_subcommand("config", "Print all keys with defaults and units");
    CLI::App* version = app.add_subcommand("version", "Print the version");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kWrongUse;  // --help comes this way too.
    }
    if (*serve) {
        return run_serve(std::move(sources));
    }
    if (*check) {
        return run_check(std::move(sources));
    }
    if (*token) {
        return run_token(user, ttl, secret);
    }
    if (*config) {
        fmt::print("{}", presence::app::describe_keys());
    }
    if (*version) {
        fmt::print("presenced {}\n", PRESENCED_VERSION);
    }
    return 0;
}
