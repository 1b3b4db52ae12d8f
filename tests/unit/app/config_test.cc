#include "presence/app/config.h"

#include "presence/app/config_keys.h"
#include "presence/app/config_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace presence::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigFiles : public ::testing::Test {
protected:
    ConfigFiles()
        : folder_(std::filesystem::temp_directory_path() /
                  ("config-" + std::to_string(::getpid()) + "-" +
                   ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
        std::filesystem::create_directories(folder_);
    }
    ~ConfigFiles() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& text, const std::string& name = "config.toml") {
        const auto path = folder_ / name;
        std::ofstream(path) << text;
        return path.string();
    }

    /// What is wrong with a configuration in --dev; empty if nothing.
    static std::string refusal(std::vector<std::string> sets) {
        return refusal_of({.file = {}, .environment = {}, .sets = std::move(sets), .dev = true});
    }
    static std::string refusal_of(const ConfigSources& sources) {
        const auto config = load_config(sources);
        return config ? "" : config.error().message;
    }
    static Config loaded(const ConfigSources& sources) {
        const auto config = load_config(sources);
        EXPECT_TRUE(config) << config.error().message;
        return config ? *config : Config{};
    }
    static Config with(std::vector<std::string> sets) {
        return loaded({.file = {}, .environment = {}, .sets = std::move(sets), .dev = true});
    }

    std::filesystem::path folder_;
};

