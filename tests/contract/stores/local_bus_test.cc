#include "presence/stores/memory/local_bus.h"

#include "contract/presence_bus_contract.h"
#include "support/loop_scheduler.h"
#include "support/run_task.h"
#include "support/virtual_time.h"

#include <atomic>
#include <deque>
#include <map>
#include <thread>

namespace presence::testing {

namespace {

class LocalBusAdapter {
public:
    static constexpr int kThreads = 3;

    PresenceBus& endpoint(int thread) { return bus_.endpoint(static_cast<std::size_t>(thread)); }
    template <class T>
    T run(int /*thread*/, Task<T> task) {
        return run_until_complete(scheduler_, std::move(task));
    }
    NodeId node(int /*thread*/) const { return NodeId{1}; }
    void settle() { scheduler_.run_ready(); }

private:
    VirtualClock clock_;
    VirtualScheduler scheduler_{clock_};
    LocalBus bus_{{&scheduler_, &scheduler_, &scheduler_}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Local, PresenceBusContract, LocalBusAdapter);

TEST(LocalBus, NothingIsKeptOfSubscriptionsThatEnded) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    LocalBus bus({&scheduler, &scheduler});
    std::vector<UserId> users;
    for (int i = 0; i < 100; ++i) {
        users.emplace_back("user " + std::to_string(i));
    }
    for (std::size_t thread : {0U, 1U}) {
        ASSERT_TRUE(run_until_complete(scheduler, bus.endpoint(thread).subscribe(users)));
    }
    EXPECT_EQ(bus.subscribed_users(0) + bus.subscribed_users(1), users.size());
    EXPECT_GT(bus.subscribed_users(0), 20U);  // Homes are spread.
    EXPECT_GT(bus.subscribed_users(1), 20U);
    for (const UserId& user : users) {
        bus.endpoint(0).unsubscribe(user);
        bus.endpoint(1).unsubscribe(user);
    }
    scheduler.run_ready();
    EXPECT_EQ(bus.subscribed_users(0) + bus.subscribed_users(1), 0U);
}

TEST(LocalBus, NothingIsKeptOfRoomsThatNobodySubscribedToAnyMore) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    LocalBus bus({&scheduler, &scheduler});
    for (int i = 0; i < 100; ++i) {
        const RoomId room("room " + std::to_string(i));
        for (std::size_t thread : {0U, 1U}) {
            ASSERT_TRUE(run_until_complete(scheduler, bus.endpoint(thread).subscribe_room(room)));
        }
    }
    EXPECT_EQ(bus.subscribed_rooms(0) + bus.subscribed_rooms(1), 100U);
    for (int i = 0; i < 100; ++i) {
        for (std::size_t thread : {0U, 1U}) {
            bus.endpoint(thread).unsubscribe_room(RoomId("room " + std::to_string(i)));
        }
    }
    scheduler.run_ready();
    EXPECT_EQ(bus.subscribed_rooms(0) + bus.subscribed_rooms(1), 0U);
}

TEST(LocalBus, ASignalGoesToTheHomeOfItsReader) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    LocalBus bus({&scheduler, &scheduler, &scheduler});
    std::vector<RecordingReceiver> receivers(bus.endpoints());
    for (std::size_t i = 0; i < receivers.size(); ++i) {
        bus.endpoint(i).set_receiver(&receivers[i]);
    }
    for (int i = 0; i < 30; ++i) {
        auto signal = std::make_shared<SignalMessage>();
        signal->to = UserId("user " + std::to_string(i));
        bus.endpoint(0).publish_signal(signal);
        scheduler.run_ready();
        EXPECT_EQ(receivers[bus.home_of(signal->to)].told.size(), 1U);
        receivers[bus.home_of(signal->to)].told.clear();
    }
}

/// One real thread a gateway; each publishes its own users' changes and watches all others'.
class Gateway {
public:
    static constexpr int kUsers = 5;
    static constexpr std::uint64_t kChanges = 200;

    void start(LocalBus& bus, std::size_t index, std::atomic<int>& subscribed) {
        thread_ = std::thread([this, &bus, index, &subscribed] { work(bus, index, subscribed); });
    }
    void join() { thread_.join(); }

    LoopScheduler loop;
    RecordingReceiver receiver;

private:
    static UserId user(std::size_t gateway, int number) {
        return UserId(std::to_string(gateway) + "/" + std::to_string(number));
    }
    void work(LocalBus& bus, std::size_t index, std::atomic<int>& subscribed) {
        PresenceBus& end = bus.endpoint(index);
        end.set_receiver(&receiver);
        std::vector<UserId> all;
        for (std::size_t gateway = 0; gateway < bus.endpoints(); ++gateway) {
            for (int number = 0; number < kUsers; ++number) {
                all.push_back(user(gateway, number));
            }
        }
        EXPECT_TRUE(run_until_complete(loop, end.subscribe(all)));
        ++subscribed;
        const int everybody = static_cast<int>(bus.endpoints());
        EXPECT_TRUE(loop.run_until([&] {
            loop.after(Millis{1}, [] {});  // Look again: others do not wake this thread for it.
            return subscribed == everybody;
        }));
        for (std::uint64_t version = 1; version <= kChanges; ++version) {
            for (int number = 0; number < kUsers; ++number) {
                auto event = std::make_shared<PresenceEvent>();
                event->user = user(index, number);
                event->presence.own_version = Version{version};
                end.publish(std::move(event));
            }
            loop.run_ready();
        }
        const std::size_t expected = all.size() * kChanges;
        EXPECT_TRUE(loop.run_until([&] { return receiver.told.size() >= expected; }));
    }

    std::thread thread_;
};

TEST(LocalBus, RealThreadsHearAllChangesOfAllUsersInOrder) {
    constexpr std::size_t kThreads = 4;
    std::deque<Gateway> gateways(kThreads);
    std::vector<Scheduler*> loops;
    for (Gateway& gateway : gateways) {
        loops.push_back(&gateway.loop);
    }
    LocalBus bus(loops);
    std::atomic<int> subscribed = 0;
    for (std::size_t i = 0; i < kThreads; ++i) {
        gateways[i].start(bus, i, subscribed);
    }
    // A thread that has heard everything has also passed on everything: it tells others first.
    for (Gateway& gateway : gateways) {
        gateway.join();
    }
    for (Gateway& gateway : gateways) {
        std::map<std::string, std::uint64_t> last;
        for (const std::string& told : gateway.receiver.told) {
            const std::size_t at = told.rfind('@');
            EXPECT_EQ(std::stoull(told.substr(at + 1)), ++last[told.substr(0, at)]) << told;
        }
        EXPECT_EQ(last.size(), kThreads * Gateway::kUsers);
    }
}

}  // namespace

}  // namespace presence::testing
