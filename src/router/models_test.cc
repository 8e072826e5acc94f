#include "router/models.h"

#include <gtest/gtest.h>

#include <array>

namespace fairlead::router {
namespace {

std::vector<std::string> ids(const std::vector<ListedModel>& models) {
  std::vector<std::string> out;
  for (const ListedModel& model : models) out.push_back(model.id);
  return out;
}

TEST(Models, AreReadInTheirOrderWithAllTheirFields) {
  const auto models = parse_models(
      R"({"object":"list","data":[{"id":"b","max_model_len":4096,"extra":[1,2.5]},{"id":"a"}]})");
  ASSERT_TRUE(models);
  EXPECT_EQ(ids(*models), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ((*models)[0].json, R"({"id":"b","max_model_len":4096,"extra":[1,2.5]})");
}

TEST(Models, EntriesWithoutAUsableIdAreLeftOut) {
  const std::string long_id(kModelIdBytesMax + 1, 'x');
  const std::string longest(kModelIdBytesMax, 'x');
  const auto models =
      parse_models(R"({"data":[{"id":""},{"id":7},{},1,{"id":"a"},{"id":"a"},{"id":")" + long_id +
                   R"("},{"id":")" + longest + R"("}]})");
  ASSERT_TRUE(models);
  EXPECT_EQ(ids(*models), (std::vector<std::string>{"a", longest}));
}

TEST(Models, ABackEndMayListOnlySoMany) {
  std::string body = R"({"data":[)";
  for (size_t i = 0; i <= kModelsPerBackendMax; ++i) {
    body += (i == 0 ? R"({"id":"m)" : R"(,{"id":"m)") + std::to_string(i) + "\"}";
  }
  EXPECT_EQ(parse_models(body + "]}")->size(), kModelsPerBackendMax);
}

TEST(Models, WhatIsNoListIsAnError) {
  for (const char* body : {"", "nonsense", "[]", "{}", R"({"data":{}})", R"({"data":)"}) {
    EXPECT_FALSE(parse_models(body)) << body;
  }
}

TEST(Models, AreMergedByIdTheFirstEntryWins) {
  const std::vector<ListedModel> first{{"a", R"({"id":"a","n":1})"}, {"b", R"({"id":"b"})"}};
  const std::vector<ListedModel> second{{"c", R"({"id":"c"})"}, {"a", R"({"id":"a","n":2})"}};
  EXPECT_EQ(merge_models(std::array{&first, &second}),
            R"({"object":"list","data":[{"id":"a","n":1},{"id":"b"},{"id":"c"}]})");
  EXPECT_EQ(merge_models({}), R"({"object":"list","data":[]})");
}

}  // namespace
}  // namespace fairlead::router
