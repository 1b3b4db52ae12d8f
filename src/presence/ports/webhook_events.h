#pragma once

#include "presence/model/webhook_event.h"

namespace presence {

/// Where the flows leave what receivers of webhooks are to be told. One object a thread.
/// Implementation: core/webhook_writer.h.
class WebhookEvents {
public:
    virtual ~WebhookEvents() = default;
    /// False: nobody listens, so events need not be made.
    [[nodiscard]] virtual bool wanted() const = 0;
    /// Takes the event; never blocks. Events of one user, and of one room, are sent in the order
    /// in which they were noted.
    virtual void note(WebhookEvent event) = 0;
    /// What was noted of the user, and is not in the outbox yet, is told to nobody any more.
    virtual void forget(const UserId& user) = 0;
};

}  // namespace presence
