#include "presence/core/watch_index.h"

#include "presence/base/assert.h"

namespace presence {

WatchIndex::Added WatchIndex::add(std::uint32_t connection, const UserId& user) {
    std::vector<std::vector<EdgeId>>& watchers = watchers_like(connection);
    const std::size_t place = watcher_place(connection);
    if (watchers.size() <= place) {
        watchers.resize(place + 1);
    }
    Added added;
    if (find_edge(connection, user, added.edge)) {
        return added;
    }
    added.created = true;
    std::uint32_t subject_slot = 0;
    if (const auto known = by_user_.find(user.text)) {
        subject_slot = *known;
    } else {
        added.subject_new = true;
        if (free_subjects_.empty()) {
            free_subjects_.push_back(static_cast<std::uint32_t>(subjects_.size()));
            subjects_.emplace_back();
        }
        subject_slot = free_subjects_.back();
        free_subjects_.pop_back();
        subjects_[subject_slot] = std::make_unique<Subject>();
        subjects_[subject_slot]->user = user;
        by_user_.insert(subject_slot);
    }
    if (free_edges_.empty()) {
        free_edges_.push_back(edges_.size());
        edges_.emplace_back();
    }
    added.edge = free_edges_.back();
    free_edges_.pop_back();
    std::vector<EdgeId>& of_subject = subjects_[subject_slot]->edges;
    std::vector<EdgeId>& of_connection = watchers[place];
    WatchEdge& edge = edges_[added.edge];
    edge = {};
    edge.subject = subject_slot;
    edge.serial = ++last_serial_ == 0 ? ++last_serial_ : last_serial_;
    edge.connection = connection;
    edge.place_in_subject = static_cast<std::uint32_t>(of_subject.size());
    edge.place_in_connection = static_cast<std::uint32_t>(of_connection.size());
    of_subject.push_back(added.edge);
    of_connection.push_back(added.edge);
    ++edge_count_;
    return added;
}

bool WatchIndex::remove(EdgeId id) {
    const WatchEdge edge = edges_[id];
    Subject& subject = *subjects_[edge.subject];
    const auto take_out = [this](std::vector<EdgeId>& list, std::uint32_t place,
                                 std::uint32_t WatchEdge::*member) {
        PRESENCE_ASSERT(place < list.size());
        list[place] = list.back();
        edges_[list[place]].*member = place;
        list.pop_back();
    };
    take_out(subject.edges, edge.place_in_subject, &WatchEdge::place_in_subject);
    std::vector<EdgeId>& of_connection = edges_at(edge.connection);
    take_out(of_connection, edge.place_in_connection, &WatchEdge::place_in_connection);
    if (of_connection.empty()) {
        of_connection = {};  // Its memory too: slots are used again.
    }
    edges_[id] = {};
    free_edges_.push_back(id);
    --edge_count_;
    if (!subject.edges.empty()) {
        return false;
    }
    by_user_.erase(edge.subject);
    subjects_[edge.subject].reset();
    free_subjects_.push_back(edge.subject);
    return true;
}

WatchIndex::Subject* WatchIndex::find(const UserId& user) {
    const std::optional<std::uint32_t> place = by_user_.find(user.text);
    return place ? subjects_[*place].get() : nullptr;
}

bool WatchIndex::find_edge(std::uint32_t connection, const UserId& user, EdgeId& found) {
    const Subject* const subject = find(user);
    if (subject == nullptr) {
        return false;
    }
    const std::span<const EdgeId> of_connection = edges_of(connection);
    if (of_connection.size() < subject->edges.size()) {
        for (const EdgeId id : of_connection) {
            if (subjects_[edges_[id].subject].get() == subject) {
                found = id;
                return true;
            }
        }
        return false;
    }
    for (const EdgeId id : subject->edges) {
        if (edges_[id].connection == connection) {
            found = id;
            return true;
        }
    }
    return false;
}

std::span<const WatchIndex::EdgeId> WatchIndex::edges_of(std::uint32_t connection) const {
    const std::vector<std::vector<EdgeId>>& watchers = by_watcher_[watcher_kind(connection)];
    const std::size_t place = watcher_place(connection);
    return place < watchers.size() ? std::span<const EdgeId>(watchers[place])
                                   : std::span<const EdgeId>();
}

std::vector<std::uint32_t> WatchIndex::connections() const {
    std::vector<std::uint32_t> names;
    for (std::uint32_t kind = 0; kind < by_watcher_.size(); ++kind) {
        for (std::uint32_t place = 0; place < by_watcher_[kind].size(); ++place) {
            if (!by_watcher_[kind][place].empty()) {
                names.push_back((kind << 30U) | place);
            }
        }
    }
    return names;
}

}  // namespace presence
