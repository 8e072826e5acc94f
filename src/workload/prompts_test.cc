#include "workload/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace fairlead::workload {
namespace {

using testing::HasSubstr;

std::vector<Prompt> take(const PromptOptions& options, size_t count) {
  PromptSource source(options);
  std::vector<Prompt> out(count);
  for (auto& prompt : out) source.next(prompt);
  return out;
}

TEST(SharedPrefix, SendsEveryPrefixAsOftenAsAskedInEachPass) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const PromptOptions options{.prefixes = 40, .repeats = 5, .prefix_tokens = 20, .seed = seed};
    EXPECT_EQ(PromptSource(options).planned(), 200U);
    const auto prompts = take(options, 400);
    for (size_t pass = 0; pass < 2; ++pass) {
      std::map<uint32_t, int> uses;
      for (size_t i = 0; i < 200; ++i) ++uses[prompts[pass * 200 + i].prefix];
      EXPECT_EQ(uses.size(), 40U);
      for (const auto& [prefix, count] : uses) EXPECT_EQ(count, 5) << prefix;
    }
  }
}

TEST(SharedPrefix, ShufflesSoThatRepeatsAreSpread) {
  const auto prompts = take({.prefixes = 40, .repeats = 5, .prefix_tokens = 1, .seed = 1}, 200);
  int neighbours = 0;
  int in_turn = 0;
  for (size_t i = 1; i < prompts.size(); ++i) {
    neighbours += prompts[i].prefix == prompts[i - 1].prefix ? 1 : 0;
    in_turn += prompts[i].prefix == (prompts[i - 1].prefix + 1) % 40 ? 1 : 0;
  }
  EXPECT_LT(neighbours, 20);
  EXPECT_LT(in_turn, 20);
}

TEST(SharedPrefix, KeepsAPrefixToTheByteAndChangesEveryQuestion) {
  const auto prompts = take({.prefixes = 3, .repeats = 50, .seed = 9}, 150);
  std::map<uint32_t, std::string> texts;
  std::set<std::string> questions;
  for (const auto& prompt : prompts) {
    const auto [it, fresh] = texts.emplace(prompt.prefix, prompt.system);
    EXPECT_EQ(it->second, prompt.system);
    questions.insert(prompt.question);
  }
  EXPECT_EQ(questions.size(), prompts.size());
}

TEST(Prompts, DifferWithinTheFirstBlockAcrossPrefixesSeedsAndSalts) {
  std::set<std::string> starts;
  size_t expected = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (uint64_t salt = 0; salt < 5; ++salt) {
      for (const auto& prompt :
           take({.prefixes = 50, .repeats = 1, .prefix_tokens = 30, .seed = seed, .salt = salt},
                50)) {
        starts.insert(prompt.system.substr(0, 32));
        ++expected;
      }
    }
  }
  EXPECT_EQ(starts.size(), expected);
}

TEST(Prompts, KeepOrderAndSizesUnderAnotherSalt) {
  PromptOptions options{.kind = PromptKind::kPrefixGroups, .zipf = 1, .seed = 4};
  const auto plain = take(options, 100);
  options.salt = 1;
  const auto salted = take(options, 100);
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i].prefix, salted[i].prefix);
    EXPECT_EQ(plain[i].system.size(), salted[i].system.size());
    EXPECT_NE(plain[i].system, salted[i].system);
    EXPECT_NE(plain[i].question, salted[i].question);
  }
}

TEST(Prompts, RepeatFromTheirSeed) {
  for (const auto kind :
       {PromptKind::kSharedPrefix, PromptKind::kPrefixGroups, PromptKind::kRandom}) {
    const PromptOptions options{.kind = kind, .zipf = 0.9, .seed = 77};
    const auto once = take(options, 60);
    const auto again = take(options, 60);
    for (size_t i = 0; i < once.size(); ++i) {
      EXPECT_EQ(once[i].prefix, again[i].prefix);
      EXPECT_EQ(once[i].system, again[i].system);
      EXPECT_EQ(once[i].question, again[i].question);
    }
  }
}

