#include "presence/protocol/json_writer.h"
#include "presence/protocol/server_message.h"

#include <algorithm>
#include <array>
#include <span>

namespace presence::protocol {

namespace {

/// Bytes for all that a frame says around its lists: the name of the room, escaped, is the most.
constexpr std::size_t kFrameBytes = 1024;

void append_head(ObjectWriter& message, const RoomHead& head) {
    message.text("room", head.room.text);
    message.integer("count", static_cast<std::int64_t>(head.count));
    message.boolean("exact", head.exact);
}

/// Lists that fill one part after the other.
struct List {
    std::string_view name;
    std::vector<std::string_view> pieces;  ///< Whole JSON values.
};

/// Takes from the front of `lists` what fits into one part, at least one piece, and writes it.
class PartWriter {
public:
    PartWriter(std::span<List> lists, std::size_t most_bytes)
        : lists_(lists), most_(most_bytes > kFrameBytes ? most_bytes - kFrameBytes : 0) {}

    [[nodiscard]] bool done() const {
        return std::ranges::all_of(lists_, [](const List& list) { return list.pieces.empty(); });
    }
    void write(ObjectWriter& message) {
        std::size_t bytes = 0;
        bool full = false;
        for (List& list : lists_) {
            std::size_t count = 0;
            while (!full && count < list.pieces.size()) {
                bytes += list.pieces[count].size() + 1;
                full = bytes > most_ && bytes > list.pieces[count].size() + 1;
                count += full ? 0U : 1U;
            }
            write_list(message, list, count);
        }
    }

private:
    static void write_list(ObjectWriter& message, List& list, std::size_t count) {
        if (count == 0) {
            return;
        }
        message.name(list.name);
        char separator = '[';
        for (std::size_t i = 0; i < count; ++i) {
            message.out().push_back(separator);
            message.out().append(list.pieces[i]);
            separator = ',';
        }
        message.out().push_back(']');
        list.pieces.erase(list.pieces.begin(),
                          list.pieces.begin() + static_cast<std::ptrdiff_t>(count));
    }

    std::span<List> lists_;
    std::size_t most_;
};

std::vector<std::string> encode_parts(std::string_view type, RequestId id, const RoomHead& head,
                                      std::span<List> lists, std::string_view empty_list,
                                      std::size_t most_bytes) {
    std::vector<std::string> parts;
    PartWriter writer(lists, most_bytes);
    const bool nothing = writer.done();
    do {
        std::string& out = parts.emplace_back();
        ObjectWriter message(out);
        message.text("type", type);
        if (id) {
            message.integer("id", static_cast<std::int64_t>(*id));
        }
        append_head(message, head);
        if (nothing && !empty_list.empty()) {
            message.raw(empty_list, "[]");
        }
        writer.write(message);
        if (!writer.done()) {
            message.boolean("more", true);
        }
        message.close();
    } while (!writer.done());
    return parts;
}

}  // namespace

void append_member(std::string& out, const PresenceView& view, std::string_view meta) {
    ObjectWriter object(out);
    object.text("userId", view.user().text);
    object.text("status", wire_name(view.status()));
    if (!meta.empty()) {
        object.raw("meta", meta);
    }
    object.close();
}

std::vector<std::string> encode_room(RequestId id, const RoomHead& head,
                                     const std::vector<std::string_view>* members,
                                     std::size_t most_bytes) {
    std::array<List, 1> lists{List{"members", {}}};
    if (members != nullptr) {
        lists[0].pieces = *members;
    }
    return encode_parts("room", id, head, lists, members != nullptr ? "members" : "", most_bytes);
}

std::vector<std::string> encode_room_update(const RoomHead& head, const RoomChanges& changes,
                                            std::size_t most_bytes) {
    std::vector<std::string> quoted(changes.left.size());
    std::array<List, 3> lists{List{"joined", changes.joined}, List{"changed", changes.changed},
                              List{"left", {}}};
    for (std::size_t i = 0; i < quoted.size(); ++i) {
        append_json_string(quoted[i], changes.left[i]);
        lists[2].pieces.push_back(quoted[i]);
    }
    return encode_parts("roomUpdate", {}, head, lists, "", most_bytes);
}

}  // namespace presence::protocol
