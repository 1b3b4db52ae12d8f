#pragma once

#include "presence/ports/presence_bus.h"

#include "contract/nasty_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// Writes down what one endpoint is told.
class RecordingReceiver final : public PresenceBus::Receiver {
public:
    void on_presence(const PresenceEventRef& event) override {
        told.push_back(event->user.text + "@" + std::to_string(event->presence.own_version.value));
    }
    void on_profile_changed(const UserId& user, std::uint64_t revision) override {
        told.push_back("profile " + user.text + " " + std::to_string(revision));
    }
    void on_signal(const SignalRef& signal) override {
        told.push_back("signal " + signal->from.text + " to " +
                       (signal->room ? "room " + signal->room->text : signal->to.text));
    }
    void on_session_taken(const SessionTaken& taken) override {
        told.push_back("taken " + taken.session.text + " of " + taken.user.text + " at " +
                       std::to_string(taken.epoch.value) + " for " +
                       std::to_string(static_cast<int>(taken.reason)));
    }
    void on_end_set(const EndSet& set) override { told.push_back("end set of " + set.user.text); }
    void on_room(const RoomStatementRef& statement) override {
        told.push_back("room " + statement->room.text + " by " +
                       std::to_string(statement->node.value) + " #" +
                       std::to_string(statement->sequence));
    }
    void on_room_asked(const RoomId& room) override { told.push_back("asked " + room.text); }
    void on_session_stays(const SessionStays& stays) override {
        told.push_back("stays of " + stays.session.text);
    }
    void on_survey(const SurveyQuestionRef& question) override {
        told.push_back("question " + std::to_string(question->number));
    }
    void on_survey_answer(const SurveyAnswerRef& answer) override {
        told.push_back("answer " + std::to_string(answer->number));
    }
    std::vector<std::string> told;
};

/// What every PresenceBus promises. An `Adapter` has
///   PresenceBus& endpoint(int thread)  kThreads of them
///   T run(int thread, Task<T>)         runs a call to its end on that thread
///   NodeId node(int thread)            the node that the endpoint belongs to
///   void settle()                      runs everything that is under way
template <class Adapter>
class PresenceBusContract : public ::testing::Test {
protected:
    using Told = std::vector<std::string>;

    void SetUp() override {
        for (int thread = 0; thread < Adapter::kThreads; ++thread) {
            bus(thread).set_receiver(&receivers_.at(static_cast<std::size_t>(thread)));
        }
    }
    PresenceBus& bus(int thread) { return adapter_.endpoint(thread); }
    const Told& told(int thread) { return receivers_.at(static_cast<std::size_t>(thread)).told; }
    void subscribe(int thread, std::vector<UserId> users) {
        ASSERT_TRUE(adapter_.run(thread, bus(thread).subscribe(std::move(users))));
    }
    void publish(int thread, const UserId& user, std::uint64_t version) {
        auto event = std::make_shared<PresenceEvent>();
        event->user = user;
        event->presence.own_version = Version{version};
        bus(thread).publish(std::move(event));
    }

    void subscribe_room(int thread, const RoomId& room) {
        ASSERT_TRUE(adapter_.run(thread, bus(thread).subscribe_room(room)));
    }
    void publish_room(int thread, const RoomId& room, std::uint64_t sequence) {
        auto statement = std::make_shared<RoomStatement>();
        statement->node = NodeId{1};
        statement->room = room;
        statement->sequence = sequence;
        bus(thread).publish_room(std::move(statement));
    }

    Adapter adapter_;
    std::array<RecordingReceiver, static_cast<std::size_t>(Adapter::kThreads)> receivers_;
    const UserId ada_{"ada"};
    const UserId bob_{"bob"};
    const RoomId hall_{"hall"};
    const RoomId ada_room_{"ada"};  ///< Rooms and users are apart though their ids are the same.
};

TYPED_TEST_SUITE_P(PresenceBusContract);

