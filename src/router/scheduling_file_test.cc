#include "router/scheduling_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace fairlead::router {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string file_error(std::string_view text) {
  const auto scheduling = parse_scheduling(text);
  return scheduling ? "no error" : scheduling.error().message();
}

std::vector<std::string> warnings(std::string_view text) {
  const auto scheduling = parse_scheduling(text);
  EXPECT_TRUE(scheduling) << scheduling.error().message();
  return scheduling ? scheduling->warnings : std::vector<std::string>();
}

std::string compact_scores(std::string_view list) {
  return fmt::format("scheduler: {{plugins: {{Score: {{enabled: [{}]}}}}}}\n", list);
}

std::string args(std::string_view plugin, std::string_view args) {
  return fmt::format("scheduler:\n  pluginConfig:\n    - name: {}\n      args: {{{}}}\n", plugin,
                     args);
}

MATCHER_P2(Weighs, scorer, weight, "") { return arg.scorer == scorer && arg.weight == weight; }

constexpr std::string_view kWhole = R"(
scheduler:
  pluginConfig:
    - name: least-request
      args: {maxWaitingRequests: 7}
    - name: least-latency
      args: {TTFTTPOTWeightFactor: 0}
    - name: prefix-cache
      args: {blockSizeToHash: 32, maxBlocksToMatch: 256, topKMatches: 3}
  plugins:
    Filter:
      enabled: [lora-affinity, least-request]
      disabled: [whatever]
    Score:
      enabled:
        - {name: prefix-cache, weight: 3}
        - {name: least-latency, weight: 0.5}
        - {name: gpu-usage}
      disabled: []
)";

TEST(SchedulingFile, ReadsFiltersScorersWeightsAndArguments) {
  const auto scheduling = parse_scheduling(kWhole);
  ASSERT_TRUE(scheduling) << scheduling.error().message();
  EXPECT_THAT(scheduling->warnings, IsEmpty());
  EXPECT_THAT(scheduling->filters, ElementsAre("least-request"));
  const pick::PolicyOptions& options = scheduling->options;
  EXPECT_THAT(options.weights, ElementsAre(Weighs("prefix-cache", 3), Weighs("least-latency", 0.5),
                                           Weighs("gpu-usage", 1)));
  EXPECT_EQ(options.least_request.waiting_max, 7U);
  EXPECT_EQ(options.least_latency.ttft_share, 0);
  EXPECT_EQ(options.hashing.block_bytes, 32U);
  EXPECT_EQ(options.hashing.blocks_max, 256U);
  EXPECT_EQ(options.prefix_cache.holders_max, 3U);
  const auto policy = scheduling->policy();
  ASSERT_TRUE(policy);
  EXPECT_EQ((*policy)->filters().size(), 4U) << "and tried, health and slow-start";
  EXPECT_EQ((*policy)->scorers().size(), 4U) << "and load, for ties";
}

TEST(SchedulingFile, WhatItDoesNotNameIsAsInTheChart) {
  for (const std::string_view text : {"{}", "scheduler:\n", "scheduler: {plugins: {}}\n"}) {
    const auto scheduling = parse_scheduling(text);
    ASSERT_TRUE(scheduling) << text;
    EXPECT_THAT(scheduling->warnings, IsEmpty());
    EXPECT_THAT(scheduling->filters, ElementsAre("least-request"));
    EXPECT_THAT(scheduling->options.weights,
                ElementsAre(Weighs("least-request", 1), Weighs("gpu-usage", 1),
                            Weighs("least-latency", 1), Weighs("prefix-cache", 1)));
    EXPECT_EQ(scheduling->options.least_request.waiting_max, 10U);
  }
  EXPECT_THAT(parse_scheduling("scheduler: {plugins: {Filter: {enabled: []}}}")->filters,
              IsEmpty());
}

TEST(SchedulingFile, ErrorsNameLineAndField) {
  EXPECT_EQ(file_error(args("least-request", "maxWaitingRequests: many")),
            "line 4: scheduler.pluginConfig[0].args.maxWaitingRequests is 'many': must be an "
            "integer from 1 to 1000000");
  EXPECT_EQ(file_error(compact_scores("{name: gpu-usage, weight: -1}")),
            "line 1: scheduler.plugins.Score.enabled[0].weight is -1: must be a number from 0 to "
            "1000000");
  EXPECT_THAT(file_error("scheduler:\n  plugins:\n    Filter:\n      enabled:\n        - [x]\n"),
              HasSubstr("line 5: scheduler.plugins.Filter.enabled[0] is [\"x\"]"));
  EXPECT_THAT(file_error("scheduler: [\n"), HasSubstr("line "));
  EXPECT_THAT(file_error("- 1\n"), HasSubstr("must be a mapping"));
  EXPECT_THAT(file_error("scheduler: 3\n"), HasSubstr("line 1: scheduler is 3"));
  EXPECT_EQ(file_error(""), "line 1: the file is empty");
  EXPECT_EQ(file_error("# scheduler:\n"), "line 1: the file is empty");
}

