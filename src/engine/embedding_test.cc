#include "engine/embedding.h"

#include <cmath>
#include <numeric>
#include <string_view>

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::engine {
namespace {

using protocol::TokenId;

std::vector<float> of_text(std::string_view text, size_t dimensions = 256) {
  std::vector<TokenId> tokens;
  protocol::BuiltinTokenizer().encode(text, tokens);
  return embed(tokens, {.size = 256, .dimensions = dimensions});
}

double product(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST(Embedding, HasLengthOneWhateverTheTokens) {
  base::Random random(1);
  for (size_t size : {1u, 2u, 7u, 1024u}) {
    for (int i = 0; i < 50; ++i) {
      std::vector<TokenId> tokens(1 + random.below(40));
      for (TokenId& token : tokens) token = static_cast<TokenId>(random.next());
      const size_t dimensions = 1 + random.below(size);
      const std::vector<float> vector = embed(tokens, {.size = size, .dimensions = dimensions});
      ASSERT_EQ(vector.size(), dimensions);
      ASSERT_NEAR(product(vector, vector), 1, 1e-5);
    }
  }
}

TEST(Embedding, TextsThatShareWordsAreNear) {
  const auto near = product(of_text("the quick brown fox jumps over the lazy dog"),
                            of_text("a quick brown fox jumped over a lazy dog"));
  const auto far = product(of_text("the quick brown fox jumps over the lazy dog"),
                           of_text("quarterly revenue exceeded all expectations in Asia"));
  EXPECT_GT(near, 0.5);
  EXPECT_LT(std::abs(far), 0.4);
  EXPECT_GT(near, far + 0.3);
}

TEST(Embedding, TellsOrderApart) {
  const auto forth = of_text("dog bites man");
  const auto back = of_text("man bites dog");
  EXPECT_NE(forth, back);
  EXPECT_EQ(forth, of_text("dog bites man"));
}

TEST(Embedding, AShorterOneIsTheFirstPartOfTheLongerOne) {
  const std::vector<float> whole = of_text("hello there");
  const std::vector<float> part = of_text("hello there", 64);
  double squares = 0;
  for (size_t i = 0; i < 64; ++i) squares += double{whole[i]} * double{whole[i]};
  ASSERT_GT(squares, 0);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(part[i], double{whole[i]} / std::sqrt(squares), 1e-5);
  }
}

}  // namespace
}  // namespace fairlead::engine