TYPED_TEST_P(PresenceBusContract, OnlySubscribersAreTold) {
    this->subscribe(0, {this->ada_});
    this->subscribe(1, {this->ada_, this->bob_});
    this->publish(2, this->ada_, 1);
    this->adapter_.settle();  // Order is kept for each user, not between them.
    this->publish(2, this->bob_, 2);
    this->publish(2, UserId("carl"), 3);
    this->adapter_.settle();
    EXPECT_EQ(this->told(0), (typename TestFixture::Told{"ada@1"}));
    EXPECT_EQ(this->told(1), (typename TestFixture::Told{"ada@1", "bob@2"}));
    EXPECT_TRUE(this->told(2).empty());
}

TYPED_TEST_P(PresenceBusContract, APublisherThatSubscribedIsToldTooButNotWithinTheCall) {
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        this->subscribe(thread, {this->ada_});
    }
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        const std::size_t before = this->told(thread).size();
        this->publish(thread, this->ada_, 7);
        EXPECT_EQ(this->told(thread).size(), before);
        this->adapter_.settle();
        EXPECT_EQ(this->told(thread).size(), before + 1);
    }
}

TYPED_TEST_P(PresenceBusContract, TheOrderOfAUsersChangesIsKept) {
    constexpr std::uint64_t kChanges = 50;
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        this->subscribe(thread, {this->ada_});
    }
    typename TestFixture::Told expected;
    for (std::uint64_t version = 1; version <= kChanges; ++version) {
        this->publish(static_cast<int>(version) % TypeParam::kThreads, this->ada_, version);
        expected.push_back("ada@" + std::to_string(version));
    }
    this->adapter_.settle();
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        EXPECT_EQ(this->told(thread), expected) << thread;
    }
}

TYPED_TEST_P(PresenceBusContract, SubscribingTwiceTellsOnceAndUnsubscribingOnceEndsIt) {
    this->subscribe(0, {this->ada_, this->ada_});
    this->subscribe(0, {this->ada_});
    this->publish(1, this->ada_, 1);
    this->adapter_.settle();
    EXPECT_EQ(this->told(0).size(), 1U);
    this->bus(0).unsubscribe(this->ada_);
    this->bus(0).unsubscribe(UserId("never asked for"));
    this->adapter_.settle();
    this->publish(1, this->ada_, 2);
    this->adapter_.settle();
    EXPECT_EQ(this->told(0).size(), 1U);
}

TYPED_TEST_P(PresenceBusContract, SubscribingAgainAtOnceIsNotUndoneByTheUnsubscribe) {
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        this->subscribe(thread, {this->ada_, this->bob_});
        this->bus(thread).unsubscribe(this->ada_);
        this->subscribe(thread, {this->ada_, this->bob_});
        this->adapter_.settle();
        this->publish(0, this->ada_, 1);
        this->adapter_.settle();
        EXPECT_EQ(this->told(thread).size(), 1U) << thread;
        this->bus(thread).unsubscribe(this->ada_);
    }
}

TYPED_TEST_P(PresenceBusContract, UnsubscribingLeavesTheOthers) {
    this->subscribe(0, {this->ada_});
    this->subscribe(1, {this->ada_});
    this->bus(0).unsubscribe(this->ada_);
    this->adapter_.settle();
    this->publish(2, this->ada_, 1);
    this->adapter_.settle();
    EXPECT_TRUE(this->told(0).empty());
    EXPECT_EQ(this->told(1).size(), 1U);
}

TYPED_TEST_P(PresenceBusContract, SubscribingToNobodyCompletes) {
    this->subscribe(0, {});
}

TYPED_TEST_P(PresenceBusContract, ChangesOfProfilesReachEveryEndpoint) {
    this->bus(1).publish_profile_changed(this->ada_, 5);
    EXPECT_TRUE(this->told(1).empty());
    this->adapter_.settle();
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        EXPECT_EQ(this->told(thread), (typename TestFixture::Told{"profile ada 5"}));
    }
}

