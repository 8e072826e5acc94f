// Credentials from a program that the kubeconfig names (client.authentication.k8s.io): it gets
// KUBERNETES_EXEC_INFO in its environment and prints an ExecCredential.
//
// run_exec_plugin blocks for as long as the program runs, at most kExecTime: call it by
// rt::run_blocking. parse_exec_credential is pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/access.h"

namespace fairlead::kube {

inline constexpr std::chrono::seconds kExecTime{60};

struct ExecCredential {
  std::string token;
  std::optional<net::Certificate> certificate;
  std::optional<base::WallTime> expires;
};

base::Result<ExecCredential> parse_exec_credential(std::string_view json,
                                                   std::string_view api_version);
base::Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin);

}  // namespace fairlead::kube
