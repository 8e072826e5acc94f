// Runs testdata/policies.json. A case is decided with many seeds: every pick must be one of `pick`,
// and each of `pick` must occur; an empty list means that no replica is left.
#include "pick/policy.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "codec/json.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

using codec::Json;

constexpr uint64_t kSeeds = 60;

uint64_t number(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr ? 0 : value->as_uint();
}

std::string text(const Json& object, std::string_view key, std::string otherwise) {
  const Json* value = object.find(key);
  return value == nullptr ? otherwise : value->as_string();
}

std::vector<Slot> slots(const Json* list) {
  std::vector<Slot> out;
  if (list != nullptr) {
    for (const Json& item : list->items()) out.push_back(static_cast<Slot>(item.as_uint()));
  }
  return out;
}

Health health(const std::string& name) {
  if (name == "suspect") return Health::kSuspect;
  return name == "down" ? Health::kDown : Health::kReady;
}

std::vector<Table::Replica> table_of(const Json& scene) {
  std::vector<Table::Replica> out;
  for (const Json& replica : scene.find("replicas")->items()) {
    out.push_back({static_cast<Slot>(out.size()), {text(replica, "model", "m")}});
  }
  return out;
}

Scraped scraped(const Json& replica) {
  const auto milliseconds = [&](std::string_view key) {
    return base::Nanos(std::chrono::milliseconds(number(replica, key)));
  };
  return {.running = static_cast<uint32_t>(number(replica, "scraped")),
          .waiting = static_cast<uint32_t>(number(replica, "waiting")),
          .kv_usage = static_cast<float>(number(replica, "usage_percent")) / 100,
          .latency = {.ttft = milliseconds("ttft_ms"), .tpot = milliseconds("tpot_ms")}};
}

// A preset by its name, or what a scheduling file would describe.
base::Result<std::unique_ptr<const Policy>> policy_of(const Json& scene) {
  PolicyOptions options;
  if (const Json* factor = scene.find("load_factor")) {
    options.prefix_affinity.load_factor = factor->as_double();
  }
  const Json* weights = scene.find("weights");
  if (weights == nullptr) return Policy::make(scene.find("policy")->as_string(), options);
  for (const auto& [scorer, weight] : weights->members()) {
    options.weights.push_back({scorer, weight.as_double()});
  }
  std::vector<std::string> filters;
  if (const Json* names = scene.find("filters")) {
    for (const Json& name : names->items()) filters.push_back(name.as_string());
  }
  return Policy::make_weighted(filters, options);
}

void set_up(testing::World& world, const Json& scene, const testing::Blocks& prompt) {
  Slot slot = 0;
  for (const Json& replica : scene.find("replicas")->items()) {
    const uint64_t load = number(replica, "load");
    for (uint64_t i = 0; i < load; ++i) world.columns.begin(slot, 0);
    if (const uint64_t given = number(replica, "given"); given > 0) {
      world.columns.begin(slot, static_cast<uint32_t>(given));
      world.columns.end(slot);
    }
    world.columns.set_scraped(slot, scraped(replica), static_cast<uint32_t>(load));
    world.columns.set_health(slot, health(text(replica, "health", "ready")));
    const auto held = static_cast<ptrdiff_t>(number(replica, "holds"));
    world.hold(slot, testing::Blocks(prompt.begin(), prompt.begin() + held));
    ++slot;
  }
}

void run(const Json& scene) {
  const auto policy = policy_of(scene);
  ASSERT_TRUE(policy) << policy.error().message();
  const testing::Blocks prompt = testing::chain(1, number(*scene.find("prompt"), "blocks"));
  const std::vector<Slot> tried = slots(scene.find("tried"));
  const std::vector<Slot> expected = slots(scene.find("pick"));

  std::set<Slot> picked;
  const std::vector<Table::Replica> replicas = table_of(scene);
  testing::World world(replicas, static_cast<uint32_t>(replicas.size()));
  set_up(world, scene, prompt);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Chooser chooser(**policy, world.columns, world.index);
    base::Random random(seed);
    world.query = {
        .model = world.table.find("m"), .blocks = prompt, .prompt_tokens = 100, .tried = tried};
    if (const Json* session = scene.find("session")) world.query.session = session->as_uint();
    std::optional<Reservation> pick = chooser.pick(world.query, random);
    ASSERT_EQ(pick.has_value(), !expected.empty());
    if (!pick) continue;
    EXPECT_EQ(to_string(pick->reason), text(scene, "reason", ""));
    picked.insert(pick->slot());
    chooser.undo(*pick, prompt);
  }
  EXPECT_EQ(picked, std::set<Slot>(expected.begin(), expected.end()));
}

