// kube_cache KUBECONFIG NAMESPACE OBJECTS EVENTS: keeps the pods of a namespace in an informer.
// Says what it took to have OBJECTS of them told to a handler, and then EVENTS updates: a line of
// JSON each, with seconds (of the updates: the Unix time of the last), seconds of CPU, memory
// beyond what the program had before, and microseconds from a write (annotation bench/written) to
// its handler. bench/peers/client_go is its peer.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "codec/json_scanner.h"
#include "kube/informer.h"
#include "net/tcp.h"
#include "rt/loop.h"
#include "rt/task_group.h"

namespace {

using namespace fairlead;

const kube::Resource kPods{.group = "", .version = "v1", .plural = "pods", .kind = "Pod"};

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int64_t wall_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double seconds_since(int64_t begun) { return static_cast<double>(wall_nanos() - begun) / 1e9; }

int kib(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with(key)) return std::atoi(line.c_str() + key.size());
  }
  return 0;
}

int rss_kib() { return kib("/proc/self/status", "VmRSS:"); }
int pss_kib() { return kib("/proc/self/smaps_rollup", "Pss:"); }

// metadata.annotations[wanted] as it was sent; "" without it.
std::string_view annotation(std::string_view json, std::string_view wanted) {
  codec::JsonScanner in(json);
  std::string_view found;
  const auto annotations = [&](const codec::JsonText& key) {
    if (key.raw != wanted) return in.skip();
    codec::JsonText value;
    if (!in.string(value)) return false;
    found = value.raw;
    return true;
  };
  const auto metadata = [&](const codec::JsonText& key) {
    return key.raw == "annotations" ? in.object(annotations) : in.skip();
  };
  in.object([&](const codec::JsonText& key) {
    if (key.raw != "metadata") return in.skip();
    in.object(metadata);
    return false;  // what follows does not matter
  });
  return found;
}

struct Counter final : kube::InformerHandler {
  size_t objects_wanted = 0;
  size_t events_wanted = 0;
  size_t added = 0;
  size_t updated = 0;
  std::vector<double> delays;
  rt::WaitList changed;

  rt::Task<void> handle(const kube::Notification& n) override {
    if (n.change == kube::Change::kAdded && ++added == objects_wanted) changed.notify_all();
    if (n.change != kube::Change::kUpdated) co_return;
    const int64_t now = wall_nanos();
    const std::string written(annotation(n.object->json(), "bench/written"));
    if (!written.empty()) {
      delays.push_back(static_cast<double>(now - std::atoll(written.c_str())) / 1e3);
    }
    if (++updated == events_wanted) changed.notify_all();
  }
  rt::Task<void> wait_until(const size_t& count, size_t wanted) {
    while (count < wanted) co_await changed.wait(base::kNever);
  }
};

double part(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

rt::Task<void> measure(kube::Client& client, std::string space, Counter& counter) {
  kube::Informer informer(client, kPods, {.space = std::move(space)});
  informer.add_handler(counter);
  rt::TaskGroup group(client.loop());
  const int rss = rss_kib();
  const int pss = pss_kib();
  const int64_t begun = wall_nanos();
  double cpu = cpu_seconds();
  group.spawn(informer.run());
  co_await counter.wait_until(counter.added, counter.objects_wanted);
  const double listed = seconds_since(begun);
  const double spent = cpu_seconds() - cpu;
  co_await rt::sleep_until(base::after(client.loop().now(), std::chrono::seconds(1)));
  fmt::print(R"({{"objects":{},"seconds":{:.6f},"cpu_s":{:.6f},"rss_kib":{},"pss_kib":{}}})"
             "\n",
             informer.store().objects().size(), listed, spent, rss_kib() - rss, pss_kib() - pss);
  std::fflush(stdout);
  if (counter.events_wanted > 0) {
    cpu = cpu_seconds();
    co_await counter.wait_until(counter.updated, counter.events_wanted);
    const double ended = static_cast<double>(wall_nanos()) / 1e9;
    cpu = cpu_seconds() - cpu;
    malloc_trim(0);
    std::ranges::sort(counter.delays);
    fmt::print(R"({{"events":{},"ended_at":{:.6f},"cpu_s":{:.6f},"live_kib":{},)"
               R"("p50_us":{:.1f},"p99_us":{:.1f}}})"
               "\n",
               counter.updated, ended, cpu, rss_kib() - rss, part(counter.delays, 0.5),
               part(counter.delays, 0.99));
  }
  group.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group.join());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "kube_cache KUBECONFIG NAMESPACE OBJECTS EVENTS\n");
    return 2;
  }
  const base::Result<kube::Access> access = kube::find_access({.kubeconfig = argv[1]}, {});
  if (!access) {
    fmt::print(stderr, "{}\n", access.error().describe());
    return 1;
  }
  rt::Loop loop;
  net::TcpNetwork network(loop);
  // A machine that is busy or stopped for a while does not end the run.
  kube::Client client(network, *access, {.request_timeout = std::chrono::minutes(15)});
  Counter counter;
  counter.objects_wanted = static_cast<size_t>(std::atoll(argv[3]));
  counter.events_wanted = static_cast<size_t>(std::atoll(argv[4]));
  loop.block_on(measure(client, argv[2], counter));
  return 0;
}
