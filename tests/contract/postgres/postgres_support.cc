#include "contract/postgres/postgres_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace presence::testing {

namespace {

/// The folder with `initdb` and `postgres`, of the newest release that is installed.
std::filesystem::path programs() {
    const std::filesystem::path root = "/usr/lib/postgresql";
    std::filesystem::path newest;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(root, ignored)) {
        if (std::filesystem::exists(entry.path() / "bin/initdb")) {
            newest = std::max(newest, entry.path() / "bin");
        }
    }
    PRESENCE_ASSERT(!newest.empty());  // The Debian package `postgresql` is missing.
    return newest;
}

/// PostgreSQL refuses to run as root.
const passwd* unprivileged_user() {
    return ::getuid() == 0 ? ::getpwnam("postgres") : nullptr;
}

/// Starts a program as the unprivileged user; it ends when this process does.
pid_t launch(const std::vector<std::string>& command, const std::filesystem::path& log) {
    const passwd* const user = unprivileged_user();
    const pid_t child = ::fork();
    PRESENCE_ASSERT(child >= 0);
    if (child > 0) {
        return child;
    }
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    if (user != nullptr && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) {
        ::_exit(126);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    std::vector<char*> arguments;
    for (const std::string& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: exec does not write.
    }
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

std::filesystem::path temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "presence-pg-XXXXXX").string();
    PRESENCE_ASSERT(::mkdtemp(name.data()) != nullptr);
    return name;
}

}  // namespace

PostgresServer::PostgresServer() : folder_(temporary_folder()) {
    if (const passwd* const user = unprivileged_user()) {
        PRESENCE_ASSERT(::chown(folder_.c_str(), user->pw_uid, user->pw_gid) == 0);
    }
    const pid_t initdb =
        launch({(programs() / "initdb").string(), "-D", (folder_ / "data").string(), "-U",
                "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"},
               folder_ / "initdb.log");
    int status = 0;
    ::waitpid(initdb, &status, 0);
    PRESENCE_ASSERT(status == 0);
    // A zone and a language of messages that must not matter; no TCP, so no port.
    std::ofstream(folder_ / "data/postgresql.conf", std::ios::app)
        << "timezone = 'Asia/Bangkok'\ndatestyle = 'German'\nlisten_addresses = ''\n"
        << "unix_socket_directories = '" << folder_.string() << "'\n"
        << "fsync = off\nmax_connections = 60\nshared_buffers = 16MB\n";
    start();
}

PostgresServer::~PostgresServer() {
    kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

PostgresServer& PostgresServer::shared() {
    static PostgresServer server;
    return server;
}

void PostgresServer::start() {
    process_ = launch({(programs() / "postgres").string(), "-D", (folder_ / "data").string()},
                      folder_ / "server.log");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!answers()) {
        PRESENCE_ASSERT(std::chrono::steady_clock::now() < end);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

void PostgresServer::stop() {
    if (process_ > 0) {
        ::kill(process_, SIGINT);
        ::waitpid(process_, nullptr, 0);
        process_ = 0;
    }
}

void PostgresServer::kill() {
    if (process_ > 0) {
        ::kill(process_, SIGQUIT);
        ::waitpid(process_, nullptr, 0);
        process_ = 0;
    }
}

std::string PostgresServer::url(std::string_view name) const {
    return "postgresql:///" + std::string(name) + "?user=postgres&host=" + folder_.string();
}

bool PostgresServer::answers() const {
    return postgres::Connection::open({.url = url("postgres")}).has_value();
}

void PostgresServer::execute(const std::string& sql) {
    // A busy machine copies a template for seconds.
    auto connection =
        postgres::Connection::open({.url = url("postgres"), .statement_timeout = Millis{60'000}});
    PRESENCE_ASSERT(connection.has_value());
    (*connection)->execute(sql.c_str());
    const std::optional<Error> failure = (*connection)->take_failure();
    EXPECT_FALSE(failure) << failure->message;
}

std::string PostgresServer::create_database(std::string_view options) {
    const std::string name = "test" + std::to_string(++databases_);
    execute("CREATE DATABASE " + name + " TEMPLATE template0 " + std::string(options));
    return url(name);
}

OtherClient::OtherClient(const std::string& url) {
    auto opened = postgres::Connection::open({.url = url});
    PRESENCE_ASSERT(opened.has_value());
    connection_ = std::move(*opened);
}

void OtherClient::execute(const char* sql) {
    connection_->execute(sql);
    const std::optional<Error> failure = connection_->take_failure();
    EXPECT_FALSE(failure) << failure->message << ": " << sql;
}

std::int64_t OtherClient::number(const char* sql) {
    const postgres::Rows rows = connection_->run(sql);
    const std::optional<Error> failure = connection_->take_failure();
    EXPECT_FALSE(failure) << failure->message << ": " << sql;
    return rows.empty() ? -1 : rows.integer(0, 0);
}

}  // namespace presence::testing
