#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct redisReader;
struct redisReply;

namespace presence::redis {

/// A look at an answer of Redis, or at a part of one. Lives no longer than the Reply.
class ReplyView {
public:
    explicit ReplyView(const redisReply* raw) : raw_(raw) {}

    [[nodiscard]] bool is_nil() const noexcept;
    [[nodiscard]] bool is_error() const noexcept;
    [[nodiscard]] bool is_text() const noexcept;  ///< A bulk string or a status.
    [[nodiscard]] bool is_integer() const noexcept;
    [[nodiscard]] bool is_array() const noexcept;

    /// Of a text or an error; else empty.
    [[nodiscard]] std::string_view text() const noexcept;
    /// Of an integer; else 0.
    [[nodiscard]] std::int64_t integer() const noexcept;
    /// Parts of an array; else 0.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] ReplyView operator[](std::size_t index) const;  ///< index < size().

private:
    const redisReply* raw_;
};

/// An answer of Redis as hiredis read it.
class Reply {
public:
    explicit Reply(redisReply* owned) : raw_(owned) {}
    [[nodiscard]] ReplyView view() const noexcept { return ReplyView(raw_.get()); }

private:
    struct Free {
        void operator()(redisReply* raw) const noexcept;
    };
    std::unique_ptr<redisReply, Free> raw_;
};

struct FreeReader {
    void operator()(redisReader* reader) const noexcept;
};
using ReplyReader = std::unique_ptr<redisReader, FreeReader>;

/// Reads what a server sends. An array of more elements than kMostElements is an error: hiredis
/// sets memory aside for all that a line of a few bytes announces.
[[nodiscard]] ReplyReader new_reader();
inline constexpr int kMostElements = 1 << 20;

/// What an error says about what to do next.
enum class ReplyError : std::uint8_t {
    none,
    no_script,      ///< Send the whole script.
    moved,          ///< The slot has another master for good.
    ask,            ///< This one key is with another master already.
    try_again,      ///< Some keys of the command are here and some there: again, soon.
    cluster_down,   ///< The slot has no master now.
    loading,        ///< It reads its data; or a script keeps it busy.
    read_only,      ///< A replica.
    master_down,    ///< A replica without its master.
    out_of_memory,  ///< It refuses writes.
    no_auth,        ///< Wrong password, or none, or no right to this command.
    other,          ///< A mistake of ours.
};

[[nodiscard]] ReplyError classify(ReplyView reply) noexcept;

}  // namespace presence::redis
