#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/model/presence.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace presence {

class PresenceView;
class Verdict;

namespace rules {
struct Viewing;
struct VerdictMaker;
[[nodiscard]] PresenceView view_for(const UserId& subject, const Presence* presence,
                                    Verdict verdict, const Viewing& viewing);
}  // namespace rules

/// What a viewer may see of a subject, one byte, kept with each watch so that fan-out only tests
/// bits. Made by rules::judge and by the named makers in rules/visibility.h; without one, nothing
/// is seen.
class Verdict {
public:
    constexpr Verdict() = default;

    [[nodiscard]] constexpr bool online() const noexcept { return bits_ & kOnline; }
    [[nodiscard]] constexpr bool last_seen() const noexcept { return bits_ & kLastSeen; }
    /// The user's own sessions and back ends: the own face, invisibility and all.
    [[nodiscard]] constexpr bool own() const noexcept { return bits_ & kOwn; }
    /// No verdict could be reached (a rule was never read): shown as `unknown`, version 0.
    [[nodiscard]] constexpr bool unread() const noexcept { return bits_ & kUnread; }

    friend constexpr bool operator==(Verdict, Verdict) = default;

private:
    friend struct rules::VerdictMaker;
    static constexpr std::uint8_t kOnline = 1;
    static constexpr std::uint8_t kLastSeen = 2;
    static constexpr std::uint8_t kOwn = 4;
    static constexpr std::uint8_t kUnread = 8;
    explicit constexpr Verdict(unsigned bits) : bits_(static_cast<std::uint8_t>(bits)) {}
    std::uint8_t bits_ = 0;
};

/// How long ago somebody was last seen, in the classes of PROTOCOL.md "Presence object".
enum class Granularity : std::uint8_t { exact, recent, today, this_week, this_month, long_ago };

[[nodiscard]] constexpr std::string_view wire_name(Granularity granularity) noexcept {
    switch (granularity) {
        case Granularity::exact:
            return "exact";
        case Granularity::recent:
            return "recent";
        case Granularity::today:
            return "today";
        case Granularity::this_week:
            return "thisWeek";
        case Granularity::this_month:
            return "thisMonth";
        case Granularity::long_ago:
            return "longAgo";
    }
    return "longAgo";
}

struct LastSeenView {
    Granularity granularity = Granularity::long_ago;
    std::optional<WallTime> at;  ///< Only with `exact` and `recent`.
    friend bool operator==(const LastSeenView&, const LastSeenView&) = default;
};

/// What one viewer is told about one user. Made only by rules::view_for, and the only thing that
/// an encoder takes, so an unfiltered Presence cannot reach a client: it does not compile.
class PresenceView {
public:
    [[nodiscard]] const UserId& user() const noexcept { return user_; }
    [[nodiscard]] Status status() const noexcept { return status_; }
    [[nodiscard]] Version version() const noexcept { return version_; }
    [[nodiscard]] std::optional<WallTime> since() const noexcept { return since_; }
    [[nodiscard]] const CustomStatusRef& custom() const noexcept { return custom_; }
    /// Empty where the viewer is not told about devices.
    [[nodiscard]] std::optional<DeviceSet> devices() const noexcept { return devices_; }
    [[nodiscard]] const std::optional<LastSeenView>& last_seen() const noexcept {
        return last_seen_;
    }
    /// Only in a view for the user's own sessions.
    struct DeclaredView {
        DeclaredStatus status = DeclaredStatus::automatic;
        bool session_scope = false;
        std::optional<WallTime> expires_at;
    };
    [[nodiscard]] const std::optional<DeclaredView>& declared() const noexcept { return declared_; }

private:
    friend PresenceView rules::view_for(const UserId& subject, const Presence* presence,
                                        Verdict verdict, const rules::Viewing& viewing);
    explicit PresenceView(UserId user) : user_(std::move(user)) {}

    UserId user_;
    Status status_ = Status::offline;
    Version version_;
    std::optional<WallTime> since_;
    CustomStatusRef custom_;
    std::optional<DeviceSet> devices_;
    std::optional<LastSeenView> last_seen_;
    std::optional<DeclaredView> declared_;
};

}  // namespace presence
