#pragma once

#include "presence/base/result.h"
#include "presence/stores/redis/client.h"
#include "presence/stores/redis/keys.h"

#include <future>
#include <memory>
#include <string>

namespace presence::redis {

/// Holds all nodes of a deployment to the same number of partitions, as each finds a user's record
/// by it. The first node writes the number down; it stays while any node is up, and two days
/// longer. A node that finds another number uses the store no more, and says so.
class Deployment final : private Client::Listener {
public:
    static constexpr Millis kStays = std::chrono::hours{48};

    /// Begins to look. The client and the keys outlive it.
    Deployment(Client& client, const Keys& keys);
    ~Deployment() override;  ///< After the client was stopped.
    Deployment(const Deployment&) = delete;
    Deployment& operator=(const Deployment&) = delete;

    /// Blocks until it has looked, or `most` has passed: false.
    /// @retval ErrorCode::conflict  The store is another deployment's.
    [[nodiscard]] Result<bool> wait(Millis most);

private:
    void on_servers_changed() override;
    void look();
    void take(const Result<Reply>& answer);

    Client& client_;
    const Keys& keys_;
    std::promise<Result<bool>> first_;
    std::future<Result<bool>> first_made_ = first_.get_future();
    bool looking_ = false;
    bool seen_ = false;
};

}  // namespace presence::redis
