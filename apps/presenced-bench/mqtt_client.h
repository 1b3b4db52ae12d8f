#pragma once

#include "client_pool.h"

namespace presence::bench {

/// Clients of an MQTT 3.1.1 broker with user `bench` and password `bench`: each has a retained will
/// and says with a retained message that it is there. What is published to it is given to
/// on_message().
class MqttClient final : public ClientPool {
public:
    MqttClient(std::uint16_t port, std::string user_prefix);

    /// Where `user` says how it is.
    [[nodiscard]] static std::string topic_of(std::string_view user);
    /// PINGREQ: the heartbeat of MQTT, which is answered.
    [[nodiscard]] static std::string heartbeat();

    void publish(std::size_t connection, std::string_view topic, std::string_view payload);
    /// At most 100 topics. The answer, and what is retained there, is given to on_message() as
    /// nothing else is.
    void subscribe(std::size_t connection, const std::vector<std::string>& topics);

private:
    void begin(std::size_t connection) override;
    std::size_t take(std::size_t connection, std::string_view bytes) override;
};

}  // namespace presence::bench
