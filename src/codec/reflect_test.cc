#include "codec/reflect.h"

#include <gtest/gtest.h>

#include "codec/suggest.h"
#include "codec/yaml.h"

namespace fairlead::codec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum class Policy { kRoundRobin, kPrefixCache };
BOOST_DESCRIBE_ENUM(Policy, kRoundRobin, kPrefixCache)

struct Limits {
  base::Bytes header_bytes{16 << 10};
  int8_t retries = 2;
};
BOOST_DESCRIBE_STRUCT(Limits, (), (header_bytes, retries))
auto fields_of(const Limits*) {
  return std::tuple{Field<&Limits::header_bytes>{
                        .doc = "head", .min = base::Bytes(1024), .max = base::Bytes(1 << 20)},
                    Field<&Limits::retries>{.doc = "tries", .min = -1}};
}
const StructInfo& info_of(const Limits*) { return describe<Limits>(); }

struct Config {
  uint16_t port = 8080;
  bool log = true;
  double load = 1.25;
  std::string host = "127.0.0.1";
  std::string level = "info";
  Policy policy = Policy::kPrefixCache;
  base::Nanos timeout = seconds(1);
  std::optional<uint64_t> seed;
  std::vector<std::string> backends;
  Limits limits{.header_bytes = base::Bytes(8 << 10)};
  std::vector<Limits> tiers;
  std::string namespace_;
};
BOOST_DESCRIBE_STRUCT(Config, (),
                      (port, log, load, host, level, policy, timeout, seed, backends, limits, tiers,
                       namespace_))
auto fields_of(const Config*) {
  return std::tuple{
      Field<&Config::port>{.doc = "port to listen on", .min = 1},
      Field<&Config::log>{.doc = "access log"},
      Field<&Config::load>{.doc = "load bound", .min = 1, .max = 10},
      Field<&Config::host>{.doc = "address"},
      Field<&Config::level>{.doc = "log level", .one_of = "debug|info"},
      Field<&Config::policy>{.doc = "picks"},
      Field<&Config::timeout>{.doc = "wait", .min = milliseconds(1), .max = seconds(60)},
      Field<&Config::seed>{.doc = "of randomness"},
      Field<&Config::backends>{.doc = "urls"},
      Field<&Config::limits>{.doc = "bounds"},
      Field<&Config::tiers>{.doc = "more bounds"},
      Field<&Config::namespace_>{.doc = "where", .required = true}};
}
const StructInfo& info_of(const Config*) { return describe<Config>(); }

std::string error_of_yaml(std::string_view yaml) {
  const auto tree = parse_yaml("namespace: n\n" + std::string(yaml));
  EXPECT_TRUE(tree) << yaml;
  const auto config = read_described<Config>(*tree);
  return config ? "accepted" : config.error().message();
}

std::string set(Config& config, std::string_view name, std::string_view text) {
  const auto done = set_field(config, name, text);
  return done ? "" : done.error().message();
}

