// What became of tokens, and of calls of webhooks.

#include "presence/app/metric_tables.h"

#include <utility>

namespace presence::app {

using telemetry::MetricPage;

void write_tokens(MetricPage& page, const auth::JwtCounters& counts) {
    page.counter("presenced_tokens_accepted_total", "Tokens that were good.",
                 static_cast<double>(counts.accepted));
    for (std::size_t i = 1; i < auth::kRefusalCount; ++i) {
        page.counter("presenced_tokens_refused_total", "Tokens that were refused, by reason.",
                     static_cast<double>(counts.refused[i]),
                     {{"reason", auth::name_of(static_cast<auth::Refusal>(i))}});
    }
    page.counter("presenced_key_set_fetches_total", "Fetches of auth.jwks.",
                 static_cast<double>(counts.key_set_fetches));
    page.counter("presenced_key_set_failures_total", "Fetches of auth.jwks that failed.",
                 static_cast<double>(counts.key_set_failures));
}

void write_webhooks(MetricPage& page, const webhooks::SenderCounters& counts) {
    const std::pair<const char*, std::uint64_t> outcomes[]{{"delivered", counts.delivered},
                                                           {"refused", counts.refused},
                                                           {"gone", counts.gone},
                                                           {"unanswered", counts.unanswered}};
    for (const auto& [outcome, count] : outcomes) {
        page.counter("presenced_webhook_calls_total", "Calls of receivers, by what came of them.",
                     static_cast<double>(count), {{"outcome", outcome}});
    }
    page.counter("presenced_webhook_batches_given_up_total",
                 "Batches tried for a day in vain, which are dead letters now.",
                 static_cast<double>(counts.given_up));
    page.gauge("presenced_webhook_outbox_entries",
               "Events in the outbox that all nodes share, when it was last counted.",
               static_cast<double>(counts.waiting));
}

}  // namespace presence::app
