#include "engine/embedding.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace fairlead::engine {

namespace {

// Each feature adds to or takes from so many numbers.
constexpr uint64_t kSpread = 8;

void add_feature(std::vector<float>& vector, uint64_t feature, float weight) {
  for (uint64_t i = 0; i < kSpread; ++i) {
    const uint64_t draw = base::mix64(feature * kSpread + i);
    vector[(draw >> 1) % vector.size()] += (draw & 1) != 0 ? weight : -weight;
  }
}

}  // namespace

std::vector<float> embed(std::span<const protocol::TokenId> tokens, EmbeddingShape shape) {
  std::vector<float> vector(shape.size);
  for (size_t i = 0; i < tokens.size(); ++i) {
    add_feature(vector, tokens[i], 1.0F);
    if (i > 0) add_feature(vector, uint64_t{tokens[i - 1] + 1} << 32 | tokens[i], 0.5F);
  }
  vector.resize(shape.dimensions);
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  if (squares == 0) {  // all of it cancelled out, or lay behind the dimensions
    vector.front() = 1;
    return vector;
  }
  const auto scale = static_cast<float>(1 / std::sqrt(squares));
  std::transform(vector.begin(), vector.end(), vector.begin(), [&](float x) { return x * scale; });
  return vector;
}

}  // namespace fairlead::engine
