#include "presence/stores/sqlite/connection.h"

#include "presence/base/assert.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace presence::sqlite {

namespace {

int primary(int code) {
    constexpr int kPrimaryBits = 0xff;
    return code & kPrimaryBits;
}

/// What is not a mistake in our own SQL can pass: a lock, a full disk, a file system in trouble.
ErrorCode code_for(int code) {
    switch (primary(code)) {
        case SQLITE_ERROR:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_MISUSE:
        case SQLITE_RANGE:
        case SQLITE_TOOBIG:
            return ErrorCode::internal;
        default:
            return ErrorCode::unavailable;
    }
}

Error error_for(sqlite3* handle, int code) {
    constexpr std::int64_t kRetryAfterMs = 1000;
    const ErrorCode kind = code_for(code);
    return {kind,
            fmt::format("SQLite: {} ({})",
                        handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code), code),
            kind == ErrorCode::unavailable ? kRetryAfterMs : 0, 0};
}

/// Creates the file before SQLite does, as it would let others read it. The files beside it get
/// the same mode from SQLite. An existing one is not opened: closing it would drop the locks that
/// this process holds on it.
void make_private(const std::string& path) {
    constexpr mode_t kOwnerOnly = 0600;
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kOwnerOnly);
    if (file >= 0) {
        ::close(file);
    } else {
        static_cast<void>(::chmod(path.c_str(), kOwnerOnly));
    }
}

}  // namespace

Statement::~Statement() {
    if (prepared_ != nullptr) {
        sqlite3_reset(prepared_);
        sqlite3_clear_bindings(prepared_);
    }
}

bool Statement::usable() const {
    return prepared_ != nullptr && !connection_.failed();
}

void Statement::check(int code) {
    if (code != SQLITE_OK) {
        connection_.fail(code);
    }
}

Statement& Statement::bind(std::string_view text) {
    if (usable()) {
        // Empty text is not null, though its view may point nowhere.
        check(sqlite3_bind_text(prepared_, ++bound_, text.empty() ? "" : text.data(),
                                static_cast<int>(text.size()), SQLITE_TRANSIENT));
    }
    return *this;
}

Statement& Statement::bind_blob(const void* bytes, std::size_t size) {
    if (usable()) {
        check(sqlite3_bind_blob(prepared_, ++bound_, bytes, static_cast<int>(size),
                                SQLITE_TRANSIENT));
    }
    return *this;
}

Statement& Statement::bind(std::int64_t number) {
    if (usable()) {
        check(sqlite3_bind_int64(prepared_, ++bound_, number));
    }
    return *this;
}

Statement& Statement::bind(std::optional<std::int64_t> number) {
    return number ? bind(*number) : bind_null();
}

Statement& Statement::bind(std::optional<WallTime> time) {
    return time ? bind(time->ms()) : bind_null();
}

Statement& Statement::bind_null() {
    if (usable()) {
        check(sqlite3_bind_null(prepared_, ++bound_));
    }
    return *this;
}

bool Statement::row() {
    if (!usable()) {
        return false;
    }
    const int code = sqlite3_step(prepared_);
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code != SQLITE_DONE) {
        connection_.fail(code);
    }
    return false;
}

void Statement::run() {
    const bool gave_row = row();
    PRESENCE_ASSERT(!gave_row);
}

std::string_view Statement::text(int column) const {
    const void* bytes = sqlite3_column_text(prepared_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(prepared_, column));
    return bytes == nullptr ? std::string_view()
                            : std::string_view(static_cast<const char*>(bytes), size);
}

std::string_view Statement::blob(int column) const {
    const void* bytes = sqlite3_column_blob(prepared_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(prepared_, column));
    return bytes == nullptr ? std::string_view()
                            : std::string_view(static_cast<const char*>(bytes), size);
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(prepared_, column);
}

std::optional<WallTime> Statement::time(int column) const {
    return null(column) ? std::nullopt : std::optional(WallTime::from_ms(integer(column)));
}

bool Statement::null(int column) const {
    return sqlite3_column_type(prepared_, column) == SQLITE_NULL;
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Millis busy_timeout) {
    make_private(path);
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(
        path.c_str(), &handle,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
        nullptr);
    std::unique_ptr<Connection> connection(new Connection(handle));
    if (code == SQLITE_OK) {
        sqlite3_busy_timeout(handle, static_cast<int>(busy_timeout.count()));
        // NORMAL: a crash of this process loses nothing, one of the machine at most the last
        // commits; what must outlive that too is written with FULL (see Access::durable_write).
        // A small cache of pages: the kernel keeps them too, and rows are looked up by their keys.
        connection->execute(
            "PRAGMA journal_mode = WAL;"
            "PRAGMA synchronous = NORMAL;"
            "PRAGMA foreign_keys = ON;"
            "PRAGMA cache_size = -512;"
            "PRAGMA journal_size_limit = 67108864;");
    } else {
        connection->fail(code);
    }
    if (std::optional<Error> failure = connection->take_failure()) {
        failure->message = fmt::format("cannot open the database {}: {}", path, failure->message);
        return *std::move(failure);
    }
    return connection;
}

Connection::~Connection() {
    for (const auto& [sql, statement] : prepared_) {
        sqlite3_finalize(statement);
    }
    sqlite3_close(handle_);
}

void Connection::execute(const char* sql) {
    if (failed()) {
        return;
    }
    const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
        fail(code);
    }
}

std::optional<Error> Connection::take_failure() {
    return std::exchange(failure_, std::nullopt);
}

bool Connection::in_transaction() const {
    return sqlite3_get_autocommit(handle_) == 0;
}

std::int64_t Connection::changed_rows() const {
    return sqlite3_changes64(handle_);
}

sqlite3_stmt* Connection::prepared(const char* sql) {
    if (failed()) {
        return nullptr;
    }
    const auto found = prepared_.find(sql);
    if (found != prepared_.end()) {
        PRESENCE_ASSERT(sqlite3_stmt_busy(found->second) == 0);
        return found->second;
    }
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) {
        fail(code);
        return nullptr;
    }
    prepared_.emplace(sql, statement);
    return statement;
}

void Connection::fail(int code) {
    if (failed()) {
        return;
    }
    failure_ = error_for(handle_, code);
    switch (primary(code)) {
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_READONLY:
            worn_out_ = true;
            break;
        default:
            break;
    }
}

}  // namespace presence::sqlite
