#include "cache_index/prefix_hasher.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace fairlead::cache_index {
namespace {

std::vector<uint64_t> hash_of(std::string_view prompt, std::string_view model = "m",
                              std::string_view salt = "", PrefixHasherOptions options = {}) {
  PrefixHasher hasher(options);
  hasher.reset(model, salt);
  hasher.add(prompt);
  return {hasher.blocks().begin(), hasher.blocks().end()};
}

std::string random_text(base::Random& random, size_t size) {
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  return text;
}

TEST(PrefixHasher, DoesNotDependOnHowThePromptIsCut) {
  base::Random random(1);
  PrefixHasher hasher(PrefixHasherOptions{});
  for (int round = 0; round < 300; ++round) {
    const std::string prompt = random_text(random, random.below(12'000));
    hasher.reset("m", "salt");
    std::string_view rest = prompt;
    while (!rest.empty()) {
      const size_t size = random.below(std::min<size_t>(rest.size(), 200) + 1);
      hasher.add(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    const std::vector<uint64_t> cut(hasher.blocks().begin(), hasher.blocks().end());
    ASSERT_EQ(cut, hash_of(prompt, "m", "salt")) << "round " << round;
  }
}

TEST(PrefixHasher, HashesWholeBlocksOnlyUpToTheLimit) {
  EXPECT_EQ(hash_of(std::string(63, 'x')).size(), 0u);
  EXPECT_EQ(hash_of(std::string(64, 'x')).size(), 1u);
  EXPECT_EQ(hash_of(std::string(64 * 128 - 1, 'x')).size(), 127u);
  EXPECT_EQ(hash_of(std::string(64 * 128, 'x')).size(), 128u);
  EXPECT_EQ(hash_of(std::string(64 * 129, 'x')).size(), 128u);
}

TEST(PrefixHasher, ABlockStandsForAllThatComesBeforeIt) {
  base::Random random(2);
  for (int round = 0; round < 100; ++round) {
    const std::string prompt = random_text(random, 64 * 20);
    const size_t at = random.below(prompt.size());
    std::string other = prompt;
    other[at] = '#';
    const auto a = hash_of(prompt);
    const auto b = hash_of(other);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i] == b[i], i < at / 64) << i << " at " << at;
  }
}

TEST(PrefixHasher, ModelsAndSaltsShareNothing) {
  const std::string prompt(640, 'x');
  EXPECT_NE(hash_of(prompt, "a"), hash_of(prompt, "b"));
  EXPECT_NE(hash_of(prompt, "a", "1"), hash_of(prompt, "a", "2"));
  EXPECT_NE(hash_of(prompt, "ab", "c"), hash_of(prompt, "a", "bc"));
  EXPECT_EQ(hash_of(prompt, "a", "1"), hash_of(prompt, "a", "1"));
}

TEST(PrefixHasher, ResetForgetsTheBegunBlock) {
  PrefixHasher hasher(PrefixHasherOptions{});
  hasher.reset("m", "");
  hasher.add(std::string(100, 'a'));
  hasher.reset("m", "");
  hasher.add(std::string(64, 'b'));
  ASSERT_EQ(hasher.blocks().size(), 1u);
  EXPECT_EQ(hasher.blocks()[0], hash_of(std::string(64, 'b'))[0]);
  EXPECT_FALSE(hasher.full());
}

TEST(PrefixHasher, HashesAreTheSameInEveryRelease) {
  EXPECT_EQ(hash_of(std::string(128, 'x'), "m", "s"),
            (std::vector<uint64_t>{15849071787494787612u, 10054735046070653518u}));
}

TEST(PrefixHasherOptions, AreBounded) {
  using Options = PrefixHasherOptions;
  EXPECT_TRUE((Options{.block_bytes = 16, .blocks_max = 1}.validate()));
  EXPECT_TRUE((Options{.block_bytes = 1024, .blocks_max = 512}.validate()));
  EXPECT_FALSE((Options{.block_bytes = 15}.validate()));
  EXPECT_FALSE((Options{.block_bytes = 1025}.validate()));
  EXPECT_FALSE((Options{.blocks_max = 0}.validate()));
  EXPECT_FALSE((Options{.blocks_max = 513}.validate()));
}

}  // namespace
}  // namespace fairlead::cache_index