TYPED_TEST_P(PresenceBusContract, ASignalArrivesOnce) {
    auto signal = std::make_shared<SignalMessage>();
    signal->from = this->bob_;
    signal->to = this->ada_;
    this->bus(0).publish_signal(signal);
    this->adapter_.settle();
    std::size_t arrived = 0;
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        for (const std::string& what : this->told(thread)) {
            EXPECT_EQ(what, "signal bob to ada");
            ++arrived;
        }
    }
    EXPECT_EQ(arrived, 1U);
}

TYPED_TEST_P(PresenceBusContract, ATakenSessionIsToldOnceToItsHolder) {
    this->bus(0).publish_session_taken(
        {this->adapter_.node(1), this->ada_, SessionId("phone"), Epoch{5}, EndReason::kicked});
    this->adapter_.settle();
    std::size_t arrived = 0;
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        for (const std::string& what : this->told(thread)) {
            EXPECT_EQ(what, "taken phone of ada at 5 for 3");
            EXPECT_TRUE(this->adapter_.node(thread) == this->adapter_.node(1));
            ++arrived;
        }
    }
    EXPECT_EQ(arrived, 1U);
}

TYPED_TEST_P(PresenceBusContract, AnEndThatWasSetIsToldOnceToTheNodeThatHoldsASession) {
    this->bus(0).publish_end_set({this->adapter_.node(1), this->ada_});
    this->adapter_.settle();
    std::size_t arrived = 0;
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        for (const std::string& what : this->told(thread)) {
            EXPECT_EQ(what, "end set of ada");
            EXPECT_TRUE(this->adapter_.node(thread) == this->adapter_.node(1));
            ++arrived;
        }
    }
    EXPECT_EQ(arrived, 1U);
}

TYPED_TEST_P(PresenceBusContract, StatementsReachThoseWhoSubscribedToTheRoom) {
    this->subscribe_room(0, this->hall_);
    this->subscribe_room(1, this->hall_);
    this->subscribe_room(1, this->ada_room_);
    this->subscribe(2, {this->ada_});
    this->publish_room(2, this->hall_, 1);
    this->publish_room(0, this->ada_room_, 2);
    EXPECT_TRUE(this->told(0).empty());  // Never within the call.
    this->adapter_.settle();
    EXPECT_EQ(this->told(0), (typename TestFixture::Told{"room hall by 1 #1"}));
    // In order for each room; between rooms nothing is promised.
    EXPECT_THAT(this->told(1),
                ::testing::UnorderedElementsAre("room hall by 1 #1", "room ada by 1 #2"));
    EXPECT_TRUE(this->told(2).empty());
    this->bus(0).unsubscribe_room(this->hall_);
    this->bus(0).unsubscribe_room(RoomId("never asked for"));
    this->adapter_.settle();
    this->publish_room(1, this->hall_, 3);
    this->adapter_.settle();
    EXPECT_EQ(this->told(0).size(), 1U);
    EXPECT_EQ(this->told(1).size(), 3U);
}

TYPED_TEST_P(PresenceBusContract, StatementsKeepTheOrderInWhichANodeMadeThem) {
    constexpr std::uint64_t kStatements = 50;
    typename TestFixture::Told expected;
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        this->subscribe_room(thread, this->hall_);
    }
    for (std::uint64_t sequence = 1; sequence <= kStatements; ++sequence) {
        this->publish_room(0, this->hall_, sequence);
        expected.push_back("room hall by 1 #" + std::to_string(sequence));
    }
    this->adapter_.settle();
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        EXPECT_EQ(this->told(thread), expected) << thread;
    }
}

TYPED_TEST_P(PresenceBusContract, SubscribingToARoomAgainAtOnceIsNotUndoneByTheUnsubscribe) {
    for (int thread = 0; thread < TypeParam::kThreads; ++thread) {
        this->subscribe_room(thread, this->hall_);
        this->bus(thread).unsubscribe_room(this->hall_);
        this->subscribe_room(thread, this->hall_);
        this->adapter_.settle();
        this->publish_room(0, this->hall_, 1);
        this->adapter_.settle();
        EXPECT_EQ(this->told(thread).size(), 1U) << thread;
        this->bus(thread).unsubscribe_room(this->hall_);
    }
}

