#include "bench/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

workload::Report report_called(std::string label) {
  workload::RunLog log;
  log.busy = 10s;
  for (int i = 1; i <= 50; ++i) {
    log.samples.push_back({.started = i * 100ms,
                           .first_token = i * 3ms,
                           .last_token = i * 30ms,
                           .pause_max = 9ms,
                           .whole = i * 31ms,
                           .output_tokens = 10});
    log.gaps.add(i * 1ms);
  }
  return workload::make_report(std::move(label), log, {.ttft = 100ms});
}

Results results_of(std::vector<std::string> labels) {
  Results results{.seed = 7, .reports = {}, .sweeps = {}, .overload = {}, .checks = {}};
  for (auto& label : labels) results.reports.push_back(report_called(std::move(label)));
  return results;
}

size_t count(const std::string& text, const std::string& piece) {
  size_t found = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) {
    ++found;
  }
  return found;
}

// Every tag that opens closes, in order; a few have no end.
void expect_well_formed(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" />", 1));
    if (tag.starts_with("!") || name == "meta" || tag.ends_with("/")) continue;
    if (!tag.starts_with("/")) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << tag;
    ASSERT_EQ("/" + open.back(), tag);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(Html, IsOnePageWithPlotsAndNumbers) {
  const std::string page = render_html({.ttft_limit = 100ms}, results_of({"old", "new"}));
  expect_well_formed(page);
  EXPECT_EQ(count(page, "<svg "), 4U);
  EXPECT_THAT(page, HasSubstr("Time to first token"));
  EXPECT_THAT(page, HasSubstr("% of answers within"));
  EXPECT_THAT(page, HasSubstr("<span class=\"swatch s1\"></span>new"));
  EXPECT_THAT(page, HasSubstr("class=\"limit\""));
  EXPECT_THAT(page, HasSubstr("seed 7"));
  EXPECT_THAT(page, HasSubstr("TTFT p95"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(Html, NeedsNothingFromOutside) {
  const std::string page = render_html({}, results_of({"a"}));
  for (const char* reference : {"http:", "https:", "src=", "href=", "url(", "@import", "<script"}) {
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  }
}

TEST(Html, EscapesLabels) {
  const std::string page = render_html({}, results_of({"a", "<b>&\"c\""}));
  expect_well_formed(page);
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&amp;&quot;c&quot;"));
}

TEST(Html, ShowsASweepByLoad) {
  Results results = results_of({"a"});
  results.sweeps.push_back({.label = "a", .trials = {}, .best = 2});
  for (const double load : {1, 4, 2}) {
    results.sweeps[0].trials.push_back(
        {.load = load, .kept = load < 4, .report = report_called("a")});
  }
  const std::string page = render_html({.ttft_limit = 100ms, .sweep = SweepOver::kRate}, results);
  expect_well_formed(page);
  EXPECT_EQ(count(page, "<svg "), 6U);
  EXPECT_EQ(count(page, "line dashed s0"), 1U);
  EXPECT_THAT(page, HasSubstr("requests/s (logarithmic)"));
  EXPECT_THAT(page, HasSubstr("highest that kept the limits"));
}

TEST(Html, WarnsAndStandsWithoutAnswers) {
  Results results = results_of({});
  results.interrupted = true;
  EXPECT_THAT(render_html({}, results), HasSubstr("interrupted"));
  results.reports.push_back(workload::make_report("silent", {}));
  results.reports[0].client = workload::ClientShare{.saturated = 0.5};
  const std::string page = render_html({}, results);
  expect_well_formed(page);
  EXPECT_EQ(count(page, "<svg "), 0U);
  EXPECT_THAT(page, HasSubstr("the client was the bottleneck for silent"));
}

}  // namespace
}  // namespace fairlead::bench
