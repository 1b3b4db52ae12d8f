// Any bytes, as an HTTP client might send them: requests must come out the same however the bytes
// arrive, within the limits, and handshakes must be judged without a crash.
#include "presence/base/assert.h"
#include "presence/net/handshake.h"
#include "presence/net/http_parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using presence::net::HttpParser;
using presence::net::HttpRequest;

constexpr std::uint32_t kHead = 1024;
constexpr std::uint32_t kBody = 512;

void append(std::vector<std::string>& told, HttpRequest& request) {
    PRESENCE_ASSERT(request.body.size() <= kBody);
    PRESENCE_ASSERT(request.path().size() + request.query().size() <= request.target.size());
    told.push_back(request.method);
    told.push_back(request.target);
    told.push_back(request.body);
    for (const auto& [name, value] : request.headers) {
        PRESENCE_ASSERT(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
        told.push_back(name);
        told.push_back(value);
    }
    if (!presence::net::inspect_handshake(request) && request.is_upgrade) {
        told.push_back(presence::net::encode_accept(*request.header("Sec-WebSocket-Key"), ""));
    }
}

std::vector<std::string> read(std::string_view stream, std::size_t step) {
    std::vector<std::string> told;
    HttpParser parser({kHead, kBody});
    std::string unread;
    for (std::size_t at = 0; at < stream.size(); at += step) {
        unread += stream.substr(at, step);
        for (;;) {
            const std::size_t used = parser.feed(unread);
            PRESENCE_ASSERT(used <= unread.size());
            unread.erase(0, used);
            if (parser.state() == HttpParser::State::failed) {
                told.emplace_back("failed");
                return told;
            }
            PRESENCE_ASSERT(unread.size() <= 2 * kHead + step ||
                            parser.state() == HttpParser::State::complete);
            if (parser.state() != HttpParser::State::complete) {
                break;
            }
            append(told, parser.request());
            parser.next();
        }
    }
    return told;
}

bool drop_failure(std::vector<std::string>& told) {
    const bool failed = !told.empty() && told.back() == "failed";
    if (failed) {
        told.pop_back();
    }
    return failed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
    auto whole = read(stream, std::max<std::size_t>(stream.size(), 1));
    auto pieces = read(stream, 1 + data[0] % 32);
    const bool whole_failed = drop_failure(whole);
    const bool failed = drop_failure(pieces) || whole_failed;
    // A broken request may be known as such only when more of it is there; what was whole before
    // it is the same.
    const std::size_t common = std::min(whole.size(), pieces.size());
    PRESENCE_ASSERT(failed || whole.size() == pieces.size());
    whole.resize(common);
    pieces.resize(common);
    PRESENCE_ASSERT(whole == pieces);
    return 0;
}
