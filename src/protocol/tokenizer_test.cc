#include "protocol/tokenizer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace fairlead::protocol {
namespace {

const BuiltinTokenizer kBuiltin;

std::vector<TokenId> encode(std::string_view text) {
  std::vector<TokenId> ids;
  kBuiltin.encode(text, ids);
  return ids;
}

std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> out;
  for (const TokenId id : encode(text)) kBuiltin.append_bytes(id, out.emplace_back());
  return out;
}

std::string round_trip(std::string_view text) {
  std::string out;
  for (const TokenId id : encode(text)) kBuiltin.append_bytes(id, out);
  return out;
}

using Pieces = std::vector<std::string>;

TEST(BuiltinTokenizer, CutsTextAsItsDocumentationSays) {
  EXPECT_EQ(pieces("The license"), (Pieces{"The", " lice", "nse"}));
  EXPECT_EQ(pieces("HTTPServer iPhone"), (Pieces{"HTTP", "Serv", "er", " i", "Phon", "e"}));
  EXPECT_EQ(pieces("a  b   c"), (Pieces{"a", " ", " b", "  ", " c"}));
  EXPECT_EQ(pieces("1 22 4444"), (Pieces{"1", " ", "22", " ", "444", "4"}));
  EXPECT_EQ(pieces("x\n\n\ny"), (Pieces{"x", "\n\n", "\n", "y"}));
  EXPECT_EQ(pieces("é漢😀"), (Pieces{"é", "漢", "\xf0", "\x9f", "\x98", "\x80"}));
  EXPECT_EQ(pieces(std::string(18, ' ')), (Pieces{std::string(16, ' '), "  "}));
  EXPECT_EQ(encode(""), (std::vector<TokenId>{}));
}

TEST(BuiltinTokenizer, ReadsSpecialTokensInTheTextAndLeavesThemOutOfDecodedText) {
  const auto ids = encode("<|im_start|>user\nhi<|im_end|>\n<|im_|>");
  EXPECT_EQ(ids.front(), BuiltinTokenizer::kMessageStart);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), BuiltinTokenizer::kMessageEnd), 1);
  EXPECT_EQ(decode(kBuiltin, ids), "user\nhi\n<|im_|>");
  EXPECT_TRUE(kBuiltin.is_special(kBuiltin.end_of_text()));
  EXPECT_FALSE(kBuiltin.is_special('a'));
}

TEST(BuiltinTokenizer, BringsEveryTextBackWithinItsVocabulary) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    base::Random random(seed);
    // From bytes of all kinds to text that looks like text.
    const std::string_view alphabet = "aAzZ  \n0919.,<|im_end|>\xc3\xa9\xed\xa0\x80\xf0\x9f\xff";
    std::string text;
    for (uint64_t i = random.below(300); i > 0; --i) {
      text.push_back(seed % 2 == 0 ? static_cast<char>(random.below(256))
                                   : alphabet[random.below(alphabet.size())]);
    }
    EXPECT_EQ(round_trip(text), text) << "seed " << seed;
    for (const TokenId id : encode(text)) ASSERT_LT(id, kBuiltin.vocabulary());
  }
}

TEST(BuiltinTokenizer, GivesDifferentTextsDifferentIds) {
  std::set<std::vector<TokenId>> seen;
  base::Random random(7);
  std::set<std::string> texts;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (int length = 0; length < 3; ++length) text.push_back("aAbBzZ 12"[random.below(9)]);
    texts.insert(text);
  }
  for (const std::string& text : texts) seen.insert(encode(text));
  EXPECT_EQ(seen.size(), texts.size());
}

TEST(BuiltinTokenizer, TakesNearlyFourBytesOfEnglishAToken) {
  const std::string_view text =
      "You are a helpful assistant. Permission is hereby granted, free of charge, to any person "
      "obtaining a copy of this software and associated documentation files, to deal in the "
      "software without restriction, including without limitation the rights to use, copy, modify "
      "and merge. We hold these truths to be self-evident, that all men are created equal. When in "
      "the course of human events it becomes necessary for one people to dissolve the bands which "
      "have connected them with another, a decent respect requires that they declare the causes.";
  const double ratio = static_cast<double>(text.size()) / static_cast<double>(encode(text).size());
  EXPECT_GT(ratio, 3.4);
  EXPECT_LT(ratio, 4.4);
}

TEST(BuiltinTokenizer, GivesEveryIdOfItsVocabularySomeBytesAndNoneToOthers) {
  std::string text;
  for (TokenId id = 0; id < kBuiltin.vocabulary(); ++id) {
    text.clear();
    kBuiltin.append_bytes(id, text);
    if (text.empty()) {
      EXPECT_TRUE(id > 258 && id < 272) << id;  // left free for further special tokens
    }
  }
  text.clear();
  kBuiltin.append_bytes(kBuiltin.vocabulary(), text);
  kBuiltin.append_bytes(UINT32_MAX, text);
  EXPECT_EQ(text, "");
}

TEST(BuiltinTokenizer, MakesUpOneTokenWordsThatAreTheSameForTheSameDraw) {
  std::set<TokenId> seen;
  for (uint64_t draw = 0; draw < 2000; ++draw) {
    const TokenId id = kBuiltin.plausible(draw);
    EXPECT_EQ(id, kBuiltin.plausible(draw));
    std::string text;
    kBuiltin.append_bytes(id, text);
    ASSERT_EQ(encode(text), std::vector<TokenId>{id}) << text;
    seen.insert(id);
  }
  EXPECT_GT(seen.size(), 100u);
}

TEST(TokenName, SpellsBytesAsByteLevelBpeDoes) {
  const auto names = [](std::string_view text) {
    std::vector<std::string> out;
    for (const TokenId id : encode(text)) out.push_back(token_name(kBuiltin, id));
    return out;
  };
  EXPECT_EQ(names("hi the\n"), (Pieces{"hi", "Ġthe", "Ċ"}));
  EXPECT_EQ(names("é"), Pieces{"Ã©"});
  EXPECT_EQ(names("\x7f"), Pieces{"ġ"});
  EXPECT_EQ(names("\xad"), Pieces{"Ń"});
  EXPECT_EQ(names("\xa0"), Pieces{"ł"});
  EXPECT_EQ(names("<|im_end|>"), Pieces{"<|im_end|>"});
}

}  // namespace
}  // namespace fairlead::protocol