TEST(SchedulingFile, RefusesWrongTypes) {
  for (const std::string& text :
       {compact_scores("random"), compact_scores("{weight: 1}"), compact_scores("{name: 1}"),
        compact_scores("{name: random, weight: heavy}"), std::string("scheduler: {plugins: []}"),
        std::string("scheduler: {plugins: {Score: {enabled: {}}}}"),
        std::string("scheduler: {plugins: {Score: {disabled: x}}}"),
        std::string("scheduler: {pluginConfig: {}}"), std::string("scheduler: {pluginConfig: [1]}"),
        std::string("scheduler: {pluginConfig: [{args: {}}]}"), args("least-request", "a: [1]\n"),
        std::string("scheduler: {pluginConfig: [{name: random, args: [1]}]}")}) {
    const bool is_unknown = text.find("a: [1]") != std::string::npos;
    EXPECT_EQ(file_error(text) == "no error", is_unknown) << text;
  }
}

TEST(SchedulingFile, ArgumentsAreBounded) {
  const auto valid = [](std::string_view plugin, std::string_view text) {
    return parse_scheduling(args(plugin, text)).ok();
  };
  EXPECT_TRUE(valid("least-latency", "TTFTTPOTWeightFactor: 0"));
  EXPECT_TRUE(valid("least-latency", "TTFTTPOTWeightFactor: 1"));
  EXPECT_FALSE(valid("least-latency", "TTFTTPOTWeightFactor: 1.01"));
  EXPECT_FALSE(valid("least-latency", "TTFTTPOTWeightFactor: -0.01"));
  EXPECT_FALSE(valid("least-latency", "TTFTTPOTWeightFactor: .nan"));
  EXPECT_FALSE(valid("least-latency", "TTFTTPOTWeightFactor: .inf"));
  EXPECT_TRUE(valid("least-request", "maxWaitingRequests: 1000000"));
  EXPECT_FALSE(valid("least-request", "maxWaitingRequests: 1000001"));
  EXPECT_FALSE(valid("least-request", "maxWaitingRequests: -1"));
  EXPECT_TRUE(valid("prefix-cache", "blockSizeToHash: 16, maxBlocksToMatch: 512"));
  EXPECT_FALSE(valid("prefix-cache", "blockSizeToHash: 15"));
  EXPECT_TRUE(valid("prefix-cache", "blockSizeToHash: 1024"));
  EXPECT_FALSE(valid("prefix-cache", "blockSizeToHash: 1025"));
  EXPECT_FALSE(valid("prefix-cache", "maxBlocksToMatch: 513"));
  EXPECT_FALSE(valid("prefix-cache", "topKMatches: 16385"));
}

TEST(SchedulingFile, ZeroMeansTheDefaultAsInKthena) {
  const auto zero = parse_scheduling(args("prefix-cache", "blockSizeToHash: 0, topKMatches: 0"));
  ASSERT_TRUE(zero) << zero.error().message();
  EXPECT_EQ(zero->options.hashing.block_bytes, 64U);
  EXPECT_EQ(zero->options.prefix_cache.holders_max, 5U);
  EXPECT_EQ(parse_scheduling(args("least-request", "maxWaitingRequests: 0"))
                ->options.least_request.waiting_max,
            10U);
}

TEST(SchedulingFile, ArgumentNamesMatchWhateverTheirCase) {
  const auto scheduling = parse_scheduling(args("least-request", "maxwaitingREQUESTS: 4"));
  ASSERT_TRUE(scheduling);
  EXPECT_THAT(scheduling->warnings, IsEmpty());
  EXPECT_EQ(scheduling->options.least_request.waiting_max, 4U);
}

