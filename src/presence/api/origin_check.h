#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace presence::api {

/// Which pages may call, by the Origin that their browsers send: scheme, host and port exactly as
/// listed (`https://app.example.com`), or `*` for any. A call without Origin is no browser's and
/// not this check's business. Immutable; any thread.
class OriginCheck {
public:
    /// @param allowed  Each one origin, or `*`. Letters of scheme and host in any case.
    explicit OriginCheck(std::vector<std::string> allowed);

    [[nodiscard]] bool allows(std::string_view origin) const;
    [[nodiscard]] bool any() const noexcept { return any_; }

private:
    std::vector<std::string> allowed_;  ///< In lower case.
    bool any_ = false;
};

}  // namespace presence::api
