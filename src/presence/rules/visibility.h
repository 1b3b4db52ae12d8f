#pragma once

#include "presence/base/bit_row.h"
#include "presence/model/privacy.h"
#include "presence/model/view.h"

namespace presence::rules {

/// The rules in force where a user has set none, and whether hiding costs seeing.
struct PrivacyDefaults {
    PrivacyRule online{Audience::everyone, {}};
    PrivacyRule last_seen{Audience::contacts, {}};
    bool reciprocity = true;
};

/// One side of a question "may V see S": who it is and what is stored about them. `profile` is
/// null where nothing is stored.
struct Party {
    const UserId& user;
    const Profile* profile;
};

/// The one decision about who sees whom, DESIGN rule 24: S sees itself; V sees an attribute of S
/// if neither blocked the other and S's rule admits V, and, with reciprocity, if the same holds
/// the other way round. Last seen is given only to one who may also see `online` (RULINGS 5).
[[nodiscard]] Verdict judge(const Party& subject, const Party& viewer,
                            const PrivacyDefaults& defaults);

/// For a caller with an API key that named no viewer: everything.
[[nodiscard]] Verdict verdict_for_back_end();
/// For webhooks and whatever else goes by the public face: what one sees whom everybody admits.
[[nodiscard]] Verdict verdict_for_public_view();
/// Where the rules of either side were never read: nobody can tell (RULINGS 1).
[[nodiscard]] Verdict verdict_unread();

/// What one viewer may see of many subjects as far as `online` goes, a bit each, for lists where
/// each looks at each. Filled with verdicts, and the only thing beside judge() that gives them
/// back.
class VerdictRow {
public:
    void set(std::size_t place, Verdict verdict) { sees_.set(place, verdict.online()); }
    [[nodiscard]] bool sees(std::size_t place) const { return sees_.test(place); }
    /// Of `online` alone; nothing where it was not set.
    [[nodiscard]] Verdict at(std::size_t place) const;
    void clear() { sees_.clear(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return sees_.bytes(); }

private:
    BitRow sees_;
};

/// How an answer is to be made.
struct Viewing {
    WallTime now;
    bool show_devices = true;
    bool store_down = false;  ///< The status cannot be told: `unknown` for those who may see it.
    Status unknown_as = Status::unknown;  ///< What that is shown as (`degraded.show`).
    /// What one who never existed is shown as, and so whoever may not be seen (RULINGS 2).
    Status nobody_as = Status::offline;
    Version told{};  ///< What the viewer was told last of one of whom nothing can be read.
};

/// Makes the only thing that may leave for a client.
///
/// @param presence  Null: nobody of that name was ever here.
[[nodiscard]] PresenceView view_for(const UserId& subject, const Presence* presence,
                                    Verdict verdict, const Viewing& viewing);

/// The class of a time in the past. Under a minute: exact, uncut. From there the age is that of
/// the time cut to the minute (DESIGN rule 17, RULINGS 13). A time beyond `now` counts as now.
[[nodiscard]] LastSeenView last_seen_view(WallTime last_seen, WallTime now);

/// Why `judge` decided as it did, one line a check, for `explain`.
struct RuleCheck {
    std::string attribute;  ///< "online" or "lastSeen"
    std::string check;      ///< e.g. "subject blocks viewer", "subject's rule is contacts"
    bool passes = false;
    std::string why;
};
[[nodiscard]] std::vector<RuleCheck> explain(const Party& subject, const Party& viewer,
                                             const PrivacyDefaults& defaults);

}  // namespace presence::rules