TYPED_TEST_P(PresenceBusContract, AQuestionAboutARoomReachesAllWhoSubscribedToIt) {
    this->subscribe_room(0, this->hall_);
    this->subscribe_room(2, this->hall_);
    this->subscribe_room(1, this->ada_room_);
    this->bus(0).ask_room(this->hall_);
    this->adapter_.settle();
    EXPECT_EQ(this->told(0), (typename TestFixture::Told{"asked hall"}));
    EXPECT_TRUE(this->told(1).empty());
    EXPECT_EQ(this->told(2), (typename TestFixture::Told{"asked hall"}));
}

TYPED_TEST_P(PresenceBusContract, ASignalToARoomReachesAllWhoSubscribedToIt) {
    this->subscribe_room(0, this->hall_);
    this->subscribe_room(1, this->hall_);
    this->subscribe_room(2, this->ada_room_);
    auto signal = std::make_shared<SignalMessage>();
    signal->from = this->bob_;
    signal->room = this->hall_;
    this->bus(1).publish_signal(signal);
    this->adapter_.settle();
    EXPECT_EQ(this->told(0), (typename TestFixture::Told{"signal bob to room hall"}));
    EXPECT_EQ(this->told(1), (typename TestFixture::Told{"signal bob to room hall"}));
    EXPECT_TRUE(this->told(2).empty());
}

TYPED_TEST_P(PresenceBusContract, AnEndpointWithoutAReceiverIsNotCalled) {
    this->subscribe(0, {this->ada_});
    this->subscribe_room(0, this->hall_);
    this->publish(1, this->ada_, 1);
    this->publish_room(1, this->hall_, 1);
    this->bus(0).publish_profile_changed(this->ada_, 1);
    this->bus(0).set_receiver(nullptr);
    this->adapter_.settle();
    EXPECT_TRUE(this->told(0).empty());
}

TYPED_TEST_P(PresenceBusContract, FO_069_FO_070_FO_071_IdsAreTakenToTheLetter) {
    for (const UserId& id : nasty_ids()) {
        this->publish(1, id, 1);  // Before anybody subscribed: lost.
    }
    this->adapter_.settle();
    typename TestFixture::Told expected;
    for (const UserId& id : nasty_ids()) {
        this->subscribe(0, {id});
        this->publish(1, id, 2);
        expected.push_back(id.text + "@2");
        this->adapter_.settle();
        ASSERT_EQ(this->told(0), expected);
    }
    for (const UserId& id : nasty_ids()) {
        const RoomId room(id.text);
        this->publish_room(1, room, 1);  // Before anybody subscribed: lost.
        this->adapter_.settle();
        this->subscribe_room(0, room);
        this->publish_room(1, room, 2);
        expected.push_back("room " + room.text + " by 1 #2");
        this->adapter_.settle();
        ASSERT_EQ(this->told(0), expected);
    }
}

REGISTER_TYPED_TEST_SUITE_P(
    PresenceBusContract, OnlySubscribersAreTold,
    APublisherThatSubscribedIsToldTooButNotWithinTheCall, TheOrderOfAUsersChangesIsKept,
    SubscribingTwiceTellsOnceAndUnsubscribingOnceEndsIt,
    SubscribingAgainAtOnceIsNotUndoneByTheUnsubscribe, UnsubscribingLeavesTheOthers,
    SubscribingToNobodyCompletes, ChangesOfProfilesReachEveryEndpoint, ASignalArrivesOnce,
    ATakenSessionIsToldOnceToItsHolder, AnEndThatWasSetIsToldOnceToTheNodeThatHoldsASession,
    StatementsReachThoseWhoSubscribedToTheRoom, StatementsKeepTheOrderInWhichANodeMadeThem,
    SubscribingToARoomAgainAtOnceIsNotUndoneByTheUnsubscribe,
    AQuestionAboutARoomReachesAllWhoSubscribedToIt, ASignalToARoomReachesAllWhoSubscribedToIt,
    AnEndpointWithoutAReceiverIsNotCalled, FO_069_FO_070_FO_071_IdsAreTakenToTheLetter);

}  // namespace presence::testing