TEST_F(ConfigFiles, FileThenEnvironmentThenCommandLineTheLastWins) {
    const std::string path = file(
        "listen = \"127.0.0.1:1\"\n"
        "[heartbeat]\ninterval = \"2s\"\nttl = \"7s\"\ngrace = \"3s\"\n"
        "[limits]\nwatch = 7\nmessages_per_second = 2.5\n"
        "[presence]\nshow_devices = false\n");

    const Config config = loaded({.file = path,
                                  .environment = {{"HEARTBEAT_TTL", "8s"},
                                                  {"HEARTBEAT_GRACE", "4s"},
                                                  {"LISTEN", "127.0.0.1:2"},
                                                  {"LIMITS_SESSIONS_PER_USER", "9"}},
                                  .sets = {"heartbeat.ttl=9s", "listen=127.0.0.1:3"},
                                  .dev = true});

    EXPECT_EQ(config.node.core.heartbeat.interval, Millis{2'000});
    EXPECT_EQ(config.node.core.heartbeat.ttl, Millis{9'000});
    EXPECT_EQ(config.node.core.heartbeat.grace, Millis{4'000});
    EXPECT_EQ(config.node.listen, "127.0.0.1:3");
    EXPECT_EQ(config.node.limits.watch, 7U);
    EXPECT_EQ(config.node.limits.sessions_per_user, 9U);
    EXPECT_EQ(config.node.limits.messages_per_second, 2.5);
    EXPECT_FALSE(config.node.core.presence.merge.show_devices);
}

TEST_F(ConfigFiles, AnUnknownKeyIsNamedWithTheNearestKnownOne) {
    EXPECT_EQ(refusal({"heartbeat.intervall=30s"}),
              "heartbeat.intervall is no known key; did you mean heartbeat.interval?");
    EXPECT_THAT(refusal({"colour=blue"}), HasSubstr("colour"));
    EXPECT_THAT(refusal({"colour=blue"}), Not(HasSubstr("did you mean")));
    EXPECT_THAT(refusal_of({.file = file("[limits]\nwatsh = 1\n"), .dev = true}),
                HasSubstr("limits.watch"));
    EXPECT_THAT(refusal_of({.environment = {{"MERGE_POLICI", "x"}}, .dev = true}),
                HasSubstr("PRESENCED_MERGE_POLICI"));
    EXPECT_THAT(refusal({"nonsense"}), HasSubstr("nonsense"));
    EXPECT_THAT(refusal({"=1"}), Not(HasSubstr("did you mean")));
}

TEST_F(ConfigFiles, AFileThatIsNoTomlIsRefusedAndDoesNotEndTheProcess) {
    EXPECT_THAT(refusal_of({.file = file("listen = \n"), .dev = true}), HasSubstr("line 1"));
    EXPECT_THAT(refusal_of({.file = file("[[[\n"), .dev = true}), HasSubstr("is no TOML"));
}

TEST_F(ConfigFiles, AnImpossibleRelationIsRefusedWithItsNumbers) {
    EXPECT_EQ(refusal({"heartbeat.interval=30s", "heartbeat.ttl=60s"}),
              "heartbeat.ttl is 60000 ms, least is three intervals, 90000 ms");
    EXPECT_EQ(refusal({"heartbeat.interval=30s", "heartbeat.ttl=90s"}), "");
    EXPECT_THAT(refusal({"limits.hello_bytes=20000", "limits.message_bytes=10000"}),
                HasSubstr("limits.hello_bytes is 20000, most is limits.message_bytes, 10000"));
    EXPECT_THAT(refusal({"tls.key=/x"}), HasSubstr("tls.certificate"));
    EXPECT_THAT(refusal({"auth.leeway=61s"}), HasSubstr("auth.leeway"));
}

TEST_F(ConfigFiles, AValueOutOfItsTypeOrBoundsIsRefusedWithKeyAndValue) {
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"heartbeat.interval", "soon"},
             {"heartbeat.interval", "30"},
             {"heartbeat.interval", "1.5s"},
             {"heartbeat.interval", "99999999999999999999s"},
             {"heartbeat.interval", "30 s"},
             {"heartbeat.grace", "-1s"},
             {"heartbeat.profile", "fast"},
             {"merge.policy", "loudest"},
             {"privacy.default_online", "friends"},
             {"degraded.show", "lies"},
             {"metrics.access", "everybody"},
             {"limits.watch", "0"},
             {"limits.watch", "-5"},
             {"limits.watch", "1e3"},
             {"limits.watch", "99999999999999999999"},
             {"limits.messages_burst", "0"},
             {"limits.messages_burst", "nan"},
             {"presence.show_devices", "maybe"},
             {"log.level", "loud"},
             {"log.format", "xml"},
             {"store.url", "mysql://x"},
             {"threads", "0"},
             {"threads", "65"},
             {"presence.idle_after", "999ms"}}) {
        const std::string message = refusal({key + "=" + value});
        EXPECT_THAT(message, HasSubstr(key)) << value;
    }
    EXPECT_THAT(refusal({"database.url=oracle:x"}), HasSubstr("database.url"));
    EXPECT_THAT(refusal_of({.file = file("[heartbeat]\ninterval = 30\n"), .dev = true}),
                HasSubstr("heartbeat.interval"));
    EXPECT_THAT(refusal_of({.file = file("listen = [\"a\", \"b\"]\n"), .dev = true}),
                HasSubstr("listen"));
    EXPECT_THAT(refusal_of({.file = file("listen = 1979-05-27\n"), .dev = true}),
                HasSubstr("listen"));
    EXPECT_THAT(refusal_of({.file = file("\n[heartbeat\n"), .dev = true}), HasSubstr("line 2"));
    EXPECT_THAT(refusal_of({.file = "/nowhere.toml", .dev = true}), HasSubstr("/nowhere.toml"));
}

TEST_F(ConfigFiles, ABurstThatLetsNothingThroughIsRefused) {
    std::size_t bursts = 0;
    for (const ConfigKey& key : config_keys()) {
        const std::string name(key.name);
        if (name.ends_with("_burst")) {
            ++bursts;
            EXPECT_EQ(refusal({name + "=0.99"}),
                      name + ": 0.99 is too little, least is 1: less would let nothing through");
            EXPECT_EQ(refusal({name + "=1"}), "");
        }
        if (name.ends_with("_per_second")) {
            EXPECT_EQ(refusal({name + "=0"}), name + ": 0 is no number above 0");
            EXPECT_EQ(refusal({name + "=0.01"}), "");
        }
    }
    EXPECT_EQ(bursts, 10U);
}

TEST_F(ConfigFiles, ATimeTooShortForAnybodyIsRefusedWithTheLeast) {
    EXPECT_EQ(refusal({"auth.jwks_refresh=59s"}),
              "auth.jwks_refresh: 59s is too short, least is 1m");
    EXPECT_EQ(refusal({"auth.jwks_refresh=1m"}), "");
    EXPECT_EQ(refusal({"limits.attach_timeout=99ms"}),
              "limits.attach_timeout: 99ms is too short, least is 100ms");
    EXPECT_EQ(refusal({"limits.attach_timeout=100ms"}), "");
    for (const std::string key : {"limits.hello_timeout", "limits.slow_reader"}) {
        EXPECT_EQ(refusal({key + "=999ms"}), key + ": 999ms is too short, least is 1s");
        EXPECT_EQ(refusal({key + "=1s"}), "");
    }
}

TEST_F(ConfigFiles, ProfilesSetTheHeartbeatAndSingleKeysWinOverThem) {
    EXPECT_EQ(with({}).node.core.heartbeat.ttl, Millis{100'000});
    EXPECT_EQ(with({"heartbeat.profile=mobile"}).node.core.heartbeat.ttl, Millis{100'000});

    const HeartbeatConfig quick = with({"heartbeat.profile=collaboration"}).node.core.heartbeat;
    EXPECT_EQ(quick.interval, Millis{15'000});
    EXPECT_EQ(quick.ttl, Millis{55'000});
    EXPECT_EQ(quick.grace, Millis{5'000});

    const HeartbeatConfig mixed =
        with({"heartbeat.grace=7s", "heartbeat.profile=collaboration"}).node.core.heartbeat;
    EXPECT_EQ(mixed.interval, Millis{15'000});
    EXPECT_EQ(mixed.grace, Millis{7'000});
}

TEST_F(ConfigFiles, DevIsLoopbackWithKnownKeysAndAnyOrigin) {
    const Config dev = with({});
    EXPECT_EQ(dev.node.listen, "127.0.0.1:8080");
    EXPECT_THAT(dev.node.auth.secrets, ElementsAre("dev"));
    EXPECT_THAT(dev.node.api_keys, ElementsAre("dev"));
    EXPECT_THAT(dev.node.allowed_origins, ElementsAre("*"));
    EXPECT_EQ(dev.node.core.privacy.last_seen.audience, Audience::everyone);

    EXPECT_EQ(refusal({"listen=[::1]:0"}), "");
    EXPECT_THAT(refusal({"listen=0.0.0.0:0"}), HasSubstr("listen is 0.0.0.0:0"));
    EXPECT_THAT(refusal({"listen=[::]:0"}), HasSubstr("listen"));
    EXPECT_THAT(refusal({"listen=127.example.org:80"}), HasSubstr("listen"));
}

TEST_F(ConfigFiles, WithoutDevThereIsNoKeyAndNoOriginByDefault) {
    EXPECT_THAT(refusal_of({}), HasSubstr("auth.secret"));

    const Config config = loaded({.sets = {"auth.secret=0123456789abcdef0123456789abcdef"}});
    EXPECT_TRUE(config.node.api_keys.empty());
    EXPECT_TRUE(config.node.allowed_origins.empty());
    EXPECT_EQ(config.node.core.privacy.last_seen.audience, Audience::contacts);
    EXPECT_THAT(refusal_of({.sets = {"auth.secret=dev"}}), HasSubstr("auth.secret"));
    EXPECT_THAT(refusal_of({.sets = {"auth.secret=0123456789abcdef", "auth.api_keys=dev"}}),
                HasSubstr("auth.api_keys"));
    EXPECT_THAT(refusal_of({.sets = {"auth.secret=0123456789abcdef"}, .demo = true}),
                HasSubstr("--demo"));
}

TEST_F(ConfigFiles, FO_098_AnyOriginTogetherWithACookieIsRefused) {
    EXPECT_THAT(refusal_of({.sets = {"auth.secret=0123456789abcdef", "auth.cookie=session",
                                     "auth.allowed_origins=*"}}),
                HasSubstr("auth.allowed_origins"));
    EXPECT_THAT(refusal({"auth.cookie=session"}), HasSubstr("auth.allowed_origins"));
    EXPECT_EQ(refusal({"auth.cookie=session", "auth.allowed_origins=https://a.example"}), "");
}

TEST_F(ConfigFiles, FO_099_NobodyIsAProxyUnlessNamed) {
    const auto client = net::parse_address("10.0.0.7").value();
    EXPECT_FALSE(with({}).node.proxies.contains(client));
    EXPECT_TRUE(with({"proxies.trusted=192.0.2.1,10.0.0.0/24"}).node.proxies.contains(client));
    EXPECT_THAT(refusal({"proxies.trusted=10.0.0.0/24,nginx"}),
                AllOf(HasSubstr("proxies.trusted"), HasSubstr("nginx")));
}

TEST_F(ConfigFiles, OriginsAreWrittenAsBrowsersSendThem) {
    EXPECT_EQ(refusal({"auth.allowed_origins=https://a.example,http://localhost:5173"}), "");
    for (const char* wrong : {"a.example", "https://a.example/", "https://A.example", "https://",
                              "https://*.example", "null"}) {
        EXPECT_THAT(refusal({std::string("auth.allowed_origins=") + wrong}),
                    HasSubstr("auth.allowed_origins"))
            << wrong;
    }
}

TEST_F(ConfigFiles, AnAddressThatCannotBeListenedOnIsRefusedBeforeAnyStart) {
    for (const char* wrong :
         {"127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", ":80", "host.example:80"}) {
        const std::string refused =
            refusal_of({.sets = {"auth.secret=0123456789abcdef", std::string("listen=") + wrong}});
        EXPECT_THAT(refused, HasSubstr("listen: \"" + std::string(wrong) + "\" is no address"));
    }
    EXPECT_THAT(refusal({"listen="}), HasSubstr("listen: \"\" is no address"));
    EXPECT_EQ(refusal_of({.sets = {"auth.secret=0123456789abcdef", "listen=[::]:0"}}), "");
}

TEST_F(ConfigFiles, AnApiKeyWhoseHashIsNoneIsRefusedBeforeAnyStart) {
    const std::string good(64, 'a');
    EXPECT_EQ(refusal({"auth.api_keys=sha256:" + good}), "");
    EXPECT_EQ(refusal({"auth.api_keys=sha256:xx"}),
              "auth.api_keys holds a sha256: that is not 64 hexadecimal digits");
}

TEST_F(ConfigFiles, FilesThatCannotBeReadAreNamedWithTheirKey) {
    const auto files_of = [](std::vector<std::string> sets) {
        const Result<bool> checked = check_files(with(std::move(sets)));
        return checked ? std::string() : checked.error().message;
    };
    const std::string empty = file("", "empty.pem");
    EXPECT_EQ(files_of({}), "");
    EXPECT_EQ(files_of({"auth.jwks=https://keys.example/jwks.json"}), "");
    for (const std::string& path : {std::string("/nowhere/a"), empty}) {
        EXPECT_THAT(files_of({"auth.public_keys=" + path}), HasSubstr("auth.public_keys: " + path));
        EXPECT_THAT(files_of({"auth.jwks=" + path}), HasSubstr("auth.jwks: " + path));
        EXPECT_THAT(files_of({"tls.certificate=" + path, "tls.key=" + path}),
                    HasSubstr("tls.certificate, tls.key: cannot read the TLS certificate " + path));
    }
    EXPECT_EQ(
        files_of(
            {"auth.jwks=" +
             file(
                 R"({"keys":[{"kty":"oct","kid":"1","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]})",
                 "jwks.json")}),
        "");
}

TEST_F(ConfigFiles, SecretsMayStandInFilesAndAreInNoMessage) {
    const std::string path = file("from-a-file\r\nsecond line\n", "secret");

    const Config config = with({"auth.secret=plain,file:" + path, "auth.api_keys=file:" + path});

    EXPECT_THAT(config.node.auth.secrets, ElementsAre("plain", "from-a-file"));
    EXPECT_THAT(config.node.api_keys, ElementsAre("from-a-file"));
    EXPECT_THAT(refusal({"auth.secret=hush,file:/nowhere"}), HasSubstr("/nowhere"));
    EXPECT_THAT(refusal({"auth.secret=hush,file:/nowhere"}), Not(HasSubstr("hush")));
    EXPECT_THAT(refusal({"auth.secret="}), HasSubstr("auth.secret"));
    EXPECT_THAT(refusal({"auth.secret=file:" + file("\n", "empty")}), HasSubstr("auth.secret"));
}

TEST_F(ConfigFiles, ListsComeAsArraysOrWithCommas) {
    const std::string path =
        file("[auth]\nsecret = [\"one\", \"two\"]\nallowed_origins = \"https://a.example\"\n");

    const Config config = loaded({.file = path, .dev = true});

    EXPECT_THAT(config.node.auth.secrets, ElementsAre("one", "two"));
    EXPECT_THAT(config.node.allowed_origins, ElementsAre("https://a.example"));
}

TEST_F(ConfigFiles, TheDatabaseStandsInTheDataFolderUnlessAbsolute) {
    EXPECT_EQ(with({"data_dir=/d"}).node.database_path, "/d/presenced.db");
    EXPECT_EQ(with({"data_dir=/d", "database.url=sqlite:/e/x.db"}).node.database_path, "/e/x.db");
    EXPECT_EQ(with({"database.url=memory:"}).node.database_path, "");
    EXPECT_NE(refusal({"database.url=sqlite:"}), "");
    const Config postgres = with({"data_dir=/d", "database.url=postgresql://u:secret@h/d"});
    EXPECT_EQ(postgres.node.postgres_url, "postgresql://u:secret@h/d");
    EXPECT_EQ(postgres.node.database_path, "/d/journal.db");  // The journal stays here.
    EXPECT_EQ(postgres.node.spool_path, "/d/last_seen.spool");
    const std::string refused = refusal({"database.url=postgresql://u:secret@[::1/d"});
    EXPECT_THAT(refused, HasSubstr("database.url"));
    EXPECT_THAT(refused, Not(HasSubstr("secret")));
}

TEST_F(ConfigFiles, EveryKeyIsDescribedOnOneLineWithUnitAndMeaning) {
    const std::string text = describe_keys();
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), config_keys().size());
    for (const ConfigKey& key : config_keys()) {
        EXPECT_FALSE(key.doc.empty()) << key.name;
        EXPECT_FALSE(key.unit.empty()) << key.name;
        EXPECT_EQ(find_key(key.name), &key) << key.name << " is there twice";
        EXPECT_THAT(text, HasSubstr(std::string(key.name) + " = ")) << key.name;
    }
    EXPECT_THAT(text, HasSubstr("heartbeat.ttl = 100s"));
}

TEST_F(ConfigFiles, EachDefaultCanBeWrittenBack) {
    const Config defaults = with({});
    for (const ConfigKey& key : config_keys()) {
        const std::string shown = key.show(defaults);
        if (key.secret || shown.empty()) {
            continue;
        }
        EXPECT_EQ(refusal({std::string(key.name) + "=" + shown}), "") << key.name;
    }
}

TEST(ConfigValues, Durations) {
    EXPECT_EQ(*parse_duration("1500ms"), Millis{1'500});
    EXPECT_EQ(*parse_duration("30s"), Millis{30'000});
    EXPECT_EQ(*parse_duration("10m"), Millis{600'000});
    EXPECT_EQ(*parse_duration("1h"), Millis{3'600'000});
    EXPECT_EQ(*parse_duration("0s"), Millis{0});
    for (const char* wrong : {"", "30", "s", "30x", "-1s", "+1s", "1.5s", " 1s", "1s ", "1h30m",
                              "9223372036854775807h", "99999999999999999999ms"}) {
        EXPECT_FALSE(parse_duration(wrong)) << wrong;
    }
    EXPECT_EQ(show_duration(Millis{90'000}), "90s");
    EXPECT_EQ(show_duration(Millis{1'500}), "1500ms");
    EXPECT_EQ(show_duration(Millis{600'000}), "10m");
    EXPECT_EQ(show_duration(Millis{0}), "0ms");
}

TEST(ConfigValues, FlagsAndNumbers) {
    EXPECT_EQ(*parse_flag("true"), true);
    EXPECT_EQ(*parse_flag("false"), false);
    EXPECT_FALSE(parse_flag("TRUE"));
    EXPECT_FALSE(parse_flag(""));
    EXPECT_EQ(*parse_number("0"), 0U);
    EXPECT_FALSE(parse_number("0x10"));
    EXPECT_FALSE(parse_number(""));
    EXPECT_FALSE(parse_real("inf"));
    EXPECT_EQ(*parse_real("0.5"), 0.5);
}

TEST_F(ConfigFiles, PlainKeysNeedASharedStoreAndNamesOfTheirOwn) {
    const std::string key = "store.write_every_heartbeat=true";
    EXPECT_FALSE(with({}).node.write_every_heartbeat);
    EXPECT_TRUE(with({key, "store.url=redis://localhost"}).node.write_every_heartbeat);
    EXPECT_THAT(refusal({key}),
                AllOf(HasSubstr("store.write_every_heartbeat"), HasSubstr("store.url is memory:")));
    EXPECT_THAT(refusal({key, "store.url=redis://localhost?prefix=presence"}),
                AllOf(HasSubstr("store.write_every_heartbeat"), HasSubstr("prefix")));
    EXPECT_EQ(refusal({"store.url=redis://localhost?prefix=presence"}), "");
}

}  // namespace
}  // namespace presence::app
