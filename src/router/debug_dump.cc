#include "router/debug_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/json.h"
#include "router/health.h"
#include "router/kthena_metrics.h"

namespace fairlead::router {
namespace {

constexpr std::string_view kRoot = "/debug/config_dump/";
constexpr std::string_view kNamespaces = "namespaces/";
constexpr std::string_view kNamespace = "default";
constexpr std::string_view kPods = "pods";

struct Kind {
  std::string_view path, name;
};
constexpr std::array kKinds = {Kind{"modelroutes", "ModelRoute"},
                               Kind{"modelservers", "ModelServer"},
                               Kind{kPods, "Pod"},
                               Kind{"gateways", "Gateway"},
                               Kind{"httproutes", "HTTPRoute"},
                               Kind{"inferencepools", "InferencePool"}};

const Kind* find_kind(std::string_view path) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [path](const Kind& kind) { return kind.path == path; });
  return found == kKinds.end() ? nullptr : found;
}

DebugAnswer not_found(std::string_view what) {
  DebugAnswer answer{404, {}};
  codec::JsonWriter(answer.json)
      .begin_object()
      .key("error")
      .string(fmt::format("{} not found", what))
      .end_object();
  return answer;
}

// `alone`: the answer is about this pod only.
enum class Form : uint8_t { kListed, kAlone };

void write_pod(codec::JsonWriter& out, const DebugPod& pod, Form form) {
  out.begin_object().key("name").string(pod.name).key("namespace").string(kNamespace);
  if (form == Form::kAlone) {
    out.key("podInfo").begin_object().key("podIP").string(pod.address).end_object();
  }
  out.key("engine").string("vLLM");
  const pick::Scraped& scraped = pod.scraped;
  out.key("metrics").begin_object();
  out.key("gpuCacheUsage").number(static_cast<double>(scraped.kv_usage));
  out.key("requestWaitingNum").integer(scraped.waiting);
  out.key("requestRunningNum").integer(scraped.running);
  out.key("tpot").number(base::to_seconds(scraped.latency.tpot));
  out.key("ttft").number(base::to_seconds(scraped.latency.ttft));
  out.end_object();
  out.key("models").begin_array();
  for (const std::string& model : pod.models) out.string(model);
  out.end_array();
  out.key("modelServers").begin_array().end_array();
  // Ours.
  out.key("backend_type").string(to_string(Destination::kStatic));
  out.key("selected_pod").string(pod.name);
  out.key("health").string(name_of(pod.health));
  out.key("inFlight").integer(pod.in_flight);
  out.end_object();
}

DebugAnswer dump_list(const Kind& kind, std::span<const DebugPod> pods) {
  DebugAnswer answer;
  codec::JsonWriter out(answer.json);
  out.begin_object().key(kind.path);
  if (kind.path == kPods && !pods.empty()) {
    out.begin_array();
    for (const DebugPod& pod : pods) write_pod(out, pod, Form::kListed);
    out.end_array();
  } else {
    out.null();
  }
  out.end_object();
  return answer;
}

// NS/KIND/NAME
DebugAnswer dump_one(std::string_view path, std::span<const DebugPod> pods) {
  const size_t kind_at = path.find('/');
  const size_t name_at = kind_at == std::string_view::npos ? kind_at : path.find('/', kind_at + 1);
  if (name_at == std::string_view::npos) return not_found("path");
  const Kind* kind = find_kind(path.substr(kind_at + 1, name_at - kind_at - 1));
  if (kind == nullptr) return not_found("path");
  const std::string_view name = path.substr(name_at + 1);
  if (kind->path == kPods && path.substr(0, kind_at) == kNamespace) {
    for (const DebugPod& pod : pods) {
      if (pod.name != name) continue;
      DebugAnswer answer;
      codec::JsonWriter out(answer.json);
      write_pod(out, pod, Form::kAlone);
      return answer;
    }
  }
  return not_found(kind->name);
}

}  // namespace

DebugAnswer debug_dump(std::string_view path, std::span<const DebugPod> pods) {
  if (!path.starts_with(kRoot)) return not_found("path");
  path.remove_prefix(kRoot.size());
  if (path.starts_with(kNamespaces)) return dump_one(path.substr(kNamespaces.size()), pods);
  const Kind* kind = find_kind(path);
  return kind == nullptr ? not_found("path") : dump_list(*kind, pods);
}

}  // namespace fairlead::router
