#include "presence/stores/postgres/connection.h"

#include "presence/base/assert.h"
#include "presence/base/clock.h"
#include "presence/base/one_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <libpq-fe.h>
#include <poll.h>
#include <utility>

namespace presence::postgres {

namespace {

constexpr std::int64_t kRetryAfterMs = 1000;
constexpr int kBinary = 1;

/// The clock of deadlines towards the server; nothing that people see depends on it.
MonoTime mono_now() {
    return SystemClock().now();
}

Error unavailable(std::string message) {
    return {ErrorCode::unavailable, std::move(message), kRetryAfterMs, 0};
}

struct Sqlstate {
    std::string_view code;
    [[nodiscard]] bool in_class(std::string_view of) const { return code.starts_with(of); }
};

/// What is not a mistake in our own SQL can pass: a restart, a full disk, a lock, a fail-over.
ErrorCode code_for(Sqlstate state) {
    constexpr std::string_view kNotAllowed = "42501";  // Rights can be granted while we run.
    const bool mistake = state.in_class("22") || state.in_class("23") || state.in_class("42") ||
                         state.in_class("26");
    return mistake && state.code != kNotAllowed ? ErrorCode::internal : ErrorCode::unavailable;
}

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

}  // namespace

void Rows::Clear::operator()(pg_result* result) const {
    PQclear(result);
}

int Rows::size() const {
    return PQntuples(result_.get());
}

std::int64_t Rows::affected() const {
    const char* count = result_ ? PQcmdTuples(result_.get()) : "";
    return *count == '\0' ? 0 : std::stoll(count);
}

std::string_view Rows::bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::integer(int row, int column) const {
    return read_integer(bytes(row, column));
}

std::optional<WallTime> Rows::time(int row, int column) const {
    return null(row, column) ? std::nullopt
                             : std::optional(WallTime::from_ms(integer(row, column)));
}

bool Rows::null(int row, int column) const {
    return PQgetisnull(result_.get(), row, column) != 0;
}

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionConfig& config) {
    // Before the URL stands what it may overrule, behind it what holds in any case.
    constexpr std::array kKeywords{"fallback_application_name",
                                   "keepalives_idle",
                                   "keepalives_interval",
                                   "keepalives_count",
                                   "tcp_user_timeout",
                                   "target_session_attrs",
                                   "dbname",
                                   "client_encoding"};
    const std::array values{"presenced",        "10",  "5", "3", "15000", "read-write",
                            config.url.c_str(), "UTF8"};
    std::array<const char*, kKeywords.size() + 1> keywords{};
    std::array<const char*, values.size() + 1> texts{};
    std::ranges::copy(kKeywords, keywords.begin());
    std::ranges::copy(values, texts.begin());
    pg_conn* const handle = PQconnectStartParams(keywords.data(), texts.data(), 1);
    if (handle == nullptr) {
        return unavailable("no memory for a connection");
    }
    std::unique_ptr<Connection> connection(new Connection(handle, config.statement_timeout));
    Result<bool> opened = connection->finish_opening(mono_now() + config.connect_timeout);
    if (!opened) {
        return opened.error();
    }
    return connection;
}

Result<bool> Connection::finish_opening(MonoTime deadline) {
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (PQstatus(handle_) == CONNECTION_BAD || next == PGRES_POLLING_FAILED) {
            return unavailable(on_one_line(PQerrorMessage(handle_)));
        }
        if (!wait(next == PGRES_POLLING_WRITING, deadline)) {
            return unavailable("the server did not answer in time");
        }
        next = PQconnectPoll(handle_);
    }
    const std::string_view encoding = PQparameterStatus(handle_, "server_encoding");
    if (encoding != "UTF8") {
        return unavailable(
            fmt::format("the encoding of the database is {}, it must be UTF8", encoding));
    }
    PQsetnonblocking(handle_, 1);
    execute(fmt::format("SET statement_timeout = {0}; SET lock_timeout = {0};"
                        "SET idle_in_transaction_session_timeout = {1}; SET TIME ZONE 'UTC';"
                        "SET client_min_messages = warning",
                        statement_timeout_.count(), 2 * statement_timeout_.count())
                .c_str());
    if (std::optional<Error> failure = take_failure()) {
        return *std::move(failure);
    }
    return true;
}

Connection::~Connection() {
    PQfinish(handle_);
}

bool Connection::wait(bool for_writing, MonoTime deadline) {
    pollfd socket{PQsocket(handle_), static_cast<short>(POLLIN | (for_writing ? POLLOUT : 0)), 0};
    while (true) {
        const Millis left = deadline - mono_now();
        if (left <= Millis{0} || socket.fd < 0) {
            return false;
        }
        const int ready = ::poll(&socket, 1, static_cast<int>(left.count()));
        if (ready > 0) {
            return true;
        }
    }
}

Rows Connection::run(const char* sql, const Parameters& parameters) {
    if (failed()) {
        return Rows();
    }
    const char* const name = prepared(sql, parameters);
    if (name == nullptr) {
        return Rows();
    }
    const std::vector<const char*> values = parameters.values();
    const std::vector<int> lengths = parameters.lengths();
    const std::vector<int> formats(values.size(), kBinary);
    return finish(PQsendQueryPrepared(handle_, name, parameters.count(), values.data(),
                                      lengths.data(), formats.data(), kBinary) == 1);
}

