#include "mqtt_client.h"

#include "failure.h"

#include <utility>

namespace presence::bench {

namespace {

// MQTT 3.1.1, section 2.2.1: the type in the high half of the first byte, flags in the low one.
constexpr char kConnect = '\x10';
constexpr char kConnack = '\x20';
constexpr char kPublishRetained = '\x31';
constexpr char kPublishType = '\x30';
constexpr char kSubscribe = '\x82';
constexpr char kPingReq = '\xc0';

constexpr unsigned kKeepAliveSeconds = 60;
/// User name, password, will retained with QoS 1, clean session.
constexpr char kConnectFlags = '\xee';

std::string number(std::size_t value) {
    return {static_cast<char>(value >> 8U), static_cast<char>(value & 0xffU)};
}

std::string text(std::string_view value) {
    return number(value.size()).append(value);
}

std::string packet(char head, std::string_view rest) {
    std::string made(1, head);
    std::size_t size = rest.size();
    do {  // Section 2.2.3: seven bits a byte, the lowest first.
        const std::size_t digit = size % 128;
        size /= 128;
        made += static_cast<char>(digit | (size > 0 ? 0x80U : 0U));
    } while (size > 0);
    return made.append(rest);
}

/// The size of the whole packet at the start of `bytes` and where its rest begins; 0: not whole.
std::pair<std::size_t, std::size_t> extent(std::string_view bytes) {
    std::size_t size = 0;
    unsigned shift = 0;
    for (std::size_t at = 1; at < bytes.size() && at <= 4; ++at, shift += 7) {
        const auto digit = static_cast<unsigned char>(bytes[at]);
        size |= static_cast<std::size_t>(digit & 0x7fU) << shift;
        if ((digit & 0x80U) == 0) {
            const std::size_t whole = at + 1 + size;
            return {whole <= bytes.size() ? whole : 0, at + 1};
        }
    }
    return {0, 0};
}

}  // namespace

MqttClient::MqttClient(std::uint16_t port, std::string user_prefix)
    : ClientPool(port, std::move(user_prefix)) {}

std::string MqttClient::topic_of(std::string_view user) {
    return fmt::format("presence/{}", user);
}

std::string MqttClient::heartbeat() {
    return packet(kPingReq, {});
}

void MqttClient::publish(std::size_t connection, std::string_view topic, std::string_view payload) {
    send(connection, packet(kPublishRetained, text(topic).append(payload)));
}

void MqttClient::subscribe(std::size_t connection, const std::vector<std::string>& topics) {
    std::string rest = number(1);
    for (const std::string& topic : topics) {
        rest += text(topic);
        rest += '\0';  // QoS 0.
    }
    send(connection, packet(kSubscribe, rest));
}

void MqttClient::begin(std::size_t connection) {
    const std::string name = user(connection);
    std::string rest = text("MQTT");
    rest += '\x04';
    rest += kConnectFlags;
    rest += number(kKeepAliveSeconds);
    rest += text(name) + text(topic_of(name)) + text("offline") + text("bench") + text("bench");
    send(connection, packet(kConnect, rest));
}

std::size_t MqttClient::take(std::size_t connection, std::string_view bytes) {
    std::size_t taken = 0;
    while (true) {
        const std::string_view left = bytes.substr(taken);
        const auto [size, begin] = extent(left);
        if (size == 0) {
            return taken;
        }
        taken += size;
        const std::string_view rest = left.substr(begin, size - begin);
        if (left[0] == kConnack) {
            if (rest.size() != 2 || rest[1] != '\0') {
                fail("the broker refused {}", user(connection));
            }
            publish(connection, topic_of(user(connection)), "online");
            set_signed_in(connection);
        } else if ((left[0] & '\xf0') == kPublishType) {
            deliver(connection, rest);
        }
    }
}

}  // namespace presence::bench
