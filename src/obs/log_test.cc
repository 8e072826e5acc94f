#include "obs/log.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace fairlead::obs {
namespace {

using std::chrono::milliseconds;

class Log : public testing::Test {
 protected:
  Logger logger(LogOptions options) {
    return Logger(clock_, options, [this](std::string_view line) { written_.append(line); });
  }
  base::ManualClock clock_{base::WallTime(milliseconds(1795973889123))};
  std::string written_;
};

TEST_F(Log, PrintsALineOfTextAndQuotesWhatIsNoWord) {
  Logger log = logger({});
  log.info("listening", {{"port", 8080}, {"host", "::1"}, {"share", 0.5}, {"ok", true}});
  log.warn("odd", {{"empty", ""}, {"spaced", "a b"}, {"control", "x\n\x1b"}, {"equals", "a=b"}});
  EXPECT_EQ(written_,
            "2026-11-29T17:38:09.123Z info  listening port=8080 host=::1 share=0.5 ok=true\n"
            "2026-11-29T17:38:09.123Z warn  odd empty=\"\" spaced=\"a b\" "
            "control=\"x\\n\\u001b\" equals=\"a=b\"\n");
}

TEST_F(Log, PrintsALineOfJson) {
  Logger log = logger({.format = LineFormat::kJson});
  log.error("failed", {{"why", "a \"b\""},
                       {"count", std::numeric_limits<uint64_t>::max()},
                       {"ratio", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(written_,
            "{\"time\":\"2026-11-29T17:38:09.123Z\",\"level\":\"error\",\"message\":\"failed\","
            "\"why\":\"a \\\"b\\\"\",\"count\":18446744073709551615,\"ratio\":null}\n");
}

TEST_F(Log, LeavesOutWhatIsBelowItsLevel) {
  Logger log = logger({.level = LogLevel::kWarn});
  log.debug("a");
  log.info("b");
  EXPECT_EQ(written_, "");
  log.warn("c");
  EXPECT_NE(written_.find("warn  c\n"), std::string::npos);
  Logger off = logger({.level = LogLevel::kOff});
  written_.clear();
  off.error("d");
  EXPECT_EQ(written_, "");
}

TEST_F(Log, LimitsAMessageThatRepeatsAndSaysHowManyItLeftOut) {
  Logger log = logger({.burst = 2, .window = milliseconds(1000)});
  for (int i = 0; i < 5; ++i) log.info("again");
  log.info("other");
  clock_.advance_to(base::TimePoint(milliseconds(999)));
  log.info("again");
  EXPECT_EQ(std::count(written_.begin(), written_.end(), '\n'), 3);
  written_.clear();
  clock_.advance_to(base::TimePoint(milliseconds(1000)));
  log.info("again", {{"x", 1}});
  log.info("again");
  EXPECT_EQ(written_,
            "2026-11-29T17:38:10.123Z info  again x=1 suppressed=4\n"
            "2026-11-29T17:38:10.123Z info  again\n");
}

TEST(LogLevel, ReadsItsNamesAndNamesThemWhenItCannot) {
  EXPECT_EQ(*parse_log_level("warn"), LogLevel::kWarn);
  const auto bad = parse_log_level("loud");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(),
            "\"loud\" is no log level; debug, info, warn, error and off are");
}

}  // namespace
}  // namespace fairlead::obs
