#include "presence/protocol/event_stream.h"

#include "presence/protocol/json_writer.h"

namespace presence::protocol {

void append_event(std::string& out, std::string_view name, std::uint64_t id,
                  std::string_view json) {
    out.append("event: ").append(name).append("\nid: ");
    append_integer(out, static_cast<std::int64_t>(id));
    out.append("\ndata: ").append(json).append("\n\n");
}

std::string encode_comment(std::string_view text) {
    return std::string(": ").append(text).append("\n\n");
}

std::string encode_retry(Millis wait) {
    std::string out = "retry: ";
    append_integer(out, wait.count());
    out.append("\n\n");
    return out;
}

}  // namespace presence::protocol
