#pragma once

#include "presence/api/api.h"
#include "presence/base/task.h"
#include "presence/net/http.h"

namespace presence::api {

/// GET /readyz: whether new clients are welcome, and if not, why. Asks the stores, at most once a
/// second, as anybody may ask. One thread.
class Readiness {
public:
    explicit Readiness(const ApiParts& parts) : parts_(parts) {}

    [[nodiscard]] Task<net::HttpResponse> answer();

private:
    [[nodiscard]] Task<bool> ask_stores();

    ApiParts parts_;
    MonoTime asked_at_;  ///< 0: never.
    bool store_ok_ = true;
    bool database_ok_ = true;
};

}  // namespace presence::api
