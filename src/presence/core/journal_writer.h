#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/ports/session_journal.h"

#include <atomic>
#include <cstddef>
#include <vector>

namespace presence {

/// Where a thread leaves its lines for the journal.
class JournalSink {
public:
    virtual ~JournalSink() = default;
    virtual void note(JournalEntry entry) = 0;
    /// True: so much waits that no new session should be taken in.
    [[nodiscard]] virtual bool full() const = 0;
};

/// Writes the journal in batches, four times a second, and every other second that this node was
/// alive, so that after a crash the last sign of life of its users is known to 2 s. Thread of the
/// journal; other threads hand their lines over through ThreadJournal.
class JournalWriter final : public JournalSink {
public:
    JournalWriter(Scheduler& scheduler, const Clock& clock, SessionJournal& journal,
                  const Limits& limits, CoreCounters& counters)
        : scheduler_(scheduler),
          clock_(clock),
          journal_(journal),
          limits_(limits),
          counters_(counters) {}

    /// Begins the periodic writes. The journal must have been started.
    void start();
    void note(JournalEntry entry) override {
        queue_.push_back(std::move(entry));
        ++waiting_;
        full_ = waiting_ >= limits_.journal_queue;
    }
    /// Any thread.
    [[nodiscard]] bool full() const override { return full_; }

    /// Writes all that is queued. False: it could not be written, and stays queued.
    [[nodiscard]] Task<bool> flush();
    /// Lines that the journal has not confirmed.
    [[nodiscard]] std::size_t queued() const noexcept { return waiting_; }

private:
    Detached run();

    Scheduler& scheduler_;
    const Clock& clock_;
    SessionJournal& journal_;
    const Limits& limits_;
    CoreCounters& counters_;
    std::vector<JournalEntry> queue_;
    std::atomic<std::size_t> waiting_ = 0;  ///< In queue_ or being written.
    std::atomic<bool> full_ = false;        ///< Limits belong to the journal's thread.
    MonoTime last_alive_;
    bool writing_ = false;
};

/// The sink of a thread that does not own the journal: hands its lines over in batches.
class ThreadJournal final : public JournalSink {
public:
    ThreadJournal(Scheduler& own, Scheduler& writers, JournalWriter& writer, const Limits& limits)
        : own_(own), writers_(writers), writer_(writer), limits_(limits) {}
    void note(JournalEntry entry) override;
    [[nodiscard]] bool full() const override {
        return queue_.size() >= limits_.journal_queue || writer_.full();
    }
    /// Hands over what waits here now.
    void hand_over();

private:
    Scheduler& own_;
    Scheduler& writers_;
    JournalWriter& writer_;
    const Limits& limits_;
    std::vector<JournalEntry> queue_;
    bool armed_ = false;
};

}  // namespace presence