void Connection::execute(const char* sql) {
    if (!failed()) {
        static_cast<void>(finish(PQsendQuery(handle_, sql) == 1));
    }
}

const char* Connection::prepared(const char* sql, const Parameters& parameters) {
    const auto found = prepared_.find(sql);
    if (found != prepared_.end()) {
        return found->second.c_str();
    }
    const std::string name = fmt::format("s{}", prepared_.size() + 1);
    static_cast<void>(finish(PQsendPrepare(handle_, name.c_str(), sql, parameters.count(),
                                           parameters.types().data()) == 1));
    return failed() ? nullptr : prepared_.emplace(sql, name).first->second.c_str();
}

Rows Connection::finish(bool sent) {
    if (!sent) {
        lose(PQerrorMessage(handle_));
        return Rows();
    }
    constexpr Millis kSlack{2'000};
    const MonoTime deadline = mono_now() + statement_timeout_ + kSlack;
    for (int unsent = PQflush(handle_); unsent != 0; unsent = PQflush(handle_)) {
        if (unsent < 0 || !wait(true, deadline) || PQconsumeInput(handle_) == 0) {
            lose(unsent < 0 ? PQerrorMessage(handle_) : "the server did not take a statement");
            return Rows();
        }
    }
    Rows last;
    while (true) {
        while (PQisBusy(handle_) != 0) {
            if (!wait(false, deadline)) {
                lose("the server did not answer in time");
                return Rows();
            }
            if (PQconsumeInput(handle_) == 0) {
                lose(PQerrorMessage(handle_));
                return Rows();
            }
        }
        pg_result* const result = PQgetResult(handle_);
        if (result == nullptr) {
            return failed() ? Rows() : std::move(last);
        }
        last = Rows(result);
        const ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && !failed()) {
            fail(result);
        }
    }
}

void Connection::fail(const pg_result* result) {
    const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const Sqlstate sqlstate{state == nullptr ? "08000" : state};
    const ErrorCode code = code_for(sqlstate);
    failure_ = Error{code,
                     fmt::format("PostgreSQL: {} ({})", on_one_line(PQresultErrorMessage(result)),
                                 sqlstate.code),
                     code == ErrorCode::unavailable ? kRetryAfterMs : 0, 0};
    worth_repeating_ = sqlstate.code == "40001" || sqlstate.code == "40P01";
    // A server that is shutting down, or that became a stand-by, is left.
    worn_out_ = worn_out_ || sqlstate.in_class("08") || sqlstate.in_class("57P") ||
                sqlstate.code == "25006" || sqlstate.in_class("26") ||
                PQstatus(handle_) == CONNECTION_BAD;
}

void Connection::lose(const char* why) {
    worn_out_ = true;
    worth_repeating_ = false;
    if (!failed()) {
        failure_ = unavailable("PostgreSQL: " + on_one_line(why));
    }
}

std::optional<Error> Connection::take_failure() {
    return std::exchange(failure_, std::nullopt);
}

bool Connection::usable() {
    // What arrives between statements is a notice, or the end: of which a server that shuts down
    // says why, so that there is something to read before it.
    pollfd socket{PQsocket(handle_), POLLIN, 0};
    while (!worn_out_ && ::poll(&socket, 1, 0) > 0) {
        worn_out_ = PQconsumeInput(handle_) == 0;
    }
    return !worn_out_ && PQstatus(handle_) == CONNECTION_OK;
}

Result<bool> check_url(const std::string& url) {
    if (!url.starts_with("postgresql://") && !url.starts_with("postgres://")) {
        return Error{ErrorCode::bad_request, "does not begin with postgresql://", 0, 0};
    }
    char* complaint = nullptr;
    const Options options(PQconninfoParse(url.c_str(), &complaint));
    if (options) {
        return true;
    }
    std::string message = on_one_line(complaint == nullptr ? "it cannot be read" : complaint);
    PQfreemem(complaint);
    // Some of libpq's complaints repeat the URL or a part of it, which may be the password: that
    // stands before the last `@`.
    const std::size_t repeated = message.find(": \"");
    if (repeated != std::string::npos) {
        const std::string part = message.substr(repeated + 3, message.rfind('"') - repeated - 3);
        if (part.find('@') != std::string::npos || url.find(part) < url.rfind('@')) {
            message.resize(repeated);
        }
    }
    if (message.find(url) != std::string::npos) {
        message = "it cannot be read";
    }
    return Error{ErrorCode::bad_request, "is no URL of a database: " + message, 0, 0};
}

std::string place_of(const std::string& url) {
    std::string host = "localhost";
    std::string port;
    std::string name;
    const Options options(PQconninfoParse(url.c_str(), nullptr));
    for (const PQconninfoOption* option = options.get();
         option != nullptr && option->keyword != nullptr; ++option) {
        const std::string_view keyword = option->keyword;
        if (option->val == nullptr) {
            continue;
        }
        if (keyword == "host") {
            host = option->val;
        } else if (keyword == "port") {
            port = fmt::format(" port {}", option->val);
        } else if (keyword == "dbname") {
            name = fmt::format("{} on ", option->val);
        }
    }
    return name + host + port;
}

}  // namespace presence::postgres
