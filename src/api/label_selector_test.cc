#include "api/label_selector.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace fairlead::api {
namespace {

bool selects(std::string_view text, const Labels& labels) {
  const auto selector = parse_selector(text);
  EXPECT_TRUE(selector.ok()) << text;
  return selector && matches(*selector, labels);
}

TEST(LabelSelector, SelectsByEveryOperator) {
  const Labels labels = {{"app", "router"}, {"tier", "a"}};
  for (const char* text : {"", "app=router", "app==router", "app = router , tier=a", "app!=x",
                           "no!=x", "tier in (a,b)", "tier in ( b , a )", "tier notin (b)",
                           "no notin (a)", "app", "!no", "! no", "app,tier"}) {
    EXPECT_TRUE(selects(text, labels)) << text;
  }
  for (const char* text : {"app=x", "no=x", "app!=router", "tier in (b,c)", "no in (a)",
                           "tier notin (a)", "no", "!app", "app=router,tier=b", "app="}) {
    EXPECT_FALSE(selects(text, labels)) << text;
  }
}

TEST(LabelSelector, HoldsTwoWishesForOneKey) {
  EXPECT_FALSE(selects("a=1,a=2", {{"a", "1"}}));
  EXPECT_TRUE(selects("a=1,a!=2", {{"a", "1"}}));
}

TEST(LabelSelector, RefusesWhatIsNoSelector) {
  for (const char* text :
       {",",      "a,",      "a,,b", "=a",  "a=b=c",   "a in", "a in (", "a in (b",
        "a in b", "a (b)",   "a~b",  "a!b", "!",       "!a=b", "-a=b",   "a=b c",
        "a=-",    "a/b/c=d", "/a",   "a/",  "A.com/x", "a=é"}) {
    EXPECT_FALSE(parse_selector(text).ok()) << text;
  }
}

TEST(LabelSelector, BoundsNamesAndTerms) {
  EXPECT_TRUE(valid_label_key(std::string(63, 'a')));
  EXPECT_FALSE(valid_label_key(std::string(64, 'a')));
  EXPECT_TRUE(valid_label_key(std::string(253, 'a') + "/b"));
  EXPECT_FALSE(valid_label_key(std::string(254, 'a') + "/b"));
  EXPECT_TRUE(valid_label_value(""));
  EXPECT_TRUE(valid_label_value(std::string(63, '0')));
  EXPECT_FALSE(valid_label_value(std::string(64, '0')));
  std::string many = "a";
  for (size_t i = 1; i < kSelectorTermsMax; ++i) many += ",a";
  EXPECT_TRUE(parse_selector(many).ok());
  EXPECT_FALSE(parse_selector(many + ",a").ok());
}

TEST(LabelSelector, AWrongOperatorMatchesNothingAndIsNamed) {
  const LabelSelector wrong{{}, {{"app", "Is", {"router"}}}};
  EXPECT_FALSE(matches(wrong, {{"app", "router"}}));
  EXPECT_FALSE(check_selector(wrong).ok());
  const LabelSelector empty{{}, {{"app", "NotIn", {}}}};
  EXPECT_FALSE(matches(empty, {}));
  EXPECT_FALSE(check_selector(empty).ok());
  EXPECT_FALSE(check_selector({{}, {{"app", "Exists", {"x"}}}}).ok());
  EXPECT_TRUE(check_selector({{{"a", "b"}}, {{"app", "Exists", {}}}}).ok());
}

TEST(LabelSelector, TextMeansTheSame) {
  base::Random random(3);
  const std::vector<std::string> words = {"a", "b", "c"};
  const auto word = [&] { return words[random.below(words.size())]; };
  for (int i = 0; i < 5000; ++i) {
    LabelSelector selector;
    if (random.below(2) == 0) selector.matchLabels[word()] = word();
    for (uint64_t terms = random.below(3); terms > 0; --terms) {
      static const std::vector<std::string> kOperators = {"In", "NotIn", "Exists", "DoesNotExist"};
      LabelSelectorRequirement term{word(), kOperators[random.below(4)], {}};
      if (term.operator_.ends_with("In")) term.values = {word(), word()};
      selector.matchExpressions.push_back(term);
    }
    const auto again = parse_selector(to_text(selector));
    ASSERT_TRUE(again.ok()) << to_text(selector);
    for (int sample = 0; sample < 8; ++sample) {
      Labels labels;
      for (uint64_t left = random.below(4); left > 0; --left) labels[word()] = word();
      EXPECT_EQ(matches(*again, labels), matches(selector, labels)) << to_text(selector);
    }
  }
}

}  // namespace
}  // namespace fairlead::api