TEST(Prompts, HaveTheAskedSizeAndNeedNoEscaping) {
  for (const uint32_t tokens : {20U, 21U, 1000U, 33'333U}) {
    const auto prompts =
        take({.prefixes = 2, .repeats = 1, .prefix_tokens = tokens, .question_tokens = 16}, 2);
    for (const auto& prompt : prompts) {
      EXPECT_EQ(prompt.system.size(), tokens * 4);
      EXPECT_EQ(prompt.question.size(), 64U);
      for (const char c : prompt.system + prompt.question) {
        ASSERT_TRUE(c >= ' ' && c < 127 && c != '"' && c != '\\') << static_cast<int>(c);
      }
    }
  }
}

TEST(Prompts, KeepTheirLabelWhenAskedForNoTokens) {
  const auto prompts = take({.prefixes = 2, .repeats = 1, .prefix_tokens = 0}, 2);
  EXPECT_NE(prompts[0].system, prompts[1].system);
  EXPECT_LT(prompts[0].system.size(), 48U);
}

TEST(PrefixGroups, UsesAllEquallyOrByZipfsLaw) {
  std::map<uint32_t, int> uniform;
  std::map<uint32_t, int> zipf;
  PromptOptions options{
      .kind = PromptKind::kPrefixGroups, .prefixes = 10, .prefix_tokens = 1, .seed = 5};
  for (const auto& prompt : take(options, 20'000)) ++uniform[prompt.prefix];
  options.zipf = 1;
  for (const auto& prompt : take(options, 20'000)) ++zipf[prompt.prefix];
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(uniform[i], 2000, 200) << i;
    EXPECT_NEAR(zipf[i], 20'000 / 2.929 / (i + 1), 400 / (i + 1.0) + 60) << i;
  }
  EXPECT_EQ(PromptSource(options).planned(), 0U);
}

TEST(RandomPrompts, ShareNothing) {
  std::set<std::string> starts;
  for (const auto& prompt : take({.kind = PromptKind::kRandom, .prefix_tokens = 100}, 500)) {
    EXPECT_EQ(prompt.prefix, kNoPrefix);
    EXPECT_TRUE(prompt.system.empty());
    EXPECT_EQ(prompt.question.size(), 496U);
    starts.insert(prompt.question.substr(0, 32));
  }
  EXPECT_EQ(starts.size(), 500U);
}

TEST(PromptOptions, NameTheFieldThatIsOutOfBounds) {
  EXPECT_TRUE(validate(PromptOptions{}).ok());
  EXPECT_THAT(validate(PromptOptions{.prefixes = 0}).error().message(), HasSubstr("prefixes is 0"));
  EXPECT_TRUE(validate(PromptOptions{.prefixes = 1'000'000, .repeats = 50}).ok());
  EXPECT_THAT(validate(PromptOptions{.prefixes = 1'000'000, .repeats = 51}).error().message(),
              HasSubstr("prefixes times repeats"));
  EXPECT_THAT(validate(PromptOptions{.prefixes = 1'000'001}).error().message(),
              HasSubstr("prefixes"));
  EXPECT_THAT(validate(PromptOptions{.repeats = 0}).error().message(), HasSubstr("repeats"));
  EXPECT_THAT(validate(PromptOptions{.prefix_tokens = 4'000'001}).error().message(),
              HasSubstr("prefix-tokens"));
  EXPECT_THAT(validate(PromptOptions{.zipf = -1}).error().message(), HasSubstr("zipf"));
  EXPECT_THAT(
      validate(PromptOptions{.zipf = std::numeric_limits<double>::quiet_NaN()}).error().message(),
      HasSubstr("zipf"));
}

}  // namespace
}  // namespace fairlead::workload