TEST(Policy, DecidesEveryCaseOfTheTable) {
  std::ifstream file(FAIRLEAD_TESTDATA "/policies.json");
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const auto scenes = codec::parse_json(content);
  ASSERT_TRUE(scenes) << scenes.error().message();
  ASSERT_GE(scenes->items().size(), 40u);
  for (const Json& scene : scenes->items()) {
    SCOPED_TRACE(scene.find("name")->as_string());
    run(scene);
  }
}

TEST(Policy, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  const auto policy = Policy::make("prefix_cache", {});
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().message(),
            "no policy is called \"prefix_cache\"; there are expected-ttft, prefix-cache, "
            "least-request, power-of-two, session-affinity, round-robin, random");
}

TEST(Policy, EveryNameMakesAPolicy) {
  for (const std::string_view name : Policy::names()) {
    const auto policy = Policy::make(name, {});
    ASSERT_TRUE(policy) << name;
    EXPECT_EQ((*policy)->name(), name);
    EXPECT_EQ((*policy)->reads_prefixes(), name == "prefix-cache" || name == "expected-ttft");
    EXPECT_EQ((*policy)->reads_sessions(), name == "session-affinity");
  }
}

TEST(Policy, AWeightedOneNamesWhatItDoesNotKnow) {
  const auto why = [](const std::vector<std::string>& filters, std::vector<WeightedScore> weights) {
    const auto policy = Policy::make_weighted(filters, {.weights = std::move(weights)});
    return policy ? std::string() : policy.error().message();
  };
  EXPECT_EQ(why({"least-request"}, {{"gpu-usage", 0}, {"random", WeightedScore::kWeightMax}}), "");
  EXPECT_EQ(why({}, {}), "");
  EXPECT_EQ(why({"least"}, {}), "no filter is called \"least\"");
  EXPECT_EQ(why({}, {{"gpu", 1}}), "no scorer is called \"gpu\"");
  EXPECT_NE(why({}, {{"gpu-usage", -1}}), "");
  EXPECT_NE(why({}, {{"gpu-usage", 1.1e6}}), "");
  EXPECT_EQ(why({}, std::vector<WeightedScore>(kScorersMax - 1, {"random", 1})), "");
  EXPECT_NE(why({}, std::vector<WeightedScore>(kScorersMax, {"random", 1})), "");
}

TEST(Policy, AWeightedOneReadsPrefixesIfItScoresThem) {
  EXPECT_TRUE((*Policy::make_weighted({}, {.weights = {{"prefix-cache", 1}}}))->reads_prefixes());
  EXPECT_FALSE((*Policy::make_weighted({}, {.weights = {{"gpu-usage", 1}}}))->reads_prefixes());
}

TEST(Policy, OptionsAreBounded) {
  const auto valid = [](double factor, double share) {
    const PolicyOptions options{.prefix_affinity = {.load_factor = factor, .share_min = share}};
    return Policy::make("prefix-cache", options).ok();
  };
  EXPECT_TRUE(valid(1, 0));
  EXPECT_TRUE(valid(100, 1));
  EXPECT_FALSE(valid(0.99, 0.5));
  EXPECT_FALSE(valid(100.1, 0.5));
  EXPECT_FALSE(valid(1.25, -0.1));
  EXPECT_FALSE(valid(1.25, 1.1));
  EXPECT_FALSE(valid(std::numeric_limits<double>::quiet_NaN(), 0.5));
}

}  // namespace
}  // namespace fairlead::pick
