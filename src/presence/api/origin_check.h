#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace presence::api {

/// Which pages may call, by the Origin that their browsers send: scheme, host and port exactly as
/// listed (`https://app.example.com`), or `*` for any. A call without Origin is no browser's and
/// not this check's business. Any thread.
class OriginCheck {
public:
    /// @param allowed  Each one origin, or `*`. Letters of scheme and host in any case.
    explicit OriginCheck(const std::vector<std::string>& allowed) { replace(allowed); }

    /// Other origins from now on.
    void replace(const std::vector<std::string>& allowed);

    [[nodiscard]] bool allows(std::string_view origin) const;
    [[nodiscard]] bool any() const noexcept { return list()->any; }

private:
    struct List {
        std::vector<std::string> origins;  ///< In lower case, sorted.
        bool any = false;
    };
    [[nodiscard]] std::shared_ptr<const List> list() const noexcept { return list_.load(); }
    std::atomic<std::shared_ptr<const List>> list_;
};

}  // namespace presence::api
