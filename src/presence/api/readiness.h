#pragma once

#include "presence/api/api.h"
#include "presence/base/task.h"
#include "presence/model/store_health.h"
#include "presence/net/http.h"

namespace presence::api {

/// GET /readyz: whether new clients are welcome, and if not, why. Asks the stores, at most once a
/// second, as anybody may ask; that one refuses writes is what those who write have found. One
/// thread.
class Readiness {
public:
    explicit Readiness(const ApiParts& parts) : parts_(parts) {}

    [[nodiscard]] Task<net::HttpResponse> answer();

private:
    [[nodiscard]] Task<bool> ask_stores();
    [[nodiscard]] bool database_refused_lately();

    ApiParts parts_;
    MonoTime asked_at_;  ///< 0: never.
    StoreHealth store_ = StoreHealth::ok;
    StoreHealth database_ = StoreHealth::ok;
    std::uint64_t refused_ = 0;  ///< Writes that the database had refused by then.
    MonoTime refused_at_;        ///< When that number was last seen to grow; 0: never.
};

}  // namespace presence::api
