// What a simulated pooling model answers: vectors in which texts that share words lie near each
// other, by feature hashing of tokens and of pairs of neighbours. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "protocol/tokenizer.h"

namespace fairlead::engine {

// `dimensions` numbers of length 1 together: the first of a vector of `size`, as models do whose
// embeddings may be shortened. 1 <= dimensions <= size.
struct EmbeddingShape {
  size_t size = 0;
  size_t dimensions = 0;
};
std::vector<float> embed(std::span<const protocol::TokenId> tokens, EmbeddingShape shape);

}  // namespace fairlead::engine
