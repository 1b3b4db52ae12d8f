#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/core/slot_pool.h"
#include "presence/core/token_bucket.h"
#include "presence/net/server.h"
#include "presence/ports/token_verifier.h"
#include "presence/rules/rooms.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace presence::gateway {

/// One WebSocket of one client, as the gateway sees it. Kept small: what most connections never
/// need is in `rare`.
struct ClientConnection {
    enum class Stage : std::uint8_t {
        greeting,   ///< Upgraded; `hello` has not been accepted yet.
        attaching,  ///< `hello` is being served.
        open,       ///< Welcomed.
        closing,    ///< The Close frame is out; nothing more is served.
    };

    /// What few connections use.
    struct Rare {
        std::optional<std::string> header_token;  ///< From the upgrade; until hello. Secret.
        /// A message that came while a request was under way, right after a hand-over.
        std::optional<std::string> waiting;
        TokenBucket lookups;
        TokenBucket signals;
        TokenBucket joins;
        std::optional<std::vector<std::string>> rooms;  ///< Patterns of the token; empty: all.
        TokenBucket mistakes;
        TokenBucket flood;  ///< Of messages, at ten times their rate.
    };

    net::ConnectionId net;
    SlotId session;  ///< In the presence service of this thread; empty: none.
    UserId user;
    TokenBucket messages;
    MonoTime warn_at;     ///< When `tokenExpiring` is due; 0: it was sent, or never is.
    MonoTime token_over;  ///< When the token ends, leeway included; 0: never.
    /// The timer's tick at which the token is looked at next; 0: none is filed. Looks filed under
    /// other ticks are of tokens that were replaced, and do nothing.
    std::uint32_t token_tick = 0;
    Stage stage = Stage::greeting;
    bool busy : 1 = false;    ///< A request is under way; the next waits in the socket.
    bool paused : 1 = false;  ///< `delivery: paused`.
    bool may_watch : 1 = true;
    bool may_status : 1 = true;
    bool may_privacy : 1 = true;
    bool slow_check : 1 = false;  ///< A look at whether it reads is filed.
    std::unique_ptr<Rare> rare;

    [[nodiscard]] bool may_enter(const RoomId& room) const {
        return !rare || rules::may_enter(rare->rooms, room);
    }

    [[nodiscard]] Rare& rarely() {
        if (!rare) {
            rare = std::make_unique<Rare>();
        }
        return *rare;
    }
};

}  // namespace presence::gateway
