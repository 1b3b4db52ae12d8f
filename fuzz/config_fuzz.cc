// Any bytes, as an operator might write them: a configuration file, one `--set`, the URL of a
// store. What is accepted passes its own check and reads the same as it is shown; what is refused
// says no secret. The first byte chooses what the rest is.
#include "presence/app/config.h"
#include "presence/app/config_keys.h"
#include "presence/app/config_values.h"
#include "presence/base/assert.h"
#include "presence/base/log.h"
#include "presence/stores/redis/config.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

using namespace presence;
using namespace presence::app;

/// In memory where there is such a folder.
std::string path_of_file() {
    const std::filesystem::path memory("/dev/shm");
    const std::filesystem::path folder =
        std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    return (folder / ("presenced-fuzz-" + std::to_string(::getpid()) + ".toml")).string();
}

void try_file(std::string_view text) {
    static const std::string path = path_of_file();
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    const Result<Config> config = load_config({.file = path});
    std::filesystem::remove(path);
    if (config) {
        PRESENCE_ASSERT(validate(*config));
    } else {
        PRESENCE_ASSERT(!config.error().message.empty());
        PRESENCE_ASSERT(config.error().message.find('\n') == std::string::npos);
    }
}

/// A value that a key takes, shown and taken again, is shown the same.
void try_set(std::string_view text) {
    const std::size_t equals = text.find('=');
    const ConfigKey* const key = find_key(text.substr(0, equals));
    if (key == nullptr || equals == std::string_view::npos) {
        static_cast<void>(nearest_key(text.substr(0, equals)));
        return;
    }
    Config config;
    if (!key->set(config, {std::string(text.substr(equals + 1))}) || key->secret ||
        key->unit == "list of texts") {
        return;
    }
    const std::string shown = key->show(config);
    Config second;
    PRESENCE_ASSERT(key->set(second, {shown}));
    PRESENCE_ASSERT(key->show(second) == shown);
}

void try_store(std::string_view url) {
    const Result<redis::RedisConfig> config = redis::parse_redis_url(url);
    if (!config) {
        return;
    }
    PRESENCE_ASSERT(redis::is_redis_url(url));
    PRESENCE_ASSERT(!config->endpoints.empty() && config->partitions > 0);
    for (const redis::Endpoint& endpoint : config->endpoints) {
        PRESENCE_ASSERT(!endpoint.host.empty() && endpoint.port != 0);
    }
}

void try_values(std::string_view text) {
    if (const auto duration = parse_duration(text)) {
        const auto again = parse_duration(show_duration(*duration));
        PRESENCE_ASSERT(again && *again == *duration);
    }
    if (const auto number = parse_number(text)) {
        PRESENCE_ASSERT(*number <= INT64_MAX);
    }
    if (const auto real = parse_real(text)) {
        PRESENCE_ASSERT(*real > 0 && *real <= 1e9);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    log::configure(log::Level::off, log::Format::text);
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    // No file is to be read because a random text names it.
    if (size == 0 || bytes.find("file:") != std::string_view::npos) {
        return 0;
    }
    const std::string_view text = bytes.substr(1);
    switch (bytes.front()) {
        case 's':
            try_set(text);
            break;
        case 'r':
            try_store(text);
            break;
        case 'v':
            try_values(text);
            break;
        default:
            try_file(text);
            break;
    }
    return 0;
}
