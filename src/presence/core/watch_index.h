#pragma once

#include "presence/base/chunks.h"
#include "presence/base/ids.h"
#include "presence/core/id_index.h"
#include "presence/core/slot_pool.h"
#include "presence/model/presence.h"
#include "presence/model/view.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence {

/// Watchers are named by their slots. Those of readers over HTTP have this bit set, and those of
/// canaries both bits, so that they and the gateway's connections can each be counted by
/// themselves.
inline constexpr std::uint32_t kHttpReader = 0x8000'0000U;
inline constexpr std::uint32_t kCanaryReader = 0xC000'0000U;
inline constexpr std::uint32_t kWatcherKinds = 4;

[[nodiscard]] constexpr std::uint32_t watcher_kind(std::uint32_t connection) noexcept {
    return connection >> 30U;
}
[[nodiscard]] constexpr std::uint32_t watcher_place(std::uint32_t connection) noexcept {
    return connection & ~kCanaryReader;
}

/// One connection's interest in one user.
struct WatchEdge {
    std::uint32_t subject = 0;
    std::uint32_t connection = 0;
    std::uint32_t place_in_subject = 0;
    std::uint32_t place_in_connection = 0;
    Version told;              ///< What the viewer was told last; 0: nothing, or hidden.
    std::uint32_t serial = 0;  ///< Tells this edge from a later one in the same place; 0: none.
    Verdict verdict;
    std::uint16_t unready = 0;  ///< Looks under way: until they end, news is held on the subject.
    bool dirty = false;         ///< The viewer has not been told the newest yet.
    bool unknown = false;       ///< The viewer was told that nobody can tell.
};

/// Bytes made of one event, by Verdict: core only keeps them. Up to three kinds of view.
struct EncodedNews {
    struct Kind {
        Verdict verdict;
        std::string json;  ///< The presence object.
        std::shared_ptr<const std::string>
            frame;  ///< A whole `update` of it alone; made on demand.
    };
    std::vector<Kind> kinds;
};

/// Who on this thread watches whom: connections by their slots on one side, users on the other,
/// edges between them. An edge costs its 40 bytes and four on each side. One thread.
class WatchIndex {
public:
    WatchIndex() = default;
    WatchIndex(const WatchIndex&) = delete;
    WatchIndex& operator=(const WatchIndex&) = delete;

    using EdgeId = std::uint32_t;

    struct Subject {
        UserId user;
        std::vector<EdgeId> edges;
        PresenceEventRef news;  ///< Newest event that some edge still has to deliver or weigh.
        /// What was encoded of `news`, by kind of view; kept here so that it is done once.
        std::unique_ptr<EncodedNews> encoded;
        /// Newest revision of the user's rules by which an edge was judged (RULINGS 8).
        std::uint64_t rules_revision = 0;
        bool collected = false;   ///< Its news is among what the next flush delivers.
        bool subscribed = false;  ///< The bus has confirmed it.
    };

    struct Added {
        EdgeId edge = 0;
        bool created = false;      ///< False: the connection watched the user already.
        bool subject_new = false;  ///< Nobody here watched the user before: subscribe.
    };

    [[nodiscard]] Added add(std::uint32_t connection, const UserId& user);
    /// True: nobody here watches the user any more, and the subject is gone: unsubscribe.
    bool remove(EdgeId edge);

    [[nodiscard]] WatchEdge& edge(EdgeId id) { return edges_[id]; }
    [[nodiscard]] Subject& subject(std::uint32_t slot) { return *subjects_[slot]; }
    /// Null where no subject stands any more.
    [[nodiscard]] Subject* subject_at(std::uint32_t slot) { return subjects_[slot].get(); }
    [[nodiscard]] Subject& subject_of(EdgeId id) { return *subjects_[edges_[id].subject]; }
    /// Null where nobody here watches `user`.
    [[nodiscard]] Subject* find(const UserId& user);
    [[nodiscard]] bool find_edge(std::uint32_t connection, const UserId& user, EdgeId& found);
    [[nodiscard]] std::span<const EdgeId> edges_of(std::uint32_t connection) const;

    /// All who watch somebody.
    [[nodiscard]] std::vector<std::uint32_t> connections() const;

    [[nodiscard]] std::size_t edge_count() const noexcept { return edge_count_; }
    [[nodiscard]] std::size_t subject_count() const noexcept { return by_user_.size(); }

private:
    /// The edges of a connection for which there was an edge before.
    [[nodiscard]] std::vector<EdgeId>& edges_at(std::uint32_t connection) {
        return watchers_like(connection)[watcher_place(connection)];
    }
    [[nodiscard]] std::vector<std::vector<EdgeId>>& watchers_like(std::uint32_t connection) {
        return by_watcher_[watcher_kind(connection)];
    }

    Chunks<WatchEdge> edges_;
    std::vector<EdgeId> free_edges_;
    std::size_t edge_count_ = 0;
    std::uint32_t last_serial_ = 0;
    std::vector<std::unique_ptr<Subject>> subjects_;
    std::vector<std::uint32_t> free_subjects_;
    /// By kind and slot.
    std::array<std::vector<std::vector<EdgeId>>, kWatcherKinds> by_watcher_;
    struct IdAt {
        const std::vector<std::unique_ptr<Subject>>* subjects;
        std::string_view operator()(std::uint32_t place) const {
            return (*subjects)[place]->user.text;
        }
    };
    IdIndex<IdAt> by_user_{IdAt{&subjects_}};
};

}  // namespace presence
