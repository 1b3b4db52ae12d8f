#include "client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace presence::sim {

namespace {

/// A heartbeat, or anything else, that is unanswered for that long means a dead link.
constexpr Millis kPatience{10'000};
constexpr Millis kFirstBackoff{300};
constexpr int kMostDoublings = 5;
/// Before the code of an end among the texts that came while frozen.
constexpr char kEndMark = '#';
/// As good as for ever.
constexpr std::chrono::hours kForEver{1'000};

std::string list_of(const std::set<std::string>& users) {
    std::string list;
    for (const std::string& user : users) {
        list += (list.empty() ? "\"" : ",\"") + user + "\"";
    }
    return list;
}

}  // namespace

Client::Client(Parts parts) : parts_(std::move(parts)), random_(parts_.seed) {}

Millis Client::jittered(Millis about) {
    const auto tenth = static_cast<std::uint64_t>(about.count() / 10);
    return about - Millis{static_cast<std::int64_t>(tenth)} +
           Millis{static_cast<std::int64_t>(random_.below(2 * tenth + 1))};
}

void Client::come() {
    wants_ = true;
    failures_ = 0;
    if (stage_ == Stage::away && !frozen_) {
        connect();
    }
}

void Client::connect_later(Millis wait) {
    parts_.scheduler.cancel(connect_timer_);
    connect_timer_ = parts_.scheduler.after(wait, [this] {
        if (wants_ && stage_ == Stage::away && !frozen_) {
            connect();
        }
    });
}

void Client::connect() {
    parts_.scheduler.cancel(connect_timer_);
    door_ = parts_.doors.any_door(random_);
    if (door_ == nullptr) {
        connect_later(jittered(Millis{1'000}));
        return;
    }
    stage_ = Stage::greeting;
    connection_ = door_->open(*this);
    std::string body =
        fmt::format(R"("type":"hello","token":"{}","device":{{"type":"web"}})", parts_.user);
    if (!resume_.empty()) {
        body += fmt::format(R"(,"resume":"{}")", resume_);
    }
    send_asking(body, Asked::What::beat);
}

void Client::forget_connection() {
    parts_.scheduler.cancel(beat_timer_);
    stage_ = Stage::away;
    connection_ = 0;
    door_ = nullptr;
    hears_since_.reset();
    forget_rooms();
    quiet_ = clogged_ = false;
    for (const auto& [request, asked] : std::exchange(asked_, {})) {
        if (asked.what == Asked::What::change) {
            parts_.watcher.on_answer(*this, request, false);
        }
    }
}

/// It gives the connection up without a word, and comes back.
void Client::drop() {
    if (door_ != nullptr) {
        door_->vanish(connection_);
    }
    forget_connection();
    const int doublings = std::min(failures_++, kMostDoublings);
    connect_later(jittered(kFirstBackoff * (1 << doublings)));
}

void Client::bye() {
    wants_ = false;
    if (stage_ == Stage::open && !frozen_) {
        send(R"("type":"bye")");
    } else if (stage_ == Stage::greeting) {
        door_->leave(connection_, false);
        forget_connection();
    }
    resume_.clear();
    held_.clear();
    watched_.clear();
    for (const std::string& room : rooms_) {
        rooms_left_at_[room] = parts_.clock.now();
    }
    rooms_.clear();
    leaving_.clear();
}

void Client::lose(bool says_close) {
    if (stage_ != Stage::away && !frozen_) {
        door_->leave(connection_, says_close);
        forget_connection();
        if (wants_) {
            connect_later(jittered(kFirstBackoff));
        }
    }
}

void Client::put_away(bool says_close) {
    if (!frozen_) {
        wants_ = false;
        lose(says_close);
    }
}

void Client::freeze(Millis lasts) {
    if (frozen_) {
        return;
    }
    frozen_ = true;
    parts_.scheduler.after(lasts, [this, lasts, mine = ++freezes_] {
        if (mine != freezes_) {
            return;
        }
        frozen_ = false;
        frozen_since_ = parts_.clock.now() - lasts;
        for (auto& [connection, text] : std::exchange(stored_, {})) {
            if (text.front() == kEndMark) {
                on_end(connection, static_cast<std::uint16_t>(std::stoi(text.substr(1))));
            } else {
                on_text(connection, text);
            }
        }
        frozen_since_.reset();
        if (stage_ == Stage::away && wants_) {
            connect_later(jittered(kFirstBackoff));
        } else if (stage_ == Stage::open && !wants_) {
            send(R"("type":"bye")");
        } else if (stage_ == Stage::open) {
            beat();                             // A page that becomes visible beats at once.
            set_quiet(quiet_ && wants_quiet_);  // What it wanted to say while it slept.
        } else if (stage_ == Stage::greeting) {
            drop();
        }
    });
}

void Client::send(std::string body) {
    door_->say(connection_, "{" + std::move(body) + "}");
}

std::uint64_t Client::send_asking(const std::string& body, Asked::What what,
                                  const std::string& room) {
    const std::uint64_t request = ++last_request_;
    asked_[request] = {what, room};
    send(fmt::format(R"({},"id":{})", body, request));
    parts_.scheduler.after(kPatience, [this, request] { after_timeout(request); });
    return request;
}

void Client::after_timeout(std::uint64_t request) {
    if (asked_.contains(request) && !frozen_) {
        drop();
    }
}

bool Client::ask(const std::string& body) {
    if (stage_ != Stage::open || frozen_) {
        return false;
    }
    const std::uint64_t request = send_asking(body, Asked::What::change);
    parts_.watcher.on_asked(*this, request, body);
    return true;
}

void Client::beat_later(Millis wait) {
    parts_.scheduler.cancel(beat_timer_);
    beat_timer_ = parts_.scheduler.after(wait, [this] { beat(); });
}

void Client::beat() {
    if (stage_ != Stage::open || frozen_) {
        return;
    }
    send_asking(R"("type":"heartbeat")", Asked::What::beat);
    beat_later(jittered(parts_.interval));
}

void Client::watch(std::vector<std::string> users) {
    if (frozen_) {
        return;
    }
    watched_ = {users.begin(), users.end()};
    std::erase_if(held_, [this](const auto& one) { return !watched_.contains(one.first); });
    if (stage_ == Stage::open && !frozen_) {
        send_watch();
    }
}

void Client::send_watch() {
    hears_since_.reset();
    if (watched_.empty()) {
        return;
    }
    std::string known;
    for (const auto& [user, held] : held_) {
        if (held.status != "unknown" && watched_.contains(user)) {
            known += fmt::format(R"({}"{}":{})", known.empty() ? "" : ",", user, held.version);
        }
    }
    send_asking(fmt::format(R"("type":"watch","mode":"set","users":[{}],"known":{{{}}})",
                            list_of(watched_), known),
                Asked::What::watch);
}

void Client::look() {
    if (stage_ == Stage::open && !frozen_ && !watched_.empty()) {
        looked_.clear();
        held_before_ = held_;
        send_asking(fmt::format(R"("type":"get","users":[{}])", list_of(watched_)),
                    Asked::What::get);
    }
}

void Client::set_quiet(bool quiet) {
    wants_quiet_ = quiet;
    if (stage_ == Stage::open && !frozen_ && quiet != quiet_) {
        quiet_ = quiet;
        send(fmt::format(R"("type":"delivery","mode":"{}")", quiet ? "paused" : "live"));
        if (!quiet && !clogged_) {
            hear_anew(parts_.clock.now());
        }
    }
}

void Client::set_clogged(bool clogged) {
    if (clogged) {
        clogged_since_ = parts_.clock.now();
    } else {
        // By then it has read what was kept for it.
        parts_.scheduler.after(Millis{100}, [this, since = clogged_since_] {
            if (clogged_since_ == since) {
                clogged_since_.reset();
            }
        });
    }
    if (door_ != nullptr) {
        clogged_ = clogged;
        door_->set_clogged(connection_, clogged);
        hear_anew(parts_.clock.now() + (clogged ? Millis{40'000} : Millis{0}));
    }
}

std::optional<MonoTime> Client::behind_since() const {
    return clogged_since_ && frozen_since_ ? std::min(clogged_since_, frozen_since_)
                                           : std::max(clogged_since_, frozen_since_);
}

/// What it holds may be wrong until some time after that.
void Client::hear_anew(MonoTime from) {
    if (hears_since_) {
        hears_since_ = from;
    }
    for (auto& [name, held] : rooms_held_) {
        held.since = from;
    }
}

std::optional<MonoTime> Client::hears_since() const {
    return stage_ == Stage::open && !frozen_ && !quiet_ ? hears_since_ : std::nullopt;
}

void Client::on_end(std::uint64_t connection, std::uint16_t code) {
    if (connection != connection_) {
        return;
    }
    if (frozen_) {
        stored_.emplace_back(connection, kEndMark + std::to_string(code));
        return;
    }
    forget_connection();
    if (code == 4409 || code == 4403) {
        wants_ = false;
        if (code == 4409) {
            // Another device has the session now, and with it is where this one was.
            for (auto& [room, left_at] : rooms_left_at_) {
                left_at = parts_.clock.now() + kForEver;
            }
        }
        rooms_.clear();
        leaving_.clear();
    }
    if (code == 4409 || code == 4403 || code == 1000) {
        resume_.clear();
    }
    if (wants_) {
        const int doublings = std::min(failures_++, kMostDoublings);
        connect_later(jittered(kFirstBackoff * (1 << doublings)));
    }
}

void Client::on_text(std::uint64_t connection, std::string_view text) {
    if (connection != connection_) {
        return;
    }
    if (frozen_) {
        stored_.emplace_back(connection, std::string(text));
        return;
    }
    take(text);
}

}  // namespace presence::sim
