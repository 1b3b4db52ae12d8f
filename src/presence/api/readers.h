#pragma once

#include "presence/api/api.h"
#include "presence/api/poll_cursor.h"
#include "presence/api/stream_pipe.h"
#include "presence/base/task.h"
#include "presence/core/node_readers.h"
#include "presence/core/shard.h"
#include "presence/core/slot_pool.h"
#include "presence/core/timing_wheel.h"
#include "presence/core/watch_desk.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::api {

/// Who wants to hear of whom, over HTTP.
struct ReaderRequest {
    net::ConnectionId connection;
    TokenClaims claims;
    std::vector<UserId> users;
};

/// What a poll is answered with.
struct PollNews {
    std::vector<std::string> presences;  ///< Those that differ, encoded.
    std::string cursor;                  ///< What the client holds with them.
};

/// What a thread's readers do, counted. Owner's thread.
struct ReaderCounters {
    std::uint64_t streams = 0;  ///< Opened.
    std::uint64_t polls = 0;    ///< That had to wait or might have.
    std::uint64_t refused = 0;  ///< Over limits.readers; over that of a user see ReaderPlaces.
    std::uint64_t updates = 0;
    std::uint64_t left_early = 0;  ///< Their client left before the answer.
    std::uint64_t closed_slow = 0;
};

/// One thread's readers over HTTP: event streams and waiting polls. They watch as connections of
/// the gateway do, at the same desk and by the same rules, but are no sessions: nobody is present
/// for reading. One thread.
class Readers final : public WatchSink, public ReaderOwner {
public:
    explicit Readers(const ApiParts& parts);
    ~Readers() override;

    /// Before the first request.
    void connect(StreamPipe& pipe) { pipe_ = &pipe; }

    /// Begins a stream. The answer is what it begins with, to be sent before the caller returns to
    /// the loop; from then on this object sends the rest.
    /// @param last_id  The newest event id that the client had; 0: none. Only continued.
    /// @retval ErrorCode::limit_exceeded  The user, or unavailable: the node, has too many.
    /// @retval ErrorCode::rate_limited    Too many users looked up.
    /// @retval ErrorCode::unavailable     No store answers, or the node is being drained.
    [[nodiscard]] Task<Result<std::string>> open_stream(ReaderRequest request,
                                                        std::uint64_t last_id);

    /// Answers at once if something differs from what `held` stands for, else as soon as something
    /// does, `wait` has passed, or the client seems to have left.
    /// Errors as for streams, and `unauthorized` where the token is revoked meanwhile.
    [[nodiscard]] Task<Result<PollNews>> poll(ReaderRequest request, PollCursor held, Millis wait);

    // -- From net, by way of the front door ---------------------------------------------------
    void on_lost(net::ConnectionId connection);
    void on_half_closed(net::ConnectionId connection);
    void on_drained(net::ConnectionId connection);

    void tick();
    /// Ends all; streams are told to come back spread over `window`. No more are taken.
    void drain(Millis window);

    [[nodiscard]] const ReaderCounters& counters() const noexcept { return counters_; }

    // -- WatchSink ------------------------------------------------------------------------------
    const UserId* viewer_of(std::uint32_t reader) override;
    bool can_take(std::uint32_t reader) override;
    void deliver_news(std::uint32_t reader, std::span<WatchIndex::Subject* const> subjects,
                      std::span<const Verdict> verdicts) override;
    void deliver_seen(std::uint32_t reader, std::span<const Seen* const> seen) override;

    // -- ReaderOwner ----------------------------------------------------------------------------
    [[nodiscard]] std::vector<UserId> users() const override;
    void on_profile_changed(const UserId& user) override;
    void end_readers(const UserId& user) override;
    [[nodiscard]] OpenConnections connections() const override;

private:
    /// How a wait ended: with news or without, or with an error.
    using PollEnd = std::optional<Error>;
    /// What only polls have.
    struct Poll {
        std::vector<UserId> users;
        std::vector<HeldMark> marks;         ///< Of what the client will hold; beside `users`.
        std::vector<std::string> presences;  ///< News, beside `users`; empty text: none.
        std::optional<Completion<PollEnd>::Done> done;
        bool ending = false;  ///< It has news, and ends in this turn of the loop.
    };
    struct Reader {
        NodeReaders::Place place;  ///< None: a poll that does not wait, which no limit counts.
        net::ConnectionId connection;
        UserId user;
        std::optional<WallTime> token_issued_at;
        MonoTime token_over;  ///< Leeway included; 0: never.
        std::uint64_t last_id = 0;
        std::unique_ptr<Poll> poll;  ///< Null: a stream.
        bool begun = false;          ///< It has its snapshot, or waits.
        bool gone = false;           ///< Its client has left; nothing more is sent.
        bool slow_check = false;
    };
    enum class TimerKind : std::uint8_t { comment, token_end, slow, poll_end };
    /// PROTOCOL.md: a comment at least every 15 s. So often whatever else is sent, so that the
    /// rhythm tells nothing.
    static constexpr Millis kCommentEvery{12'000};
    struct Timer {
        SlotId reader;
        TimerKind kind = TimerKind::comment;
    };

    // Beginnings, in readers.cc
    [[nodiscard]] Task<Result<SlotId>> admit(ReaderRequest request, bool is_poll, bool stays);
    [[nodiscard]] Task<Result<std::vector<Seen>>> watch(SlotId id, std::vector<UserId> users);
    [[nodiscard]] Task<PollEnd> wait_for_news(SlotId id, Millis wait);
    /// The client has closed its connection, or at least its own side of it.
    [[nodiscard]] bool has_left(net::ConnectionId connection) const;
    void give_back_place(const UserId& user);

    // Ends, in reader_ends.cc
    void close(SlotId id);
    /// Says why, ends the answer and forgets the reader. A poll is answered with what it has.
    void end(SlotId id, std::string_view why, std::optional<Error> error = std::nullopt);
    void end_poll(SlotId id, PollEnd how);
    Detached end_revoked(UserId user);
    void visit(const Timer& timer, MonoTime now);
    void file(SlotId id, TimerKind kind, Millis delay);
    [[nodiscard]] std::vector<SlotId> readers_of(const UserId& user) const;
    [[nodiscard]] SlotId find(net::ConnectionId connection) const;

    // News, in reader_news.cc
    void tell(SlotId id, std::span<const std::string_view> presences);
    void write(SlotId id, std::string_view bytes);
    void note_news(SlotId id, const UserId& user, HeldMark mark, std::string presence);

    ApiParts parts_;
    StreamPipe* pipe_ = nullptr;
    SlotPool<Reader> readers_;
    boost::unordered_flat_map<std::uint64_t, SlotId> by_connection_;
    boost::unordered_flat_map<UserId, std::vector<SlotId>, IdHash, IdEqual> by_user_;
    TimingWheel<Timer> timers_;
    OpenConnections open_;
    ReaderCounters counters_;
    bool draining_ = false;
};

}  // namespace presence::api
