// Any bytes, where a request line, an address or an origin should stand. The first byte chooses
// which; addresses are held against Asio's reading of them.
#include "presence/api/origin_check.h"
#include "presence/api/page_cursor.h"
#include "presence/api/poll_cursor.h"
#include "presence/api/request_target.h"
#include "presence/api/routes.h"
#include "presence/base/assert.h"
#include "presence/base/ids.h"
#include "presence/net/networks.h"

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace presence;

constexpr std::size_t kMostUsers = 8;

void try_path(std::string_view path) {
    std::string joined;
    for (const std::string_view piece : api::split_path(path)) {
        joined += '/';
        joined += piece;
        if (const auto decoded = api::decode_segment(piece)) {
            PRESENCE_ASSERT(decoded->size() <= piece.size());
        }
    }
    PRESENCE_ASSERT(joined.empty() ? !path.starts_with('/') : joined == path);
    for (const char* const method : {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"}) {
        if (const auto route = api::find_route(method, path)) {
            PRESENCE_ASSERT(path.starts_with("/v1/"));
            PRESENCE_ASSERT(route->user.find('/') == std::string_view::npos);
        }
    }
}

void try_query(std::string_view query) {
    static_cast<void>(api::has_parameter(query, "token"));
    const auto value = api::query_value(query, "users");
    PRESENCE_ASSERT(!value || value->has_value() == api::has_parameter(query, "users"));
    if (const auto users = api::query_users(query, "users", kMostUsers)) {
        PRESENCE_ASSERT(users->size() <= kMostUsers);
        for (const UserId& user : *users) {
            PRESENCE_ASSERT(check_id(user.text) == nullptr);
        }
    }
    if (const auto number = api::query_integer(query, "waitMs", 0, 30'000)) {
        PRESENCE_ASSERT(!*number || (**number >= 0 && **number <= 30'000));
    }
}

void try_cursors(std::string_view text) {
    const api::PollCursor poll = api::PollCursor::parse(text, kMostUsers);
    static_cast<void>(poll.holds(0));
    if (const auto last = api::decode_page_cursor(text)) {
        const std::string again = api::encode_page_cursor(*last);
        PRESENCE_ASSERT(api::decode_page_cursor(again) == last);
    }
    PRESENCE_ASSERT(text.empty() ||
                    api::decode_page_cursor(api::encode_page_cursor(text)) == std::string(text));
}

/// What Asio takes for an address we take for one, too, and a network of it holds it.
void try_address(std::string_view text) {
    const auto ours = net::parse_address(text);
    boost::system::error_code refused;
    boost::asio::ip::make_address(std::string(text), refused);
    // Asio takes names of interfaces behind `%`, which no proxy has a reason to send.
    const bool plain = text.find_first_of(std::string_view("%\0", 2)) == std::string_view::npos;
    if (!refused && plain) {
        PRESENCE_ASSERT(ours.has_value());
    }
    const std::vector<std::string> entries{std::string(text)};
    if (const auto networks = net::Networks::parse(entries); networks && ours) {
        PRESENCE_ASSERT(networks->contains(*ours));
    }
    net::HttpRequest request;
    request.headers.emplace_back("X-Forwarded-For", std::string(text));
    static_cast<void>(net::forwarded_for(request, net::Networks()));
}

void try_origin(std::string_view text) {
    const api::OriginCheck listed({"https://app.example.com", "http://localhost:3000"});
    if (listed.allows(text)) {
        PRESENCE_ASSERT(text.size() == 23 || text.size() == 21);
        PRESENCE_ASSERT(text.find('@') == std::string_view::npos);
    }
    PRESENCE_ASSERT(!api::OriginCheck({}).allows(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0]) {
        case 'p':
            try_path(text);
            break;
        case 'q':
            try_query(text);
            break;
        case 'c':
            try_cursors(text);
            break;
        case 'a':
            try_address(text);
            break;
        default:
            try_origin(text);
            break;
    }
    return 0;
}
