#include "presence/stores/redis/config.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace presence::redis {

namespace {

RedisConfig parsed(std::string_view url) {
    Result<RedisConfig> config = parse_redis_url(url);
    EXPECT_TRUE(config) << url << ": " << (config ? "" : config.error().message);
    return config ? *config : RedisConfig{};
}

std::string refusal(std::string_view url) {
    Result<RedisConfig> config = parse_redis_url(url);
    EXPECT_FALSE(config) << url;
    return config ? "" : config.error().message;
}

TEST(RedisUrl, ASingleServer) {
    const RedisConfig config = parsed("redis://cache.example:6380/2");
    EXPECT_EQ(config.endpoints, (std::vector<Endpoint>{{"cache.example", 6380}}));
    EXPECT_EQ(config.database, 2U);
    EXPECT_FALSE(config.cluster);
    EXPECT_FALSE(config.tls);
    EXPECT_EQ(parsed("redis://cache").endpoints.front().port, 6379);
}

TEST(RedisUrl, AClusterWithTlsAndOptions) {
    const RedisConfig config =
        parsed("rediss-cluster://node:p%40ss%3Aword@a:1,[::1]:2,c?ca=/etc/ca.pem&prefix=eu-1");
    EXPECT_TRUE(config.cluster);
    EXPECT_TRUE(config.tls);
    EXPECT_EQ(config.endpoints, (std::vector<Endpoint>{{"a", 1}, {"::1", 2}, {"c", 6379}}));
    EXPECT_EQ(config.user, "node");
    EXPECT_EQ(config.password, "p@ss:word");
    EXPECT_EQ(config.tls_ca, "/etc/ca.pem");
    EXPECT_EQ(config.prefix, "eu-1");
}

TEST(RedisUrl, APasswordWithoutAUser) {
    const RedisConfig config = parsed("redis://:secret@h:1");
    EXPECT_EQ(config.user, "");
    EXPECT_EQ(config.password, "secret");
}

TEST(RedisUrl, WhatIsWrongIsNamedAndThePasswordIsNot) {
    EXPECT_NE(refusal("redis:h:1").find("redis://"), std::string::npos);
    EXPECT_NE(refusal("http://h:1").find("redis-cluster://"), std::string::npos);
    EXPECT_NE(refusal("redis://").find("no host"), std::string::npos);
    EXPECT_NE(refusal("redis://h:0").find("port"), std::string::npos);
    EXPECT_NE(refusal("redis://h:65536").find("port"), std::string::npos);
    EXPECT_NE(refusal("redis://h:").find("port"), std::string::npos);
    EXPECT_NE(refusal("redis://a:1,b:2").find("redis-cluster://"), std::string::npos);
    EXPECT_NE(refusal("redis-cluster://a:1/3").find("database"), std::string::npos);
    EXPECT_NE(refusal("redis://h:1/x").find("database"), std::string::npos);
    EXPECT_NE(refusal("redis://::1").find("brackets"), std::string::npos);
    EXPECT_NE(refusal("redis://h?ca=x").find("ca"), std::string::npos);  // Without TLS.
    EXPECT_NE(refusal("redis://h?partitions=0").find("partitions"), std::string::npos);
    EXPECT_NE(refusal("redis://h?prefix=a{b").find("prefix"), std::string::npos);
    EXPECT_NE(refusal("redis://u@h").find("password"), std::string::npos);
    for (const char* const url : {"redis://u:hunter2%@h:1", "redis://u:hunter2@h:99999",
                                  "redis://u:hunter2@", "redis://u:hunter2@h:1/x?y=z"}) {
        EXPECT_EQ(refusal(url).find("hunter2"), std::string::npos) << url;
    }
}

}  // namespace

}  // namespace presence::redis
