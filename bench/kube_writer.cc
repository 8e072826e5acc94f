// kube_writer KUBECONFIG NAMESPACE fill PODS FILE: makes the namespace and that many pods in it,
// with the status that a kubelet would write; FILE has both, with @N@ for the number of the pod.
// kube_writer KUBECONFIG NAMESPACE change PODS RATE: writes the time into each of them, that many a
// second; 0: as many as the server takes.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codec/json.h"
#include "kube/client.h"
#include "net/tcp.h"
#include "rt/loop.h"
#include "rt/task_group.h"

namespace {

using namespace fairlead;

constexpr int kWriters = 16;

const kube::Resource kPods{.group = "", .version = "v1", .plural = "pods", .kind = "Pod"};
const kube::Resource kNamespaces{
    .group = "", .version = "v1", .plural = "namespaces", .kind = "Namespace", .namespaced = false};

struct Work {
  kube::Client& client;
  std::string space;
  std::string pod;  // empty: change what is there
  std::string status;
  int pods = 0;
  int next = 0;
  base::Nanos pause{0};
};

std::string numbered(std::string text, int number) {
  constexpr std::string_view kPlace = "@N@";
  const std::string digits = fmt::format("{:05}", number);
  for (size_t at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at)) {
    text.replace(at, kPlace.size(), digits);
  }
  return text;
}

int64_t wall_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A server that is held up for longer than it gives a request is asked again.
constexpr int kAttempts = 50;
constexpr std::chrono::seconds kAttemptPause{2};

bool worth_another(const base::Result<kube::ObjectPtr>& done) {
  return !done && (done.error().code() == base::ErrorCode::kUnavailable ||
                   done.error().code() == base::ErrorCode::kConnectionReset ||
                   done.error().code() == base::ErrorCode::kDeadlineExceeded);
}

rt::Task<base::Result<>> create(kube::Client& client, const kube::Target& target,
                                const std::string& object) {
  for (int i = 1;; ++i) {
    const auto made = co_await client.create(target, object, {.field_manager = "controller"});
    const bool there = made || (i > 1 && made.error().code() == base::ErrorCode::kAlreadyExists);
    if (there) co_return base::Result<>();
    if (!worth_another(made) || i == kAttempts) co_return made.error();
    co_await rt::sleep_until(base::after(client.loop().now(), kAttemptPause));
  }
}

rt::Task<base::Result<>> patch(kube::Client& client, const kube::Target& target,
                               kube::PatchKind kind, const std::string& change) {
  for (int i = 1;; ++i) {
    const auto done = co_await client.patch(target, kind, change, {.field_manager = "kubelet"});
    if (done) co_return base::Result<>();
    if (!worth_another(done) || i == kAttempts) co_return done.error();
    co_await rt::sleep_until(base::after(client.loop().now(), kAttemptPause));
  }
}

rt::Task<base::Result<>> write(Work& work) {
  while (work.next < work.pods) {
    const int number = work.next++;
    kube::Target target{kPods, work.space, fmt::format("web-{:05}", number)};
    if (!work.pod.empty()) {
      const base::Result<> made =
          co_await create(work.client, {kPods, work.space}, numbered(work.pod, number));
      if (!made) co_return made.error();
      target.subresource = "status";
      const base::Result<> told = co_await patch(
          work.client, target, kube::PatchKind::kStrategicMerge, numbered(work.status, number));
      if (!told) co_return told.error();
      continue;
    }
    const std::string change =
        fmt::format(R"({{"metadata":{{"annotations":{{"bench/written":"{}"}}}}}})", wall_nanos());
    const base::Result<> changed =
        co_await patch(work.client, target, kube::PatchKind::kMerge, change);
    if (!changed) co_return changed.error();
    if (work.pause.count() > 0) {
      co_await rt::sleep_until(base::after(work.client.loop().now(), work.pause));
    }
  }
  co_return base::Result<>();
}

rt::Task<base::Result<>> write_all(Work& work) {
  if (!work.pod.empty()) {
    const std::string space = fmt::format(R"({{"metadata":{{"name":"{}"}}}})", work.space);
    const base::Result<> made = co_await create(work.client, {kNamespaces}, space);
    if (!made) co_return made.error();
  }
  rt::TaskGroup group(work.client.loop());
  const int writers = work.pause.count() > 0 ? 1 : kWriters;
  for (int i = 0; i < writers; ++i) group.spawn(write(work));
  co_return co_await group.join();
}

base::Result<> read_pod(const char* file, Work& work) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  const base::Result<codec::Json> both = codec::parse_json(text.str());
  if (!both) return both.error();
  const codec::Json* pod = both->find("pod");
  const codec::Json* status = both->find("status");
  if (pod == nullptr || status == nullptr) return base::invalid_argument("no pod with its status");
  work.pod = codec::to_string(*pod);
  work.status = codec::to_string(*status);
  return {};
}

int fail(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.describe());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 6 ? argv[3] : "";
  if (what != "fill" && what != "change") {
    fmt::print(stderr, "kube_writer KUBECONFIG NAMESPACE fill PODS FILE | change PODS RATE\n");
    return 2;
  }
  const base::Result<kube::Access> access = kube::find_access({.kubeconfig = argv[1]}, {});
  if (!access) return fail(access.error());
  rt::Loop loop;
  net::TcpNetwork network(loop);
  // A machine that is busy or stopped for a while does not end the run.
  kube::Client client(network, *access, {.request_timeout = std::chrono::minutes(15)});
  Work work{.client = client, .space = argv[2]};
  work.pods = std::atoi(argv[4]);
  if (what == "fill") {
    if (const base::Result<> read = read_pod(argv[5], work); !read) return fail(read.error());
  } else if (const int rate = std::atoi(argv[5]); rate > 0) {
    work.pause = base::Nanos(std::chrono::seconds(1)) / rate;
  }
  const base::Result<> done = loop.block_on(write_all(work));
  return done ? 0 : fail(done.error());
}
