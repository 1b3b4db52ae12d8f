// Plays every file of a corpus once, where there is no libFuzzer: `fuzz_replay TARGET FOLDER...`.
// So each build holds to what fuzzing has found.
#include "replay_targets.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

int play(Target* target, const std::filesystem::path& folder) {
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string bytes{std::istreambuf_iterator<char>(file), {}};
            std::fprintf(stderr, "%s\n", entry.path().c_str());
            target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
            ++files;
        }
    }
    return files;
}

}  // namespace

int main(int count, char** arguments) {
    for (const auto& [name, target] : kTargets) {
        if (count > 2 && std::strcmp(arguments[1], name) == 0) {
            int files = 0;
            for (int i = 2; i < count; ++i) {
                files += play(target, arguments[i]);
            }
            std::printf("%s: %d files\n", name, files);
            return files > 0 ? 0 : 1;
        }
    }
    std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER...\n");
    return 2;
}
