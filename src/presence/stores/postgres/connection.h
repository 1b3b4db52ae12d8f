#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"
#include "presence/stores/postgres/parameters.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

struct pg_conn;
struct pg_result;

namespace presence::postgres {

/// What a statement gave: rows by number and columns by number, from 0 on. Empty after a failure.
class Rows {
public:
    explicit Rows(pg_result* result = nullptr) : result_(result) {}

    [[nodiscard]] int size() const;
    [[nodiscard]] bool empty() const { return size() == 0; }
    /// Rows that the statement inserted, updated or deleted.
    [[nodiscard]] std::int64_t affected() const;
    [[nodiscard]] std::string_view bytes(int row, int column) const;
    [[nodiscard]] std::string_view text(int row, int column) const { return bytes(row, column); }
    [[nodiscard]] std::int64_t integer(int row, int column) const;
    [[nodiscard]] std::optional<WallTime> time(int row, int column) const;
    [[nodiscard]] bool null(int row, int column) const;

private:
    struct Clear {
        void operator()(pg_result* result) const;
    };
    std::unique_ptr<pg_result, Clear> result_;
};

struct ConnectionConfig {
    std::string url;
    /// From the first attempt to a session that can be used, all hosts of the URL together.
    Millis connect_timeout{3'000};
    /// The server ends a statement after that; the connection is given up two seconds later, as
    /// then the server or the way to it is gone.
    Millis statement_timeout{5'000};
};

/// One connection to a PostgreSQL server, used by one thread at a time. Calls block that thread,
/// for the timeouts at most: libpq is used without blocking underneath.
///
/// The first failure is kept; until it is taken, statements do nothing and give no rows, so that
/// code reads straight on and its caller looks once at the end.
class Connection {
public:
    /// @retval ErrorCode::unavailable  The message says why, and never holds the password.
    [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const ConnectionConfig& config);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    /// Runs `sql`, which must be a literal: it is prepared once and kept by its address.
    Rows run(const char* sql, const Parameters& parameters = {});
    /// One or more statements without parameters.
    void execute(const char* sql);

    [[nodiscard]] bool failed() const { return failure_.has_value(); }
    [[nodiscard]] std::optional<Error> take_failure();
    /// The last failure was a deadlock or the like: the same transaction may succeed now.
    [[nodiscard]] bool worth_repeating() const { return worth_repeating_; }
    /// False: the server has closed it, or a failure showed that it must not be used again.
    [[nodiscard]] bool usable();

    /// How long this side waits for a statement, whatever the server was told. For those that may
    /// take as long as they must, such as the steps of a migration.
    Millis set_patience(Millis timeout) { return std::exchange(statement_timeout_, timeout); }

private:
    Connection(pg_conn* handle, Millis statement_timeout)
        : handle_(handle), statement_timeout_(statement_timeout) {}
    [[nodiscard]] Result<bool> finish_opening(MonoTime deadline);
    [[nodiscard]] const char* prepared(const char* sql, const Parameters& parameters);
    /// Sends what was queued and gives the last result, or the failure of the first that failed.
    Rows finish(bool sent);
    [[nodiscard]] bool wait(bool for_writing, MonoTime deadline);
    void fail(const pg_result* result);
    void lose(const char* why);

    pg_conn* handle_;
    Millis statement_timeout_;
    std::unordered_map<const void*, std::string> prepared_;
    std::optional<Error> failure_;
    bool worth_repeating_ = false;
    bool worn_out_ = false;
};

/// What is wrong with `url` as a place of a database: `postgresql://…` as libpq knows it.
/// @retval ErrorCode::bad_request  The message never holds the password.
[[nodiscard]] Result<bool> check_url(const std::string& url);

/// Which database `url` names, for people: host, port and name, no user and no password.
[[nodiscard]] std::string place_of(const std::string& url);

}  // namespace presence::postgres
