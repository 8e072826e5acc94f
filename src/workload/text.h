// Texts of a wanted size from a seed: short English words that need no JSON escaping. The size is
// in tokens, which the built-in tokenizer counts exactly, and each is four bytes, also exactly, if
// there are twenty or more; so blocks of text end where an engine's blocks of tokens do. Texts of
// different seeds differ within their first 16 bytes. Pure.
//
//   make_text(prompt, "Question", seed, 24);  // "aaaaaaaaahflmnbf Question: load the port ..."
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead::workload {

inline constexpr size_t kBytesPerToken = 4;

// Replaces `out`. The head (the seed and the label, which is words of letters) is there even where
// `tokens` are fewer.
void make_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens);
void append_text(std::string& out, std::string_view label, uint64_t seed, uint32_t tokens);

}  // namespace fairlead::workload
