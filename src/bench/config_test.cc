#include "bench/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string why_invalid(const BenchConfig& config) {
  const auto valid = validate(config);
  return valid.ok() ? "valid" : valid.error().describe();
}

TEST(Targets, AreTheUrlWhereNothingIsCompared) {
  const auto targets = targets_of({.url = "http://10.0.0.1:8000"});
  ASSERT_EQ(targets->size(), 1U);
  EXPECT_EQ(targets->front().url, "http://10.0.0.1:8000");
  EXPECT_FALSE(starts_processes(*targets));
}

TEST(Targets, AreLabelledUrlsOrPolicies) {
  const auto urls = targets_of({.compare = {"old=http://a:1,http://b:2", "new=http://c:3/"}});
  ASSERT_EQ(urls->size(), 3U);
  EXPECT_EQ((*urls)[0].label, "old");
  EXPECT_EQ((*urls)[0].url, "http://a:1");
  EXPECT_EQ((*urls)[1].label, "http://b:2");
  EXPECT_EQ((*urls)[2].url, "http://c:3/");
  EXPECT_FALSE(starts_processes(*urls));

  const auto policies = targets_of({.compare = {"round-robin,prefix-cache"}});
  ASSERT_EQ(policies->size(), 2U);
  EXPECT_EQ((*policies)[1].policy, "prefix-cache");
  EXPECT_TRUE(starts_processes(*policies));
}

TEST(Targets, TeachWhatCannotBeCompared) {
  EXPECT_THAT(targets_of({.compare = {","}}).error().message(), HasSubstr("--compare is empty"));
  EXPECT_THAT(targets_of({.compare = {"a=http://a:1,random"}}).error().message(),
              HasSubstr("mixes URLs and policies ('a', 'random')"));
  EXPECT_THAT(targets_of({.compare = {"random,random"}}).error().message(), HasSubstr("twice"));
  EXPECT_THAT(targets_of({.compare = {"=http://a:1"}}).error().message(), HasSubstr("no label"));
  EXPECT_TRUE(targets_of({.compare = {"a,b,c,d,e,f,g,h"}}).ok());
  EXPECT_THAT(targets_of({.compare = {"a,b,c,d,e,f,g,h,i"}}).error().message(),
              HasSubstr("9 targets: at most 8"));
}

TEST(Validate, AcceptsTheDefaultsAndNamesWhatDoesNotGoTogether) {
  EXPECT_EQ(why_invalid({}), "valid");
  EXPECT_EQ(why_invalid({.compare = {"round-robin,prefix-cache"}, .overload = 4, .verdict = true}),
            "valid");
  EXPECT_THAT(why_invalid({.url = "https://example.com"}), HasSubstr("target"));
  EXPECT_THAT(why_invalid({.overload = 4}), HasSubstr("--overload needs policies"));
  EXPECT_THAT(why_invalid({.compare = {"round-robin"}, .verdict = true}),
              HasSubstr("--verdict compares two policies"));
  EXPECT_THAT(why_invalid({.compare = {"a=http://a:1,b=http://b:1"}, .verdict = true}),
              HasSubstr("--verdict compares two policies"));
  EXPECT_THAT(why_invalid({.compare = {"a,b"}, .workload = WorkloadKind::kRandom, .verdict = true}),
              HasSubstr("--verdict is about repeated prefixes"));
  EXPECT_THAT(why_invalid({.compare = {"a,b"}, .max_num_seqs = 4096, .overload = 5}),
              HasSubstr("20480 clients: at most 20000"));
  EXPECT_THAT(why_invalid({.prefixes = 1'000'000, .repeats = 1000}),
              HasSubstr("prefixes times repeats"));
}

TEST(Validate, WantsATraceForWhatIsRecorded) {
  EXPECT_THAT(why_invalid({.workload = WorkloadKind::kMooncake}), HasSubstr("need --trace FILE"));
  EXPECT_THAT(why_invalid({.trace = "t"}), HasSubstr("say which with --workload"));
  EXPECT_EQ(why_invalid({.workload = WorkloadKind::kMooncake, .trace = "t"}), "valid");
  EXPECT_EQ(why_invalid({.workload = WorkloadKind::kSharegpt, .trace = "t"}), "valid");
  EXPECT_THAT(why_invalid({.api = Api::kCompletions, .workload = WorkloadKind::kConversations}),
              HasSubstr("conversations need --api chat"));
}

