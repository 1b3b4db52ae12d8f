#pragma once

#include "presence/base/clock.h"
#include "presence/base/random.h"
#include "presence/core/shard.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace presence::app {

/// A few people who come, go, idle and say what they are doing, so that the demo page lives. They
/// go through the same doors as everybody: attach, beat, declare, end.
class DemoPeople {
public:
    DemoPeople(const Clock& clock, const Shards& shards);

    void start();  ///< Any thread.
    void stop();   ///< Any thread. They end where they are, with the process.

    /// `{"people":[{"userId","name"}]}`
    [[nodiscard]] static std::string people_json();

private:
    struct Person {
        UserId id;
        std::size_t home = 0;
        SlotId session;
        bool idle = false;
    };
    Detached live(std::shared_ptr<Person> person);
    void next(const std::shared_ptr<Person>& person, Millis wait);
    void beat(const std::shared_ptr<Person>& person);

    const Clock& clock_;
    const Shards& shards_;
    std::atomic<bool> stopped_{false};
};

}  // namespace presence::app
