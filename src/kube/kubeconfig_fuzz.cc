// Kubeconfigs and what exec plugins print: an error or a configuration, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kube/access.h"
#include "kube/exec_plugin.h"

using namespace fairlead::kube;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = parse_kubeconfig(text, "/folder");
  if (config) {
    static_cast<void>(config->access(""));
    for (const auto& [name, context] : config->contexts) static_cast<void>(config->access(name));
    Kubeconfig merged = *config;
    merged.merge(*config);
  }
  static_cast<void>(parse_exec_credential(text, "client.authentication.k8s.io/v1"));
  return 0;
}
