#include "gauges.h"

#include "failure.h"

#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace presence::bench {

namespace {

std::string answer_of(std::uint16_t port, std::string_view request) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string answer;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size())) {
        std::array<char, 16 * 1024> buffer{};
        for (ssize_t size = 1; size > 0;) {
            size = ::recv(socket, buffer.data(), buffer.size(), 0);
            answer.append(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
        }
    }
    ::close(socket);
    return answer;
}

}  // namespace

std::map<std::string, double> scrape(std::uint16_t port) {
    const std::string answer =
        answer_of(port, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    if (!answer.starts_with("HTTP/1.1 200")) {
        fail("no metrics: {}", answer.substr(0, 200));
    }
    std::map<std::string, double> metrics;
    std::string_view rest = answer;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        const std::size_t space = line.rfind(' ');
        if (line.starts_with("presenced_") && space != std::string_view::npos) {
            const std::string value(line.substr(space + 1));
            metrics[std::string(line.substr(0, space))] = std::strtod(value.c_str(), nullptr);
        }
    }
    return metrics;
}

std::size_t open_files(pid_t process) {
    std::error_code gone;
    const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", process), gone);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace presence::bench
