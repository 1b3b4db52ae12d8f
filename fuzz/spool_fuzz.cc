// Any bytes, as a spool file that a crash or a disk has left: it opens, gives the rows that are
// whole, takes new ones, and gives those back, too.
#include "presence/base/assert.h"
#include "presence/base/log.h"
#include "presence/stores/spool/spool_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace presence;
using namespace presence::spool;

/// In memory where there is such a folder.
std::string path_of_file() {
    const std::filesystem::path memory("/dev/shm");
    const std::filesystem::path folder =
        std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    return (folder / ("presenced-fuzz-" + std::to_string(::getpid()))).string();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    log::configure(log::Level::off, log::Format::text);
    static const std::string path = path_of_file();
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    auto opened = SpoolFile::open({.path = path});
    PRESENCE_ASSERT(opened);
    SpoolFile& file = **opened;
    const std::size_t found = file.rows();
    PRESENCE_ASSERT(file.spoiled_bytes() <= size && found <= size);
    const auto rows = file.oldest(found + 1);
    PRESENCE_ASSERT(rows && rows->size() == found);
    LastSeenRow row;
    row.user = UserId("ada");
    row.last_seen = WallTime::from_ms(1'750'000'000'000);
    PRESENCE_ASSERT(file.append({row}));
    const auto all = file.oldest(found + 1);
    PRESENCE_ASSERT(all && all->size() == found + 1);
    PRESENCE_ASSERT(all->back().user == row.user && all->back().last_seen == row.last_seen);
    PRESENCE_ASSERT(file.drop(found + 1) && file.rows() == 0);
    opened = Error{ErrorCode::internal, "", 0, 0};
    std::filesystem::remove(path);
    return 0;
}
