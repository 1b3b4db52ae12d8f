// The profiles and the journal in memory.

#include "presence/stores/memory/memory_journal.h"
#include "presence/stores/memory/memory_profiles.h"

#include "contract/profile_store_contract.h"
#include "contract/session_journal_contract.h"
#include "support/run_task.h"

#include <optional>

namespace presence::testing {

namespace {

class MemoryProfilesAdapter {
public:
    ProfileStore& store(int thread) { return thread == 0 ? first_ : second_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(std::move(task));
    }
    void set_unavailable(bool unavailable) { shared_.set_unavailable(unavailable); }
    void reopen() {}

private:
    MemoryProfiles shared_;
    MemoryProfileStore first_{shared_};
    MemoryProfileStore second_{shared_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, ProfileStoreContract, MemoryProfilesAdapter);

class MemoryJournalAdapter {
public:
    MemoryJournalAdapter() { restart(); }
    SessionJournal& journal() { return *journal_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(std::move(task));
    }
    void restart() { journal_.emplace(state_); }
    void set_unavailable(bool unavailable) { state_.faults.set_unavailable(unavailable); }

private:
    MemoryJournalState state_;
    std::optional<MemoryJournal> journal_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, SessionJournalContract, MemoryJournalAdapter);

TEST(MemoryProfiles, ASlowStoreAnswersLater) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    MemoryProfiles shared;
    MemoryProfileStore store(shared, &scheduler);
    shared.faults().set_delay(Millis{300});
    const auto loaded = start_task(store.load({UserId("ada")}));
    scheduler.advance(Millis{299});
    EXPECT_FALSE(loaded->has_value());
    scheduler.advance(Millis{1});
    EXPECT_TRUE(loaded->has_value());
}

}  // namespace

}  // namespace presence::testing
