#include "presence/app/demo_people.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace presence::app {

namespace {

struct Sketch {
    std::string_view id;
    std::string_view name;
    DeviceKind device;
};

constexpr std::array<Sketch, 6> kPeople{{
    {"ada", "Ada Lovelace", DeviceKind::desktop},
    {"grace", "Grace Hopper", DeviceKind::web},
    {"hedy", "Hedy Lamarr", DeviceKind::mobile},
    {"emmy", "Emmy Noether", DeviceKind::desktop},
    {"katherine", "Katherine Johnson", DeviceKind::tablet},
    {"radia", "Radia Perlman", DeviceKind::web},
}};

struct Mood {
    DeclaredStatus status;
    std::string_view text;
    std::string_view emoji;
};

constexpr std::array<Mood, 7> kMoods{{
    {DeclaredStatus::automatic, "", ""},
    {DeclaredStatus::automatic, "Proofs before lunch", "📝"},
    {DeclaredStatus::busy, "In a review", "🔍"},
    {DeclaredStatus::dnd, "Debugging, please wait", "🐛"},
    {DeclaredStatus::away, "Getting tea", "🍵"},
    {DeclaredStatus::automatic, "Ask me about spanning trees", "🌳"},
    {DeclaredStatus::automatic, "", ""},
}};

/// No connection of any gateway: nothing can be sent to it or closed.
constexpr SlotId kNoConnection{UINT32_MAX, 1};

}  // namespace

DemoPeople::DemoPeople(const Clock& clock, const Shards& shards) : clock_(clock), shards_(shards) {}

std::string DemoPeople::people_json() {
    std::string json = R"({"people":[)";
    for (const Sketch& person : kPeople) {
        json += fmt::format(R"({}{{"userId":"{}","name":"{}"}})",
                            &person == kPeople.data() ? "" : ",", person.id, person.name);
    }
    return json + "]}";
}

void DemoPeople::start() {
    for (std::size_t i = 0; i < kPeople.size(); ++i) {
        auto person = std::make_shared<Person>();
        person->id = UserId(kPeople[i].id);
        person->home = shards_.homes.index_of(person->id);
        Scheduler& home = shards_.homes.thread(person->home);
        home.post([this, person, i] { next(person, Millis{static_cast<int>(i) * 700}); });
        home.post([this, person] { beat(person); });
    }
}

void DemoPeople::stop() {
    stopped_ = true;
}

void DemoPeople::next(const std::shared_ptr<Person>& person, Millis wait) {
    shards_.homes.thread(person->home).after(wait, [this, person] {
        if (!stopped_) {
            live(person);
        }
    });
}

void DemoPeople::beat(const std::shared_ptr<Person>& person) {
    if (stopped_) {
        return;
    }
    Shard& shard = *shards_.all[person->home];
    shard.service.heartbeat(person->session, clock_.now());
    shard.scheduler.after(shard.config.heartbeat.interval / 2, [this, person] { beat(person); });
}

Detached DemoPeople::live(std::shared_ptr<Person> person) {
    Shard& shard = *shards_.all[person->home];
    SystemRandom random;
    if (!person->session) {
        AttachRequest request;
        request.user = person->id;
        for (const Sketch& sketch : kPeople) {
            if (sketch.id == person->id.text) {
                request.device = Device{sketch.device, "simulated"};
            }
        }
        request.active = true;
        request.connection = kNoConnection;
        Result<Attachment> attached = co_await shard.service.attach(std::move(request));
        if (attached) {
            person->session = attached->session;
        }
    } else if (random.below(5) == 0) {
        const SlotId session = std::exchange(person->session, {});
        co_await shard.service.end(session, Cause::goodbye);
    } else if (random.below(4) == 0) {
        person->idle = !person->idle;
        const std::optional<Millis> ago = person->idle ? std::nullopt : std::optional(Millis{0});
        co_await shard.service.report_activity(person->session, ago);
    } else {
        const Mood& mood = kMoods[random.below(kMoods.size())];
        StatusChange change;
        change.status = mood.status;
        change.sets_custom = true;
        if (!mood.text.empty()) {
            change.custom = make_ref<const CustomStatus>(
                CustomStatus{std::string(mood.text), std::string(mood.emoji), std::nullopt});
        }
        co_await shard.service.change_status(person->id, std::move(change), false);
    }
    next(person, Millis{static_cast<std::int64_t>(4'000 + random.below(14'000))});
}

}  // namespace presence::app
