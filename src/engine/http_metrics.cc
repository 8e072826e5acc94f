#include "engine/http_metrics.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "obs/exposition.h"

namespace fairlead::engine {

namespace {

constexpr double kHighrBuckets[] = {.01, .025, .05, .075, .1,  .25, .5,  .75, 1,  1.5, 2,
                                    2.5, 3,    3.5, 4,    4.5, 5,   7.5, 10,  30, 60};
constexpr double kLowrBuckets[] = {.1, .5, 1};

std::string_view status_class(int status) {
  constexpr std::string_view kClasses[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  return kClasses[std::clamp(status / 100, 1, 5) - 1];
}

struct Memory {
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

Memory memory() {
  Memory m;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    unsigned long pages = 0, resident = 0;
    if (std::fscanf(file, "%lu %lu", &pages, &resident) == 2) {
      const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
      m = {static_cast<double>(pages) * page, static_cast<double>(resident) * page};
    }
    std::fclose(file);
  }
  return m;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double open_files() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; it != end && !error;
       it.increment(error)) {
    ++count;
  }
  return count;
}

double open_files_max() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

double unix_seconds(base::WallTime at) { return base::to_seconds(at.time_since_epoch()); }

}  // namespace

HttpMetrics::HttpMetrics(obs::Registry& registry, base::WallTime started)
    : started_(unix_seconds(started)),
      requests_(registry.counter("http_requests_total",
                                 "Total number of requests by method, status and handler.",
                                 {"handler", "method", "status"})),
      duration_(registry.histogram(
          "http_request_duration_seconds",
          "Latency with only few buckets by handler. Made to be only used if aggregation by "
          "handler is important. ",
          kLowrBuckets, {"handler", "method"})),
      duration_highr_(registry
                          .histogram("http_request_duration_highr_seconds",
                                     "Latency with many buckets but no API specific labels. Made "
                                     "for more accurate percentile calculations. ",
                                     kHighrBuckets)
                          .histogram(0)) {}

void HttpMetrics::observe(const Request& r) {
  const double seconds = base::to_seconds(r.duration);
  requests_.counter(0, {r.handler, r.method, status_class(r.status)}).add();
  duration_.histogram(0, {r.handler, r.method}).observe(seconds);
  duration_highr_.observe(seconds);
  auto it = std::find_if(sizes_.begin(), sizes_.end(),
                         [&](const Sizes& s) { return s.handler == r.handler; });
  if (it == sizes_.end()) it = sizes_.insert(it, Sizes{.handler = std::string(r.handler)});
  it->count += 1;
  it->request_bytes += static_cast<double>(r.request_bytes);
  it->response_bytes += static_cast<double>(r.response_bytes);
}

void HttpMetrics::expose(std::string& out) const {
  auto summary = [&](std::string_view name, std::string_view help, double Sizes::*sum) {
    obs::append_family_head(out, name, help, "summary");
    auto sample = [&](const Sizes& s, std::string_view suffix, double value) {
      std::string labels;
      obs::append_label(labels, "handler", s.handler);
      labels.push_back(',');
      obs::append_sample(out, {std::string(name).append(suffix), labels, {}}, value,
                         obs::Style::kPython);
    };
    for (const Sizes& s : sizes_) {
      sample(s, "_count", s.count);
      sample(s, "_sum", s.*sum);
    }
    obs::append_family_head(out, std::string(name).append("_created"), help, "gauge");
    for (const Sizes& s : sizes_) sample(s, "_created", started_);
  };
  summary("http_request_size_bytes",
          "Content length of incoming requests by handler. Only value of header is respected. "
          "Otherwise ignored. No percentile calculated. ",
          &Sizes::request_bytes);
  summary("http_response_size_bytes",
          "Content length of outgoing responses by handler. Only value of header is respected. "
          "Otherwise ignored. No percentile calculated. ",
          &Sizes::response_bytes);
}

void add_process_metrics(obs::Registry& registry, base::WallTime started) {
  using obs::MetricType;
  auto add = [&](MetricType type, const char* name, const char* help, auto read) {
    registry.callback(type, name, help, {}, [read](obs::Samples& out) { out.add({}, read()); });
  };
  add(MetricType::kGauge, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
      [] { return memory().virtual_bytes; });
  add(MetricType::kGauge, "process_resident_memory_bytes", "Resident memory size in bytes.",
      [] { return memory().resident_bytes; });
  add(MetricType::kGauge, "process_start_time_seconds",
      "Start time of the process since unix epoch in seconds.",
      [started] { return unix_seconds(started); });
  add(MetricType::kCounter, "process_cpu_seconds_total",
      "Total user and system CPU time spent in seconds.", [] { return cpu_seconds(); });
  add(MetricType::kGauge, "process_open_fds", "Number of open file descriptors.",
      [] { return open_files(); });
  add(MetricType::kGauge, "process_max_fds", "Maximum number of open file descriptors.",
      [] { return open_files_max(); });
}

}  // namespace fairlead::engine
