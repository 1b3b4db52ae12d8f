#pragma once

#include "presence/api/api.h"
#include "presence/net/http.h"

#include <optional>

namespace presence::api {

/// What the node answers to anybody: its health, its contract, its pages, and in a demo the people
/// to play with. One thread.
class OpenPages {
public:
    explicit OpenPages(const ApiParts& parts) : parts_(parts) {}

    /// Empty: nothing that is open to anybody stands there.
    [[nodiscard]] std::optional<net::HttpResponse> answer(const net::HttpRequest& request) const;

private:
    [[nodiscard]] net::HttpResponse version() const;
    [[nodiscard]] net::HttpResponse deafen(const net::HttpRequest& request) const;
    [[nodiscard]] net::HttpResponse demo_token(const net::HttpRequest& request) const;

    ApiParts parts_;
};

}  // namespace presence::api
