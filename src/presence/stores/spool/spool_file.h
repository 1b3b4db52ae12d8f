#pragma once

#include "presence/base/result.h"
#include "presence/ports/profile_store.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace presence::spool {

/// A file of last-seen rows that is only appended to, and emptied when all were taken out.
///
/// Each row is framed: length (4 bytes), CRC-32 of what follows (4 bytes), then the row. Numbers
/// are little-endian. A row that a crash left half written, or that a disk has spoiled, ends the
/// file: opening it cuts off what cannot be read, says so, and counts it.
///
/// Calls block. One thread, but for what says otherwise.
class SpoolFile {
public:
    struct Config {
        std::string path;
        /// Most bytes; over it rows are refused.
        std::uint64_t limit = std::uint64_t{256} << 20;
    };

    /// Opens or creates the file, with mode 0600, and counts what is in it.
    [[nodiscard]] static Result<std::unique_ptr<SpoolFile>> open(Config config);
    SpoolFile(const SpoolFile&) = delete;
    SpoolFile& operator=(const SpoolFile&) = delete;
    ~SpoolFile();

    /// Writes all rows or none; on the disk (fdatasync) when it returns.
    [[nodiscard]] Result<bool> append(const std::vector<LastSeenRow>& rows);
    [[nodiscard]] Result<std::vector<LastSeenRow>> oldest(std::size_t most);
    [[nodiscard]] Result<bool> drop(std::size_t count);

    /// Rows in it. Any thread.
    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    /// Bytes that opening cut off.
    [[nodiscard]] std::uint64_t spoiled_bytes() const noexcept { return spoiled_; }

private:
    /// One row and where the next begins.
    struct Framed {
        LastSeenRow row;
        std::uint64_t next = 0;
    };

    SpoolFile(Config config, int file) : config_(std::move(config)), file_(file) {}
    [[nodiscard]] Result<bool> count_rows();
    /// Up to `most` rows from `from` on; stops before the first that cannot be read.
    [[nodiscard]] Result<std::vector<Framed>> read(std::uint64_t from, std::size_t most) const;
    [[nodiscard]] Error failure(const char* what) const;

    const Config config_;
    int file_;
    std::uint64_t begin_ = 0;  ///< Of the oldest row that was not dropped.
    std::uint64_t end_ = 0;
    std::atomic<std::size_t> rows_ = 0;
    std::uint64_t spoiled_ = 0;
};

/// CRC-32 as in zlib and Ethernet.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes) noexcept;

}  // namespace presence::spool
