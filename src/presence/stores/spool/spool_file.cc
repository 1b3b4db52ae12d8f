#include "presence/stores/spool/spool_file.h"

#include "presence/base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace presence::spool {

namespace {

constexpr std::size_t kFrame = 8;  ///< Length and CRC.
constexpr std::size_t kLongestRow = 4096;
constexpr std::size_t kChunk = 256 * 1024;
/// Of a row; later formats only add fields at its end.
constexpr std::uint8_t kFormat = 1;

template <class Number>
void put(std::string& to, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) {
        to.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i)));
    }
}

/// Takes numbers and text off the front of some bytes; asking for more than there is fails.
class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    template <class Number>
    Number number() {
        std::uint64_t number = 0;
        const std::string_view taken = text(sizeof(Number));
        for (std::size_t i = 0; i < taken.size(); ++i) {
            number |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
        }
        return static_cast<Number>(number);
    }
    std::string_view text(std::size_t size) {
        failed_ = failed_ || size > bytes_.size();
        const std::string_view taken = bytes_.substr(0, failed_ ? 0 : size);
        bytes_.remove_prefix(taken.size());
        return taken;
    }
    [[nodiscard]] bool failed() const { return failed_; }

private:
    std::string_view bytes_;
    bool failed_ = false;
};

std::string encode(const LastSeenRow& row) {
    std::string bytes;
    put(bytes, kFormat);
    put(bytes, static_cast<std::uint16_t>(row.user.text.size()));
    bytes += row.user.text;
    put(bytes, static_cast<std::uint8_t>(row.last_seen ? 1 : 0));
    put(bytes, row.last_seen.value_or(WallTime{}).ms());
    put(bytes, row.own_version.value);
    put(bytes, row.shown_version.value);
    put(bytes, row.written_at.ms());
    return bytes;
}

std::optional<LastSeenRow> decode(std::string_view bytes) {
    Reader reader(bytes);
    LastSeenRow row;
    const auto format = reader.number<std::uint8_t>();
    row.user = UserId(reader.text(reader.number<std::uint16_t>()));
    const bool seen = reader.number<std::uint8_t>() != 0;
    const WallTime last_seen = WallTime::from_ms(reader.number<std::int64_t>());
    row.last_seen = seen ? std::optional(last_seen) : std::nullopt;
    row.own_version = Version{reader.number<std::uint64_t>()};
    row.shown_version = Version{reader.number<std::uint64_t>()};
    row.written_at = WallTime::from_ms(reader.number<std::int64_t>());
    return reader.failed() || format == 0 ? std::nullopt : std::optional(std::move(row));
}

constexpr std::array<std::uint32_t, 256> crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
        }
        table.at(i) = crc;
    }
    return table;
}

bool write_all(int file, std::string_view bytes, std::uint64_t at) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
        at += static_cast<std::uint64_t>(written);
    }
    return true;
}

/// A new file is only there after a crash if its folder was written too.
void sync_folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened >= 0) {
        ::fsync(opened);
        ::close(opened);
    }
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) noexcept {
    static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const char byte : bytes) {
        crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU] ^ (crc >> 8U);
    }
    return ~crc;
}

Error SpoolFile::failure(const char* what) const {
    constexpr std::int64_t kRetryAfterMs = 1000;
    return {ErrorCode::unavailable,
            fmt::format("{} {}: {}", what, config_.path, std::strerror(errno)), kRetryAfterMs, 0};
}

