#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace presence::sqlite {

class Connection;

/// A prepared statement in use: bound from left to right, then stepped. Ready for its next use
/// when this goes out of scope. Does nothing once its connection has a failure.
class Statement {
public:
    Statement(Connection& connection, sqlite3_stmt* prepared)
        : connection_(connection), prepared_(prepared) {}
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    Statement& bind(std::string_view text);
    Statement& bind_blob(const void* bytes, std::size_t size);
    Statement& bind(std::int64_t number);
    Statement& bind(std::optional<std::int64_t> number);
    Statement& bind(std::optional<WallTime> time);
    Statement& bind_null();

    /// Moves to the next row. False: there is none, or the connection has a failure.
    [[nodiscard]] bool row();
    /// For statements that give no rows.
    void run();

    [[nodiscard]] std::string_view text(int column) const;  ///< Until the next `row`.
    [[nodiscard]] std::string_view blob(int column) const;  ///< Likewise.
    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] std::optional<WallTime> time(int column) const;
    [[nodiscard]] bool null(int column) const;

private:
    [[nodiscard]] bool usable() const;
    void check(int code);

    Connection& connection_;
    sqlite3_stmt* prepared_;  ///< Null: it could not be prepared, and the connection has failed.
    int bound_ = 0;
};

/// One connection to a database file, used by one thread at a time.
///
/// The first failure is kept; until it is taken, statements do nothing and give no rows, so that
/// code reads straight on and its caller looks once at the end.
class Connection {
public:
    /// Opens or creates the file, with mode 0600, in WAL mode.
    [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const std::string& path,
                                                                  Millis busy_timeout);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    /// A statement for `sql`, which must be a literal: prepared once and kept by its address. At
    /// most one in use for the same literal.
    [[nodiscard]] Statement use(const char* sql) { return Statement(*this, prepared(sql)); }

    /// One or more statements without parameters.
    void execute(const char* sql);

    [[nodiscard]] bool failed() const { return failure_.has_value(); }
    [[nodiscard]] std::optional<Error> take_failure();

    /// Some failures end the whole transaction, not only their statement.
    [[nodiscard]] bool in_transaction() const;
    /// Rows that the last statement inserted, updated or deleted.
    [[nodiscard]] std::int64_t changed_rows() const;
    /// A failure said that the file cannot be used as it is open now: open it again.
    [[nodiscard]] bool worn_out() const { return worn_out_; }

private:
    friend class Statement;

    explicit Connection(sqlite3* handle) : handle_(handle) {}
    [[nodiscard]] sqlite3_stmt* prepared(const char* sql);
    void fail(int code);

    sqlite3* handle_;
    std::unordered_map<const void*, sqlite3_stmt*> prepared_;
    std::optional<Error> failure_;
    bool worn_out_ = false;
};

}  // namespace presence::sqlite