TEST(Described, ReadsEveryTypeAndKeepsDefaultsOfTheRest) {
  const auto config = read_described<Config>(*parse_yaml(
      "namespace: n\nport: 65535\nlog: false\nload: 2\nhost: h\nlevel: debug\npolicy: round-robin\n"
      "timeout: 1m\nseed: 18446744073709551615\nbackends: [a, b]\nlimits: {retries: -1}\n"
      "tiers: [{header_bytes: 2KiB}, {header_bytes: 4096}]\n"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->port, 65535);
  EXPECT_FALSE(config->log);
  EXPECT_EQ(config->load, 2);
  EXPECT_EQ(config->policy, Policy::kRoundRobin);
  EXPECT_EQ(config->timeout, std::chrono::minutes(1));
  EXPECT_EQ(config->seed, 18446744073709551615u);
  EXPECT_EQ(config->backends, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config->limits.retries, -1);
  EXPECT_EQ(config->limits.header_bytes.count, 8u << 10);
  EXPECT_EQ(config->tiers[1].header_bytes.count, 4096u);
  EXPECT_EQ(config->namespace_, "n");
}

TEST(Described, ErrorsNameLineFieldValueAndWhatIsAllowed) {
  EXPECT_EQ(error_of_yaml("port: 0"), "line 2: port is 0: must be an integer from 1 to 65535");
  EXPECT_EQ(error_of_yaml("port: 65536"),
            "line 2: port is 65536: must be an integer from 1 to 65535");
  EXPECT_EQ(error_of_yaml("port: 1.5"), "line 2: port is 1.5: must be an integer from 1 to 65535");
  EXPECT_EQ(error_of_yaml("log: 1"), "line 2: log is 1: must be true or false");
  EXPECT_EQ(error_of_yaml("load: 0.9"), "line 2: load is 0.9: must be a number from 1 to 10");
  EXPECT_EQ(error_of_yaml("host: 1.2"), "line 2: host is 1.2: must be a string (quote it)");
  EXPECT_EQ(error_of_yaml("level: warn"), "line 2: level is 'warn': must be one of debug|info");
  EXPECT_EQ(error_of_yaml("policy: random"),
            "line 2: policy is 'random': must be one of round-robin|prefix-cache");
  EXPECT_EQ(error_of_yaml("timeout: 5"),
            "line 2: timeout is 5: must be a duration such as 500ms or 1h30m from 1ms to 1m");
  EXPECT_EQ(error_of_yaml("timeout: 61s").substr(0, 23), "line 2: timeout is '61s");
  EXPECT_EQ(error_of_yaml("seed: -1"), "line 2: seed is -1: must be an integer at least 0");
  EXPECT_EQ(error_of_yaml("backends: [a, 7]"),
            "line 2: backends[1] is 7: must be a string (quote it)");
  EXPECT_EQ(error_of_yaml("backends: a"), "line 2: backends is 'a': must be a list");
  EXPECT_EQ(error_of_yaml("limits:\n  retries: 128"),
            "line 3: limits.retries is 128: must be an integer from -1 to 127");
  EXPECT_EQ(
      error_of_yaml("tiers:\n- {}\n- header_bytes: 1B"),
      "line 4: tiers[1].header_bytes is '1B': must be a size such as 64MiB from 1KiB to 1MiB");
  EXPECT_EQ(error_of_yaml("limits: 3"), "line 2: limits is 3: must be a mapping of fields");
  EXPECT_EQ(error_of_yaml("port:"), "line 2: port is null: must be an integer from 1 to 65535");
}

TEST(Described, BoundsAreInclusive) {
  for (const char* yaml : {"port: 1", "load: 1", "load: 10", "timeout: 1ms", "timeout: 60s",
                           "seed: 0", "seed: null", "limits: {header_bytes: 1KiB, retries: 127}"}) {
    EXPECT_EQ(error_of_yaml(yaml), "accepted") << yaml;
  }
}

TEST(Described, UnknownFieldNamesTheNearest) {
  EXPECT_EQ(error_of_yaml("prot: 1"), "line 2: unknown field prot: did you mean 'port'?");
  EXPECT_EQ(error_of_yaml("limits:\n  retires: 1"),
            "line 3: unknown field limits.retires: did you mean 'retries'?");
  EXPECT_EQ(error_of_yaml("limits: {x: 1}"),
            "line 2: unknown field limits.x: known are header_bytes, retries");
}

TEST(Described, UnknownFieldMayBeAWarning) {
  std::vector<std::string> warnings;
  const auto config =
      read_described<Config>(*parse_yaml("namespace: n\nprot: 1\nport: 2\n"), &warnings);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->port, 2);
  EXPECT_EQ(warnings, std::vector<std::string>{"line 2: unknown field prot: did you mean 'port'?"});
}