Result<std::unique_ptr<SpoolFile>> SpoolFile::open(Config config) {
    constexpr mode_t kOwnerOnly = 0600;
    const int file = ::open(config.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
    std::unique_ptr<SpoolFile> spool(new SpoolFile(std::move(config), file));
    if (file < 0) {
        return spool->failure("cannot open the spool");
    }
    sync_folder_of(spool->config_.path);
    Result<bool> counted = spool->count_rows();
    if (!counted) {
        return counted.error();
    }
    return spool;
}

SpoolFile::~SpoolFile() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

Result<bool> SpoolFile::count_rows() {
    constexpr std::size_t kAtOnce = 1000;
    while (true) {
        Result<std::vector<Framed>> some = read(end_, kAtOnce);
        if (!some) {
            return some.error();
        }
        if (some->empty()) {
            break;
        }
        rows_ += some->size();
        end_ = some->back().next;
    }
    struct stat facts {};
    if (::fstat(file_, &facts) != 0) {
        return failure("cannot look at the spool");
    }
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    if (size > end_) {
        spoiled_ = size - end_;
        log::warning("spool_cut", "{}: {} rows are whole, {} bytes behind them are not and go",
                     config_.path, rows(), spoiled_);
        if (::ftruncate(file_, static_cast<off_t>(end_)) != 0) {
            return failure("cannot cut the spool");
        }
    }
    return true;
}

Result<std::vector<SpoolFile::Framed>> SpoolFile::read(std::uint64_t from, std::size_t most) const {
    std::string bytes(kChunk, '\0');
    std::vector<Framed> rows;
    ssize_t got = 0;
    do {
        got = ::pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(from));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return failure("cannot read the spool");
    }
    std::string_view left(bytes.data(), static_cast<std::size_t>(got));
    while (rows.size() < most && left.size() >= kFrame) {
        Reader frame(left);
        const auto length = frame.number<std::uint32_t>();
        const auto crc = frame.number<std::uint32_t>();
        if (length > kLongestRow || length > left.size() - kFrame) {
            break;
        }
        const std::string_view row = left.substr(kFrame, length);
        std::optional<LastSeenRow> decoded = crc32(row) == crc ? decode(row) : std::nullopt;
        if (!decoded) {
            break;
        }
        left.remove_prefix(kFrame + length);
        from += kFrame + length;
        rows.push_back({std::move(*decoded), from});
    }
    return rows;
}

Result<bool> SpoolFile::append(const std::vector<LastSeenRow>& rows) {
    std::string bytes;
    for (const LastSeenRow& row : rows) {
        const std::string encoded = encode(row);
        put(bytes, static_cast<std::uint32_t>(encoded.size()));
        put(bytes, crc32(encoded));
        bytes += encoded;
    }
    if (end_ + bytes.size() > config_.limit) {
        return Error{ErrorCode::limit_exceeded, fmt::format("the spool {} is full", config_.path),
                     0, static_cast<std::int64_t>(config_.limit)};
    }
    if (!write_all(file_, bytes, end_) || ::fdatasync(file_) != 0) {
        const Error error = failure("cannot write the spool");
        static_cast<void>(::ftruncate(file_, static_cast<off_t>(end_)));
        return error;
    }
    end_ += bytes.size();
    rows_ += rows.size();
    return true;
}

Result<std::vector<LastSeenRow>> SpoolFile::oldest(std::size_t most) {
    Result<std::vector<Framed>> framed = read(begin_, std::min<std::size_t>(most, rows_));
    if (!framed) {
        return framed.error();
    }
    if (framed->empty() && rows_ > 0) {
        // It was whole when it was opened or written, so the disk has lost it since.
        log::error("spool_spoiled", "{}: {} rows cannot be read any more", config_.path, rows());
        spoiled_ += end_ - begin_;
        static_cast<void>(drop(rows_));
    }
    std::vector<LastSeenRow> rows;
    rows.reserve(framed->size());
    for (Framed& one : *framed) {
        rows.push_back(std::move(one.row));
    }
    return rows;
}

Result<bool> SpoolFile::drop(std::size_t count) {
    if (count < rows_) {
        while (count > 0) {
            Result<std::vector<Framed>> gone = read(begin_, count);
            if (!gone) {
                return gone.error();
            }
            if (gone->empty()) {
                return true;  // oldest() says what has become of them.
            }
            begin_ = gone->back().next;
            rows_ -= gone->size();
            count -= gone->size();
        }
        return true;
    }
    if (::ftruncate(file_, 0) != 0) {
        return failure("cannot empty the spool");
    }
    begin_ = 0;
    end_ = 0;
    rows_ = 0;
    return true;
}

}  // namespace presence::spool
