#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct redisContext;
struct redisReply;

namespace presence::bench {

/// One blocking connection to a Redis server on loopback. All members throw BenchFailure; answers
/// that are errors are failures, too, unless said otherwise.
class RedisLink {
public:
    using Words = std::vector<std::string>;

    explicit RedisLink(std::uint16_t port);
    /// Whether anybody answers there now.
    [[nodiscard]] static bool answers(std::uint16_t port);

    /// Runs a command and gives its answer as text; of a list, one line a value.
    std::string run(const Words& words);
    /// The same; whether the answer was no error.
    bool accepts(const Words& words);

    /// Hands a command in; it goes out with the next receive() or flush().
    void append(const Words& words);
    void flush();
    /// Waits for one answer or message.
    std::string receive();

private:
    struct Free {
        void operator()(redisContext* context) const;
    };
    struct FreeReply {
        void operator()(redisReply* reply) const;
    };
    using Reply = std::unique_ptr<redisReply, FreeReply>;

    [[nodiscard]] Reply next();

    std::uint16_t port_;
    std::unique_ptr<redisContext, Free> context_;
};

}  // namespace presence::bench
