#include "protocol/text_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "codec/json.h"

namespace fairlead::protocol {
namespace {

const BuiltinTokenizer kTokenizer;
constexpr std::string_view kBroken = "\xef\xbf\xbd";

// Feeds single bytes; the parts are what each of them released.
std::vector<std::string> released(std::string_view bytes) {
  TextStream stream(kTokenizer);
  std::vector<std::string> parts;
  for (const char c : bytes) stream.feed(static_cast<unsigned char>(c), parts.emplace_back());
  stream.finish(parts.emplace_back());
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

TEST(TextStream, HoldsBytesUntilTheCharacterIsWhole) {
  EXPECT_EQ(released("a\xf0\x9f\x98\x80z"),
            (std::vector<std::string>{"a", "", "", "", "😀", "z", ""}));
}

TEST(TextStream, ReplacesWhatCannotBecomeACharacter) {
  const std::string broken(kBroken);
  EXPECT_EQ(joined(released("\xff")), broken);
  EXPECT_EQ(joined(released("a\x80z")), "a" + broken + "z");
  EXPECT_EQ(joined(released("\xc3z")), broken + "z");
  EXPECT_EQ(joined(released("\xe2\x82z")), broken + "z");
  EXPECT_EQ(joined(released("\xf0\x9f\x98")), broken);                    // the end comes first
  EXPECT_EQ(joined(released("\xed\xa0\x80")), broken + broken + broken);  // half a surrogate pair
  EXPECT_EQ(joined(released("\xc0\xaf")), broken + broken);               // longer than it need be
}

TEST(TextStream, LeavesSpecialTokensOutUnlessAskedFor) {
  std::string text, shown;
  TextStream skip(kTokenizer), show(kTokenizer, SpecialTokens::kShow);
  for (const TokenId id : {TokenId{'a'}, BuiltinTokenizer::kMessageEnd}) {
    skip.feed(id, text);
    show.feed(id, shown);
  }
  EXPECT_EQ(text, "a");
  EXPECT_EQ(shown, "a<|im_end|>");
}

TEST(TextStream, ReleasesOnlyWholeCharactersOfAnyBytes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    base::Random random(seed);
    std::string bytes;
    for (int i = 0; i < 40; ++i) {
      bytes.push_back("ab\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80\xff"[random.below(12)]);
    }
    for (const std::string& part : released(bytes)) {
      EXPECT_TRUE(codec::valid_utf8(part)) << "seed " << seed;
    }
  }
}

struct Stopped {
  std::string sent;
  std::optional<size_t> stop;
};

Stopped run(const std::vector<std::string>& stops, StopFinder::Include include,
            const std::vector<std::string>& parts) {
  StopFinder finder(stops, include);
  Stopped result;
  for (const std::string& part : parts) {
    result.stop = finder.feed(part, result.sent);
    if (result.stop) return result;
  }
  finder.finish(result.sent);
  return result;
}

TEST(StopFinder, CutsBeforeOrBehindAStopStringThatComesInParts) {
  const std::vector<std::string> parts = {"one EN", "D two"};
  const Stopped without = run({"END"}, StopFinder::Include::kNo, parts);
  EXPECT_EQ(without.sent, "one ");
  EXPECT_EQ(without.stop, 0u);
  EXPECT_EQ(run({"END"}, StopFinder::Include::kYes, parts).sent, "one END");
}

TEST(StopFinder, TakesTheStopStringThatComesFirst) {
  const Stopped result = run({"z", "bc", "b"}, StopFinder::Include::kNo, {"abcz"});
  EXPECT_EQ(result.sent, "a");
  EXPECT_EQ(result.stop, 1u);
}

TEST(StopFinder, HoldsBackOnlyWhatAStopStringMightNeedAndGivesItOutAtTheEnd) {
  StopFinder finder({"abcd"}, StopFinder::Include::kNo);
  std::string sent;
  EXPECT_FALSE(finder.feed("xyzabc", sent));
  EXPECT_EQ(sent, "xyz");
  EXPECT_FALSE(finder.feed("é", sent));
  EXPECT_EQ(sent, "xyzab");
  EXPECT_FALSE(finder.feed("-", sent));
  EXPECT_EQ(sent, "xyzabc");  // never half of the é
  finder.finish(sent);
  EXPECT_EQ(sent, "xyzabcé-");
}

TEST(StopFinder, PassesEverythingOnWithoutStopStrings) {
  EXPECT_EQ(run({}, StopFinder::Include::kNo, {"a", "b"}).sent, "ab");
}

// However a text is cut, the outcome is that of the whole text.
TEST(StopFinder, DoesNotDependOnHowTheTextIsCut) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    base::Random random(seed);
    std::vector<std::string> stops;
    for (uint64_t i = 1 + random.below(2); i > 0; --i) {
      std::string& stop = stops.emplace_back();
      for (uint64_t n = 1 + random.below(3); n > 0; --n) stop.push_back("ab"[random.below(2)]);
    }
    std::vector<std::string> parts;
    std::string whole;
    for (int i = 0; i < 6; ++i) {
      std::string& part = parts.emplace_back();
      for (uint64_t n = random.below(4); n > 0; --n) part.push_back("abc"[random.below(3)]);
      whole += part;
    }
    size_t place = std::string::npos;
    for (const std::string& stop : stops) place = std::min(place, whole.find(stop));
    const Stopped result = run(stops, StopFinder::Include::kNo, parts);
    EXPECT_EQ(result.stop.has_value(), place != std::string::npos) << "seed " << seed;
    EXPECT_EQ(result.sent, whole.substr(0, place)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::protocol
