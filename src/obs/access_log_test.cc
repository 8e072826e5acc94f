#include "obs/access_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>

namespace fairlead::obs {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

AccessRecord record() {
  return {.time = base::WallTime(milliseconds(1795973889123)),
          .request_id = "abc",
          .method = "POST",
          .path = "/v1/chat/completions",
          .model = "my model",
          .backend = "10.0.0.1:8000",
          .status = 200,
          .outcome = "ok",
          .duration = microseconds(12'345),
          .first_byte = microseconds(2'000),
          .bytes_in = 100,
          .bytes_out = 2'000,
          .prompt_tokens = 30,
          .cached_tokens = 16,
          .output_tokens = 5,
          .attempts = 1};
}

TEST(AccessLine, PrintsTextAndJsonAndLeavesOutWhatIsNotKnown) {
  std::string text;
  append_access_line(text, record(), LineFormat::kText);
  EXPECT_EQ(text,
            "2026-11-29T17:38:09.123Z method=POST path=/v1/chat/completions status=200 outcome=ok "
            "request_id=abc model=\"my model\" backend=10.0.0.1:8000 attempts=1 duration_ms=12.345 "
            "first_byte_ms=2.000 bytes_in=100 bytes_out=2000 prompt_tokens=30 cached_tokens=16 "
            "output_tokens=5\n");
  std::string json;
  append_access_line(json, {.time = record().time, .path = "/a\"b", .status = 404},
                     LineFormat::kJson);
  EXPECT_EQ(json, "{\"time\":\"2026-11-29T17:38:09.123Z\",\"path\":\"/a\\\"b\",\"status\":404}\n");
}

TEST(AccessLog, WritesAllShardsInOneBatchWhenTold) {
  std::vector<std::string> batches;
  AccessLog log([&](std::string_view lines) { batches.emplace_back(lines); },
                {.shards = 2, .interval = base::Nanos(0)});
  log.append(0, {.method = "GET"});
  log.append(1, {.method = "PUT"});
  EXPECT_TRUE(batches.empty());
  log.write_pending();
  log.write_pending();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0],
            "1970-01-01T00:00:00.000Z method=GET\n1970-01-01T00:00:00.000Z method=PUT\n");
}

TEST(AccessLog, DropsAndCountsWhatDoesNotFitAndGoesOnAroundTheEnd) {
  const std::string line = "1970-01-01T00:00:00.000Z method=GET\n";
  std::string written;
  AccessLog log([&](std::string_view lines) { written.append(lines); },
                {.ring = base::Bytes(2 * line.size()), .interval = base::Nanos(0)});
  for (int i = 0; i < 3; ++i) log.append(0, {.method = "GET"});
  EXPECT_EQ(log.dropped(), 1u);
  log.write_pending();
  EXPECT_EQ(written, line + line);
  std::string expected = written;
  for (const char* method : {"A", "BB", "CCC", "DDDD", "EEEEE"}) {
    log.append(0, {.method = method});
    log.write_pending();
    expected.append("1970-01-01T00:00:00.000Z method=").append(method).append("\n");
  }
  EXPECT_EQ(written, expected);
  EXPECT_EQ(log.dropped(), 1u);
}

TEST(AccessLog, WritesInTheBackgroundAndWhatIsLeftAtTheEnd) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::string written;
  const auto sink = [&](std::string_view lines) {
    const std::lock_guard lock(mutex);
    written.append(lines);
    arrived.notify_all();
  };
  {
    AccessLog log(sink, {.interval = milliseconds(1)});
    log.append(0, {.method = "GET"});
    std::unique_lock lock(mutex);
    arrived.wait(lock, [&] { return !written.empty(); });
  }
  {
    AccessLog log(sink, {.interval = std::chrono::hours(1)});
    log.append(0, {.method = "PUT"});
  }
  EXPECT_EQ(written, "1970-01-01T00:00:00.000Z method=GET\n1970-01-01T00:00:00.000Z method=PUT\n");
}

TEST(FileSink, AppendsAndNamesTheFileItCannotOpen) {
  const std::string path = testing::TempDir() + "fairlead-sink-" + std::to_string(::getpid());
  for (const char* line : {"a\n", "b\n"}) (*file_sink(path))(line);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "a\nb\n");
  ::unlink(path.c_str());
  const auto bad = file_sink("/nowhere/at/all");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(),
            "cannot open /nowhere/at/all for appending: No such file or directory");
}

}  // namespace
}  // namespace fairlead::obs