TEST(Reader, WarnsWithLineAndPathInBoundedText) {
  std::vector<std::string> warnings;
  Reader reader(&warnings);
  const Json tree = *parse_yaml("a:\n  - x\n");
  reader.warn(tree, "odd");
  {
    const Reader::Step a(reader, "a");
    const Reader::Step first(reader, size_t{0});
    reader.warn(tree.find("a")->items()[0], "odder");
    reader.warn(tree.find("a")->items()[0], std::string(10'000, 'x'));
  }
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_TRUE(warnings[0].ends_with("odd"));
  EXPECT_EQ(warnings[1], "line 2: a[0]: odder");
  EXPECT_LT(warnings[2].size(), 500u);
  Reader(nullptr).warn(tree, "nobody listens");
}

TEST(Described, EmptyMappingSetsNothing) {
  EXPECT_EQ(error_of_yaml("limits:\n"), "accepted");
  const auto limits = read_described<Limits>(*parse_yaml("# nothing\n"));
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->retries, 2);
}

TEST(Described, RequiredFieldMustBeThere) {
  EXPECT_EQ(read_described<Config>(*parse_json("{}")).error().message(),
            "namespace is required: where");
}

TEST(Described, JsonHasNoLinesToName) {
  EXPECT_EQ(read_described<Config>(*parse_json(R"({"port":-1})")).error().message(),
            "port is -1: must be an integer from 1 to 65535");
}

TEST(Described, WritesWhatItReads) {
  const auto config = read_described<Config>(*parse_json(R"({"namespace":"n","tiers":[{}]})"));
  ASSERT_TRUE(config);
  std::string text;
  JsonWriter out(text);
  write_described(out, *config);
  EXPECT_EQ(text, R"({"port":8080,"log":true,"load":1.25,"host":"127.0.0.1","level":"info",)"
                  R"("policy":"prefix-cache","timeout":"1s","seed":null,"backends":[],)"
                  R"("limits":{"header_bytes":"8KiB","retries":2},)"
                  R"("tiers":[{"header_bytes":"16KiB","retries":2}],"namespace":"n"})");
  const auto again = read_described<Config>(*parse_json(text));
  ASSERT_TRUE(again);
  std::string text_again;
  JsonWriter out_again(text_again);
  write_described(out_again, *again);
  EXPECT_EQ(text_again, text);
}

TEST(SetField, SetsByFlagNameAndChecksLikeAFile) {
  Config config;
  EXPECT_EQ(set(config, "port", "81"), "");
  EXPECT_EQ(set(config, "log", "false"), "");
  EXPECT_EQ(set(config, "load", "3.5"), "");
  EXPECT_EQ(set(config, "host", "123"), "");
  EXPECT_EQ(set(config, "policy", "round-robin"), "");
  EXPECT_EQ(set(config, "timeout", "20ms"), "");
  EXPECT_EQ(set(config, "seed", "18446744073709551615"), "");
  EXPECT_EQ(set(config, "backends", "a"), "");
  EXPECT_EQ(set(config, "backends", "b,c"), "");
  EXPECT_EQ(set(config, "limits.header-bytes", "4KiB"), "");
  EXPECT_EQ(config.port, 81);
  EXPECT_FALSE(config.log);
  EXPECT_EQ(config.load, 3.5);
  EXPECT_EQ(config.host, "123");
  EXPECT_EQ(config.policy, Policy::kRoundRobin);
  EXPECT_EQ(config.timeout, milliseconds(20));
  EXPECT_EQ(config.seed, 18446744073709551615u);
  EXPECT_EQ(config.backends, (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(config.limits.header_bytes.count, 4096u);
}

TEST(SetField, RefusesWithTheWordsOfTheField) {
  Config config;
  EXPECT_EQ(set(config, "port", "x"), "port is 'x': must be an integer from 1 to 65535");
  EXPECT_EQ(set(config, "limits.retries", "128"),
            "limits.retries is 128: must be an integer from -1 to 127");
  EXPECT_EQ(set(config, "prt", "1"), "unknown field prt: did you mean 'port'?");
  EXPECT_EQ(set(config, "port.x", "1"), "port has no fields of its own");
  EXPECT_EQ(set(config, "limits", "1"), "limits is '1': must be a mapping of fields");
  EXPECT_NE(set(config, "", "1"), "");
}

TEST(FlagsOf, ListsFlatFieldsWithTypeDefaultAndDoc) {
  std::string text;
  for (const FlagHelp& flag : flags_of(info_for<Config>())) {
    text += flag.flag + " (" + flag.type + ") [" + flag.default_text + "] " + flag.doc +
            (flag.required ? " !\n" : "\n");
  }
  EXPECT_EQ(text,
            "port (integer from 1 to 65535) [8080] port to listen on\n"
            "log (bool) [true] access log\n"
            "load (number from 1 to 10) [1.25] load bound\n"
            "host (string) [127.0.0.1] address\n"
            "level (debug|info) [info] log level\n"
            "policy (round-robin|prefix-cache) [prefix-cache] picks\n"
            "timeout (duration from 1ms to 1m) [1s] wait\n"
            "seed (integer at least 0) [] of randomness\n"
            "backends (list of string) [] urls\n"
            "limits.header-bytes (size from 1KiB to 1MiB) [8KiB] head\n"
            "limits.retries (integer from -1 to 127) [2] tries\n"
            "namespace (string) [] where !\n");
}

TEST(NearestName, AllowsAFewEditsAndNoMore) {
  constexpr std::string_view kNames[] = {"port", "policy", "backend"};
  EXPECT_EQ(nearest_name("prot", kNames), "port");
  EXPECT_EQ(nearest_name("polcy", kNames), "policy");
  EXPECT_EQ(nearest_name("backends", kNames), "backend");
  EXPECT_EQ(nearest_name("bakcned", kNames), "backend");
  EXPECT_EQ(nearest_name("xyz", kNames), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'p'), kNames), "");
}

}  // namespace
}  // namespace fairlead::codec
