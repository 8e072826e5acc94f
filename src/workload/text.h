// Texts of a wanted size from a seed: short English words that need no JSON escaping. The size is
// in tokens of four bytes, which is what the built-in tokenizer counts within a percent, for a text
// of some hundred tokens. Texts of different seeds differ within their first 16 bytes. Pure.
//
//   make_text(prompt, "Question", seed, 24);  // "aaaaaaaaahflmnbf Question: the load sees ..."
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead::workload {

inline constexpr size_t kBytesPerToken = 4;

// Replaces `out`. The head (the seed and the label) is there even where `tokens` are fewer.
void make_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens);
void append_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens);

}  // namespace fairlead::workload