TEST(Validate, WantsARateOrATraceForArrivals) {
  using workload::ArrivalKind;
  EXPECT_EQ(why_invalid({.rate = 3, .arrivals = ArrivalKind::kBursty}), "valid");
  EXPECT_THAT(why_invalid({.arrivals = ArrivalKind::kConstant}), HasSubstr("give its --rate"));
  EXPECT_EQ(
      why_invalid(
          {.workload = WorkloadKind::kMooncake, .trace = "t", .arrivals = ArrivalKind::kTrace}),
      "valid");
  EXPECT_THAT(why_invalid({.workload = WorkloadKind::kMooncake,
                           .trace = "t",
                           .rate = 3,
                           .arrivals = ArrivalKind::kTrace}),
              HasSubstr("--speedup"));
  EXPECT_THAT(
      why_invalid(
          {.workload = WorkloadKind::kSharegpt, .trace = "t", .arrivals = ArrivalKind::kTrace}),
      HasSubstr("--workload mooncake"));
}

TEST(Validate, WantsLimitsAndAFreeLoadForASweep) {
  EXPECT_EQ(why_invalid({.ttft_limit = 1s, .sweep = SweepOver::kRate}), "valid");
  EXPECT_EQ(why_invalid({.arrivals = workload::ArrivalKind::kConstant,
                         .itl_limit = 1s,
                         .sweep = SweepOver::kRate}),
            "valid");
  EXPECT_THAT(why_invalid({.sweep = SweepOver::kRate}), HasSubstr("--sweep needs limits"));
  EXPECT_THAT(why_invalid({.rate = 3, .ttft_limit = 1s, .sweep = SweepOver::kRate}),
              HasSubstr("leave out --rate"));
  EXPECT_THAT(why_invalid({.ttft_limit = 1s, .sweep = SweepOver::kRate, .sweep_min = 1001}),
              HasSubstr("--sweep-min is 1001: at most --sweep-max, 1000"));
  EXPECT_EQ(why_invalid({.ttft_limit = 1s, .sweep = SweepOver::kConcurrency, .sweep_max = 20'000}),
            "valid");
  EXPECT_THAT(
      why_invalid({.ttft_limit = 1s, .sweep = SweepOver::kConcurrency, .sweep_max = 20'001}),
      HasSubstr("from 1 to 20000"));
  EXPECT_THAT(why_invalid({.stream = false, .ttft_limit = 1s}), HasSubstr("streamed answers"));
  EXPECT_THAT(
      why_invalid(
          {.compare = {"a,b"}, .ttft_limit = 1s, .sweep = SweepOver::kRate, .verdict = true}),
      HasSubstr("without --verdict"));
}

TEST(Requests, ComeFromTheWorkloadUnlessTheyAreGiven) {
  EXPECT_EQ(requests_of({}, 21), 21U);
  EXPECT_EQ(requests_of({.requests = 5}, 21), 5U);
  EXPECT_EQ(requests_of({}, 0), kRequestsDefault);
  EXPECT_EQ(requests_of({.duration = 5s}, 21), std::nullopt);
  EXPECT_EQ(requests_of({.requests = 9, .duration = 5s}, 21), 9U);
}

TEST(Flags, AreAllDocumentedAndSettable) {
  std::set<std::string> names;
  for (const auto& flag : codec::flags_of(codec::info_for<BenchConfig>())) {
    EXPECT_GT(flag.doc.size(), 10U) << flag.flag;
    EXPECT_TRUE(names.insert(flag.flag).second) << flag.flag;
  }
  BenchConfig config;
  ASSERT_TRUE(codec::set_field(config, "workload", "prefix-groups").ok());
  EXPECT_EQ(config.workload, WorkloadKind::kPrefixGroups);
  ASSERT_TRUE(codec::set_field(config, "compare", "round-robin,prefix-cache").ok());
  EXPECT_EQ(targets_of(config)->size(), 2U);
  ASSERT_TRUE(codec::set_field(config, "max-tokens", "7").ok());
  EXPECT_FALSE(codec::set_field(config, "concurrency", "0").ok());
  EXPECT_TRUE(codec::set_field(config, "concurrency", "20000").ok());
  EXPECT_FALSE(codec::set_field(config, "concurrency", "20001").ok());
  EXPECT_FALSE(codec::set_field(config, "duration", "50ms").ok());
}

}  // namespace
}  // namespace fairlead::bench
