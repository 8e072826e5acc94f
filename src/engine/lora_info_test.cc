#include "engine/lora_info.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::engine {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr base::WallTime kStart{seconds(1'800'000'000)};

class LoraInfoTest : public ::testing::Test {
 protected:
  std::string text() const {
    std::string out;
    registry_.expose(out);
    return out;
  }
  size_t series() const {
    const std::string out = text();
    size_t count = 0;
    for (size_t at = out.find("info{"); at != std::string::npos; at = out.find("info{", at + 1)) {
      ++count;
    }
    return count;
  }

  obs::Registry registry_{{.style = obs::Style::kPython}};
  LoraInfo info_{registry_, 2};
};

TEST_F(LoraInfoTest, NamesTheAdaptersAndWhen) {
  EXPECT_EQ(series(), 0u);
  info_.record("", kStart);
  info_.record("poet,sql", kStart + seconds(1));
  EXPECT_THAT(text(),
              HasSubstr("# TYPE vllm:lora_requests_info gauge\n"
                        "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"\","
                        "waiting_lora_adapters=\"\"} 1.8e+09\n"
                        "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"poet,sql\","
                        "waiting_lora_adapters=\"poet,sql\"} 1.800000001e+09\n"));
}

TEST_F(LoraInfoTest, ASetThatComesBackMovesItsTime) {
  info_.record("a", kStart);
  info_.record("b", kStart + seconds(1));
  info_.record("a", kStart + seconds(2));
  EXPECT_EQ(series(), 2u);
  EXPECT_THAT(text(), HasSubstr("waiting_lora_adapters=\"a\"} 1.800000002e+09"));
}

TEST_F(LoraInfoTest, TheOldestSeriesMakesPlace) {
  for (size_t i = 0; i < LoraInfo::kSeriesMax; ++i) {
    info_.record("a" + std::to_string(i), kStart + seconds(i));
  }
  info_.record("a0", kStart + seconds(LoraInfo::kSeriesMax));
  EXPECT_EQ(series(), LoraInfo::kSeriesMax);
  info_.record("new", kStart + seconds(LoraInfo::kSeriesMax + 1));
  EXPECT_EQ(series(), LoraInfo::kSeriesMax);
  EXPECT_THAT(text(), HasSubstr("running_lora_adapters=\"a0\""));
  EXPECT_THAT(text(), Not(HasSubstr("running_lora_adapters=\"a1\"")));
}

}  // namespace
}  // namespace fairlead::engine