TEST(SchedulingFile, WhatIsUnknownIsLeftOutWithAWarning) {
  EXPECT_THAT(warnings("scheduler: {plugin: {}}\nextra: 1\n"),
              ElementsAre("line 1: scheduler.plugin: unknown field, did you mean 'plugins'?",
                          "line 2: extra: unknown field, known are scheduler, auth"));
  EXPECT_THAT(warnings(compact_scores("{name: gpu-usge}, {name: gpu-usage, wait: 1}")),
              ElementsAre(HasSubstr("no scorer is called 'gpu-usge', did you mean 'gpu-usage'?"),
                          HasSubstr("unknown field scheduler.plugins.Score.enabled[1].wait")));
  EXPECT_THAT(warnings("scheduler: {plugins: {Filter: {enabled: [x, least-request]}}}"),
              ElementsAre(HasSubstr("no filter is called 'x'")));
  EXPECT_THAT(warnings(args("kvcache-aware", "blockSizeToHash: 16")),
              ElementsAre(HasSubstr("no plugin is called 'kvcache-aware'")));
  EXPECT_THAT(warnings(args("prefix-cache", "blockSize: 16")),
              ElementsAre(HasSubstr("unknown field scheduler.pluginConfig[0].args.blockSize")));
  EXPECT_THAT(warnings(args("gpu-usage", "a: 1")), ElementsAre(HasSubstr("args.a")));
  EXPECT_THAT(warnings(args("prefix-cache", "maxHashCacheSize: 50000")),
              ElementsAre(HasSubstr("--index-bytes-max")));
}

TEST(SchedulingFile, AWeightThatIsMissingIsOne) {
  EXPECT_THAT(parse_scheduling(compact_scores("{name: gpu-usage}"))->options.weights,
              ElementsAre(Weighs("gpu-usage", 1)));
}

TEST(SchedulingFile, OfANameTwiceTheLastWeightCounts) {
  const auto scheduling = parse_scheduling(
      compact_scores("{name: gpu-usage, weight: 1}, {name: gpu-usage, weight: 5}"));
  ASSERT_TRUE(scheduling);
  EXPECT_THAT(scheduling->options.weights, ElementsAre(Weighs("gpu-usage", 5)));
  EXPECT_THAT(scheduling->warnings, ElementsAre(HasSubstr("twice")));
}

TEST(SchedulingFile, RandomYieldsToOtherScorers) {
  const auto both = parse_scheduling(compact_scores("{name: random}, {name: gpu-usage}"));
  ASSERT_TRUE(both);
  EXPECT_THAT(both->options.weights, ElementsAre(Weighs("gpu-usage", 1)));
  EXPECT_THAT(both->warnings, ElementsAre(HasSubstr("line 1: ")));
  EXPECT_THAT(warnings(compact_scores("{name: random}")), IsEmpty());
}

TEST(SchedulingFile, AuthThatCannotBeCheckedIsRefused) {
  EXPECT_THAT(file_error("auth:\n  issuer: https://example.com\n"),
              HasSubstr("line 2: auth.issuer"));
  EXPECT_THAT(file_error("auth:\n  audiences: [a]\n"), HasSubstr("auth.audiences"));
  EXPECT_THAT(warnings("auth: {issuer: \"\", audiences: [], jwksUri: }\n"), IsEmpty());
  EXPECT_THAT(warnings("auth:\n"), IsEmpty());
}

TEST(SchedulingFile, WarningsAreBounded) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += fmt::format("key{}: 1\n", i);
  const std::vector<std::string> found = warnings(text);
  EXPECT_EQ(found.size(), kSchedulingWarningsMax + 1);
  EXPECT_EQ(found.back(), "and 200 more");
}

// docs/scheduling.md shows this file and parts of others: all must load as they stand.
TEST(SchedulingFile, TheExamplesOfTheDocumentationLoadWithoutAWarning) {
  const std::string docs = std::string(FAIRLEAD_SOURCE) + "/docs/";
  const std::string example = read(docs + "examples/scheduling.yaml");
  ASSERT_FALSE(example.empty());
  EXPECT_THAT(warnings(example), IsEmpty());
  const std::string page = read(docs + "scheduling.md");
  EXPECT_THAT(page, HasSubstr(example)) << "the page shows another file";
  size_t count = 0;
  for (size_t at = page.find("```yaml\n"); at != std::string::npos;
       at = page.find("```yaml\n", at)) {
    at += 8;
    const std::string block = page.substr(at, page.find("```", at) - at);
    EXPECT_THAT(warnings(block), IsEmpty()) << block;
    ++count;
  }
  EXPECT_GE(count, 3U);
}

}  // namespace
}  // namespace fairlead::router
