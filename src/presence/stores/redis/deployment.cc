#include "presence/stores/redis/deployment.h"

#include "presence/base/log.h"
#include "presence/stores/redis/scripts.h"
#include "presence/stores/redis/slots.h"

#include <fmt/format.h>

namespace presence::redis {

namespace {
constexpr Millis kLookEvery = std::chrono::minutes{10};
constexpr Millis kLookAgain{1'000};
}  // namespace

Deployment::Deployment(Client& client, const Keys& keys) : client_(client), keys_(keys) {
    client_.thread().post([this] {
        client_.add_listener(*this);
        look();
    });
}

Deployment::~Deployment() = default;

Result<bool> Deployment::wait(Millis most) {
    if (!client_.thread().wait(first_made_, most)) {
        return false;
    }
    return first_made_.get();
}

void Deployment::on_servers_changed() {
    if (!seen_) {
        look();
    }
}

void Deployment::look() {
    if (looking_) {
        return;
    }
    looking_ = true;
    Command command;
    command.script = &deployment_script();
    command.slot = slot_of(keys_.deployment());
    command.repeatable = true;
    command.arguments = {"1", keys_.deployment(), fmt::format("partitions {}", keys_.partitions()),
                         std::to_string(kStays.count())};
    client_.execute(std::move(command), [this](const Result<Reply>& answer) { take(answer); });
}

void Deployment::take(const Result<Reply>& answer) {
    looking_ = false;
    if (!answer) {
        client_.thread().after(kLookAgain, [this] { look(); });
        return;
    }
    const std::string ours = fmt::format("partitions {}", keys_.partitions());
    const std::string_view theirs = answer->view().text();
    const bool first = !std::exchange(seen_, true);
    if (theirs != ours) {
        Error error{ErrorCode::conflict,
                    fmt::format("the store belongs to a deployment with {}, this node has {}",
                                log::quoted(theirs, 40), ours),
                    0, 0};
        log::error("redis_other_deployment", "{}", error.message);
        client_.refuse(error.message);
        if (first) {
            first_.set_value(std::move(error));
        }
        return;
    }
    if (first) {
        first_.set_value(true);
    }
    client_.thread().after(kLookEvery, [this] { look(); });
}

}  // namespace presence::redis
