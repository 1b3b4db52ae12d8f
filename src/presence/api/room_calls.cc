// Rooms over HTTP: who is in one, and for back ends which there are.

#include "presence/api/answers.h"
#include "presence/api/calls.h"
#include "presence/api/page_cursor.h"
#include "presence/api/request_target.h"
#include "presence/protocol/rest_body.h"
#include "presence/protocol/server_message.h"
#include "presence/rules/rooms.h"

#include <algorithm>
#include <charconv>

namespace presence::api {

namespace {

constexpr std::size_t kPage = 100;
constexpr std::size_t kMostPage = 1000;
/// Members looked at in one step while a page is filled with those whom the viewer may see.
constexpr std::size_t kStep = 500;

/// Where a page begins and how long it may be.
struct PageWanted {
    std::size_t limit = kPage;
    std::optional<std::string> after;
};

Result<PageWanted> page_of(const AdmittedCall& call) {
    PageWanted wanted;
    const Result<std::optional<std::string>> limit = query_value(call.request.query(), "limit");
    const Result<std::optional<std::string>> cursor = query_value(call.request.query(), "cursor");
    if (!limit || !cursor) {
        return limit ? cursor.error() : limit.error();
    }
    if (*limit) {
        const std::string& text = **limit;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), wanted.limit);
        if (read.ec != std::errc() || read.ptr != text.data() + text.size() || wanted.limit < 1 ||
            wanted.limit > kMostPage) {
            return Error{ErrorCode::bad_request, "limit must be an integer from 1 to 1000", 0, 0};
        }
    }
    if (*cursor) {
        wanted.after = decode_page_cursor(**cursor);
    }
    return wanted;
}

/// What a page is made of while the members are gone through.
struct RoomPage {
    std::vector<std::string> members;
    std::size_t listed = 0;  ///< All whom the viewer may see, those of other pages included.
    UserId last;             ///< The last of `members`.
    bool more = false;
};

/// Adds those of `seen` whom the viewer may see. What is offline to it is in no list.
void fill(RoomPage& page, const std::vector<Seen>& seen, const RoomFacts& facts,
          const SnapshotReader& reader, const PageWanted& wanted, bool everybody) {
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const PresenceView view = reader.view(seen[i]);
        const Verdict verdict = seen[i].verdict;
        if (!everybody && (view.status() == Status::offline || !verdict.online())) {
            continue;
        }
        ++page.listed;
        if (wanted.after && view.user().text <= *wanted.after) {
            continue;
        }
        if (page.members.size() == wanted.limit) {
            page.more = true;
            continue;
        }
        protocol::append_member(page.members.emplace_back(), view, facts.page[i].meta);
        page.last = view.user();
    }
}

/// Asks all nodes for the room and fills the page that is wanted.
Task<Result<RoomFacts>> look_through(const ApiParts& parts, const RoomId& room,
                                     const std::optional<UserId>& viewer, const PageWanted& wanted,
                                     RoomPage& page) {
    // All of a listed room at once: a question for so many members would tell how many are hidden.
    std::size_t step = viewer ? parts.shard.limits.most_looked_at() : kStep;
    RoomFacts facts;
    std::optional<UserId> after;
    do {
        Survey& survey = parts.survey;
        Task<RoomFacts> asking = run_there<RoomFacts>(
            parts.scheduler, parts.shards.all.front()->scheduler,
            [&survey, room, after, step] { return survey.room(room, after, step); });
        facts = co_await asking;
        const bool whole = viewer && !facts.large;
        step = whole ? step : kStep;
        if (facts.page.size() > step) {
            facts.page.resize(step);
            facts.more = true;
        }
        if (!after && wanted.after && !whole) {
            after = UserId(*wanted.after);  // Nothing before it is needed.
            facts.more = true;
            continue;
        }
        std::vector<UserId> users;
        for (const RoomMember& member : facts.page) {
            users.push_back(member.user);
        }
        if (users.empty()) {
            break;
        }
        after = users.back();
        Task<Result<std::vector<Seen>>> looking = parts.shard.reader.look(viewer, std::move(users));
        Result<std::vector<Seen>> seen = co_await looking;
        if (!seen) {
            co_return seen.error();
        }
        fill(page, *seen, facts, parts.shard.reader, wanted, !viewer);
        facts.more = facts.more && (whole || !page.more);
    } while (facts.more);
    co_return facts;
}

}  // namespace

Task<Calls::Answer> Calls::get_room(const AdmittedCall& call) const {
    Result<std::optional<UserId>> viewer = viewer_of(call);
    Result<PageWanted> wanted = page_of(call);
    if (!viewer || !wanted) {
        co_return viewer ? wanted.error() : viewer.error();
    }
    if (call.caller.user && !rules::may_enter(call.caller.user->rights.rooms, call.room)) {
        co_return Error{ErrorCode::forbidden, "this token does not allow that room", 0, 0};
    }
    // However short the page, the room is gone through.
    const std::size_t charged = std::max(wanted->limit, kPage);
    Task<Result<bool>> taking = take_lookups(call, charged);
    Result<bool> taken = co_await taking;
    if (!taken) {
        co_return taken.error();
    }
    RoomPage page;
    Task<Result<RoomFacts>> looking = look_through(parts_, call.room, *viewer, *wanted, page);
    Result<RoomFacts> facts = co_await looking;
    if (!facts) {
        co_return facts.error();
    }
    if (!facts->large && page.listed > charged) {
        Task<Result<bool>> taking_rest = take_lookups(call, page.listed - charged);
        taken = co_await taking_rest;
        if (!taken) {
            co_return taken.error();
        }
    }
    protocol::RoomFields fields{call.room};
    // A user hears nothing of where those are whom not everyone may see.
    fields.exact = viewer->has_value() ? facts->counted_exact : facts->exact;
    if (!viewer->has_value()) {
        fields.count = facts->members;
        fields.public_count = facts->counted;
    } else {
        fields.count = facts->large ? facts->counted : page.listed;
    }
    const std::vector<std::string_view> members(page.members.begin(), page.members.end());
    const std::string next = encode_page_cursor(page.last.text);
    co_return json_answer(protocol::encode_room_body(
        fields, members, page.more ? std::optional<std::string_view>(next) : std::nullopt));
}

Task<Calls::Answer> Calls::list_rooms(const AdmittedCall& call) const {
    const Result<std::optional<std::string>> prefix = query_value(call.request.query(), "prefix");
    Result<PageWanted> wanted = page_of(call);
    if (!prefix || !wanted) {
        co_return prefix ? wanted.error() : prefix.error();
    }
    const std::string begins = prefix->value_or("");
    std::optional<RoomId> after;
    if (wanted->after) {
        after = RoomId(*wanted->after);
    }
    Survey& survey = parts_.survey;
    Task<Survey::Rooms> asking =
        run_there<Survey::Rooms>(parts_.scheduler, parts_.shards.all.front()->scheduler,
                                 [&survey, begins, after, most = wanted->limit] {
                                     return survey.rooms(begins, after, most);
                                 });
    const Survey::Rooms found = co_await asking;
    std::vector<protocol::RoomFields> fields;
    for (const RoomFacts& facts : found.rooms) {
        fields.push_back({facts.room, facts.members, facts.exact, facts.counted});
    }
    const std::string next =
        found.more ? encode_page_cursor(found.rooms.back().room.text) : std::string();
    co_return json_answer(protocol::encode_rooms_body(
        fields, found.more ? std::optional<std::string_view>(next) : std::nullopt));
}

}  // namespace presence::api
