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
          .method = "POST",
          .path = "/v1/chat/completions",
          .status = 200,
          .model = "llama",
          .selected_pod = "10.0.0.1:8000",
          .request_id = "abc",
          .backend_type = "static",
          .upstream_model = "llama",
          .upstream_status = 200,
          .upstream_attempts = 1,
          .input_tokens = 43,
          .output_tokens = 4,
          .total = microseconds(39'900),
          .request_processing = microseconds(900),
          .upstream_processing = microseconds(38'950),
          .cached_tokens = 16,
          .first_byte = microseconds(2'000),
          .bytes_in = 100,
          .bytes_out = 2'000,
          .trace_id = "0af7651916cd43dd8448eb211c80319c"};
}

std::string line_of(const AccessRecord& what, LineFormat format) {
  std::string out;
  append_access_line(out, what, format);
  return out;
}

TEST(AccessLine, HasTheFieldsThatReadersExpectInTheirOrderAndOursBehind) {
  EXPECT_EQ(line_of(record(), LineFormat::kText),
            "[2026-11-29T17:38:09.123Z] \"POST /v1/chat/completions HTTP/1.1\" 200 "
            "model_name=llama selected_pod=10.0.0.1:8000 request_id=abc backend_type=static "
            "upstream_model=llama upstream_status_code=200 upstream_attempts=1 tokens=43/4 "
            "timings=39ms(0+38+0) cached_tokens=16 first_byte_ms=2.000 bytes_in=100 "
            "bytes_out=2000 trace_id=0af7651916cd43dd8448eb211c80319c\n");
  EXPECT_EQ(line_of(record(), LineFormat::kJson),
            "{\"timestamp\":\"2026-11-29T17:38:09.123Z\",\"method\":\"POST\","
            "\"path\":\"/v1/chat/completions\",\"protocol\":\"HTTP/1.1\",\"status_code\":200,"
            "\"model_name\":\"llama\",\"selected_pod\":\"10.0.0.1:8000\",\"request_id\":\"abc\","
            "\"backend_type\":\"static\",\"upstream_model\":\"llama\","
            "\"upstream_status_code\":200,\"upstream_attempts\":1,\"input_tokens\":43,"
            "\"output_tokens\":4,\"duration_total\":39,\"duration_request_processing\":0,"
            "\"duration_upstream_processing\":38,\"duration_response_processing\":0,"
            "\"cached_tokens\":16,\"first_byte_ms\":2.000,\"bytes_in\":100,\"bytes_out\":2000,"
            "\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\"}\n");
}

TEST(AccessLine, LeavesOutWhatIsNotKnownButTheCore) {
  const AccessRecord refused = {.time = record().time,
                                .method = "POST",
                                .path = "/v1/completions",
                                .minor_version = 0,
                                .status = 404,
                                .error_type = "route_not_found",
                                .error_message = "no \"such\" model",
                                .request_id = "r",
                                .input_tokens = 43};
  EXPECT_EQ(line_of(refused, LineFormat::kText),
            "[2026-11-29T17:38:09.123Z] \"POST /v1/completions HTTP/1.0\" 404 "
            "error=route_not_found:no \"such\" model request_id=r tokens=43/0 "
            "timings=0ms(0+0+0)\n");
  EXPECT_EQ(line_of(refused, LineFormat::kJson),
            "{\"timestamp\":\"2026-11-29T17:38:09.123Z\",\"method\":\"POST\","
            "\"path\":\"/v1/completions\",\"protocol\":\"HTTP/1.0\",\"status_code\":404,"
            "\"error\":{\"type\":\"route_not_found\",\"message\":\"no \\\"such\\\" model\"},"
            "\"model_name\":\"\",\"request_id\":\"r\",\"input_tokens\":43,\"duration_total\":0,"
            "\"duration_request_processing\":0,\"duration_upstream_processing\":0,"
            "\"duration_response_processing\":0}\n");
}

TEST(AccessLine, CannotBeForged) {
  AccessRecord hostile = record();
  hostile.model = "x\n[2026] \"GET / HTTP/1.1\" 200 selected_pod=evil";
  hostile.path = "/v1/a\r\nb";
  hostile.error_type = "proxy";
  hostile.error_message = "line\none\x7f";
  const std::string text = line_of(hostile, LineFormat::kText);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_NE(text.find("\"POST /v1/a  b HTTP/1.1\""), std::string::npos) << text;
  EXPECT_NE(text.find(" error=proxy:line one  model_name=\"x\\n[2026] "), std::string::npos)
      << text;
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
  EXPECT_EQ(batches[0], line_of({.method = "GET"}, LineFormat::kText) +
                            line_of({.method = "PUT"}, LineFormat::kText));
}

TEST(AccessLog, DropsAndCountsWhatDoesNotFitAndGoesOnAroundTheEnd) {
  const std::string line = line_of({.method = "GET"}, LineFormat::kText);
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
    expected += line_of({.method = method}, LineFormat::kText);
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
  EXPECT_EQ(written, line_of({.method = "GET"}, LineFormat::kText) +
                         line_of({.method = "PUT"}, LineFormat::kText));
}

// At 20,000 requests a second a ring is full before the interval is over.
TEST(AccessLog, ARingThatFillsIsWrittenBeforeItsInterval) {
  std::mutex mutex;
  std::condition_variable arrived;
  size_t written = 0;
  const auto sink = [&](std::string_view lines) {
    const std::lock_guard lock(mutex);
    written += lines.size();
    arrived.notify_all();
  };
  const size_t line = line_of({.method = "GET"}, LineFormat::kText).size();
  AccessLog log(sink, {.ring = base::Bytes(4 * line), .interval = std::chrono::hours(1)});
  for (size_t i = 1; i <= 30; ++i) {
    log.append(0, {.method = "GET"});
    if (i % 3 != 0) continue;
    std::unique_lock lock(mutex);
    ASSERT_TRUE(
        arrived.wait_for(lock, std::chrono::seconds(30), [&] { return written == i * line; }));
  }
  EXPECT_EQ(log.dropped(), 0u);
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
