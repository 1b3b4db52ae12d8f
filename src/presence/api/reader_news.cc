// What streams and polls are told of the users that they watch. Nothing here may call the desk,
// which is calling: so a poll that has news ends a moment later.

#include "presence/api/readers.h"
#include "presence/protocol/event_stream.h"
#include "presence/protocol/server_message.h"

#include <algorithm>

namespace presence::api {

const UserId* Readers::viewer_of(std::uint32_t name) {
    const auto [reader, id] = readers_.in(name & ~kHttpReader);
    return reader != nullptr && !reader->gone ? &reader->user : nullptr;
}

bool Readers::can_take(std::uint32_t name) {
    const auto [reader, id] = readers_.in(name & ~kHttpReader);
    return reader != nullptr && reader->begun && !reader->gone &&
           (reader->poll || !pipe_->blocked_since(reader->connection));
}

void Readers::deliver_news(std::uint32_t name, std::span<WatchIndex::Subject* const> subjects,
                           std::span<const Verdict> verdicts) {
    const auto [reader, id] = readers_.in(name & ~kHttpReader);
    if (reader == nullptr) {
        return;
    }
    std::vector<std::string_view> pieces;
    pieces.reserve(subjects.size());
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        WatchIndex::Subject& subject = *subjects[i];
        const PresenceView view =
            parts_.shard.reader.view(subject.user, &subject.news->presence, verdicts[i]);
        if (reader->poll) {
            note_news(id, subject.user, mark_of(reader->user, view),
                      protocol::encode_presence(view));
            continue;
        }
        // Encoded once for all who get this view of this news, whichever road they are on.
        if (!subject.encoded) {
            subject.encoded = std::make_unique<EncodedNews>();
        }
        auto& kinds = subject.encoded->kinds;
        auto kind = std::ranges::find(kinds, verdicts[i], &EncodedNews::Kind::verdict);
        if (kind == kinds.end()) {
            kind =
                kinds.insert(kinds.end(), {verdicts[i], protocol::encode_presence(view), nullptr});
        }
        pieces.push_back(kind->json);
    }
    if (!pieces.empty()) {
        tell(id, pieces);
    }
}

void Readers::deliver_seen(std::uint32_t name, std::span<const Seen* const> seen) {
    const auto [reader, id] = readers_.in(name & ~kHttpReader);
    if (reader == nullptr) {
        return;
    }
    std::vector<std::string> presences;
    presences.reserve(seen.size());
    for (const Seen* one : seen) {
        const PresenceView view = parts_.shard.reader.view(*one);
        presences.push_back(protocol::encode_presence(view));
        if (reader->poll) {
            note_news(id, one->user, mark_of(reader->user, view), std::move(presences.back()));
        }
    }
    if (!reader->poll) {
        const std::vector<std::string_view> pieces(presences.begin(), presences.end());
        tell(id, pieces);
    }
}

void Readers::tell(SlotId id, std::span<const std::string_view> presences) {
    ++counters_.updates;
    std::string bytes;
    protocol::append_event(bytes, "update", ++readers_.at(id).last_id,
                           protocol::encode_update(presences));
    write(id, bytes);
}

void Readers::write(SlotId id, std::string_view bytes) {
    Reader& reader = readers_.at(id);
    if (reader.gone) {
        return;
    }
    const net::SendResult result = pipe_->send(reader.connection, bytes);
    if (result == net::SendResult::overflow) {
        ++counters_.closed_slow;
        reader.gone = true;
        pipe_->abort(reader.connection);  // on_lost follows.
    } else if (result == net::SendResult::blocked && !reader.slow_check) {
        reader.slow_check = true;
        file(id, TimerKind::slow, parts_.limits.slow_reader);
    }
}

void Readers::note_news(SlotId id, const UserId& user, HeldMark mark, std::string presence) {
    Poll& poll = *readers_.at(id).poll;
    const auto found = std::ranges::find(poll.users, user);
    if (found == poll.users.end()) {
        return;
    }
    const auto place = static_cast<std::size_t>(found - poll.users.begin());
    if (poll.marks[place] == mark) {
        return;  // What it holds already.
    }
    poll.marks[place] = mark;
    poll.presences[place] = std::move(presence);
    if (!poll.ending) {
        poll.ending = true;
        parts_.scheduler.post([this, id] {
            if (readers_.find(id) != nullptr) {
                end_poll(id, std::nullopt);
            }
        });
    }
}

}  // namespace presence::api
