#pragma once

#include "presence/ports/profile_store.h"
#include "presence/stores/memory/faults.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace presence {

/// The profiles of one process, shared by its threads' MemoryProfileStores: for tests, and for
/// `database.url = memory:`, which forgets everything at the end of the process. Any thread.
class MemoryProfiles {
public:
    MemoryProfiles() = default;
    MemoryProfiles(const MemoryProfiles&) = delete;
    MemoryProfiles& operator=(const MemoryProfiles&) = delete;

    [[nodiscard]] StoreFaults& faults() { return faults_; }
    void set_unavailable(bool unavailable) { faults_.set_unavailable(unavailable); }

    /// Users of whom anything is stored, the erased included.
    [[nodiscard]] std::size_t size() const;

private:
    friend class MemoryProfileStore;

    struct Row {
        ProfileRef profile;
        std::optional<WallTime> erased_at;
    };

    [[nodiscard]] ProfileRef load(const UserId& user) const;
    [[nodiscard]] bool save_declared(const UserId& user, const DeclaredState& declared);
    /// Applies `change` to a copy of the profile; if that returns true the copy, with the next
    /// revision, takes its place.
    template <class Change>
    [[nodiscard]] ProfileChange change(const UserId& user, Change change);
    void save_last_seen(const std::vector<LastSeenRow>& rows);
    [[nodiscard]] std::vector<UserId> erase(const UserId& user, WallTime at);

    mutable std::mutex mutex_;
    std::map<UserId, Row> rows_;
    StoreFaults faults_;
};

/// One thread's way to the shared profiles. Completes at once, unless told to be slow.
class MemoryProfileStore final : public ProfileStore {
public:
    /// @param for_delays  Needed only where `faults().set_delay` is used.
    explicit MemoryProfileStore(MemoryProfiles& shared, Scheduler* for_delays = nullptr)
        : shared_(shared), scheduler_(for_delays) {}

    [[nodiscard]] Task<Result<std::vector<ProfileRef>>> load(std::vector<UserId> users) override;
    [[nodiscard]] Task<Result<bool>> save_declared(UserId user, DeclaredState declared) override;
    [[nodiscard]] Task<Result<ProfileChange>> save_privacy(UserId user,
                                                           PrivacySettings settings) override;
    [[nodiscard]] Task<Result<ProfileChange>> change_contacts(UserId user, UserSetChange change,
                                                              std::size_t limit) override;
    [[nodiscard]] Task<Result<ProfileChange>> change_blocks(UserId user, UserSetChange change,
                                                            std::size_t limit) override;
    [[nodiscard]] Task<Result<ProfileChange>> revoke(UserId user, WallTime before) override;
    [[nodiscard]] Task<Result<bool>> save_last_seen(std::vector<LastSeenRow> rows) override;
    [[nodiscard]] Task<Result<std::vector<UserId>>> erase(UserId user, WallTime at) override;
    [[nodiscard]] std::uint64_t writes_refused() const override {
        return shared_.faults().writes_refused();
    }

private:
    [[nodiscard]] Task<Result<ProfileChange>> change_set(UserId user, UserSet Profile::*set,
                                                         UserSetChange change, std::size_t limit);
    /// Waits and fails as told; runs `work` otherwise.
    template <class T, class Work>
    [[nodiscard]] Task<Result<T>> answer(Work work, bool writes = true);

    MemoryProfiles& shared_;
    Scheduler* scheduler_;
};

}  // namespace presence
