#include "control_plane.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace fairlead::kube {
namespace {

constexpr std::chrono::minutes kStartTime{3};
constexpr std::chrono::minutes kCommandTime{2};

}  // namespace

ControlPlane& ControlPlane::running() {
  static ControlPlane plane(std::vector<std::string>{});
  return plane;
}

ControlPlane::ControlPlane(const std::vector<std::string>& parts) {
  std::string pattern = (std::filesystem::temp_directory_path() / "kube_api_XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  std::vector<std::string> command = {FAIRLEAD_SOURCE "/tools/kube/control-plane", "run", folder_};
  if (!parts.empty()) command.push_back(fmt::format("--with={}", fmt::join(parts, ",")));
  base::Result<rt::Child> child =
      rt::Child::start({.name = "control-plane", .command = command, .log = {}});
  CHECK(child.ok(), "the program starts");
  child_ = std::make_unique<rt::Child>(std::move(*child));
  rt::Loop loop;
  auto ready = [&] { return std::filesystem::exists(kubeconfig()) || !child_->running(); };
  loop.block_on(eventually(loop, ready, kStartTime));
  if (!std::filesystem::exists(kubeconfig())) {
    fmt::print(stderr, "no control plane: {}\n", child_->output());
    std::abort();
  }
}

ControlPlane::~ControlPlane() {
  child_->signal(SIGTERM);
  rt::Loop loop;
  auto ended = [&] { return !child_->running(); };
  loop.block_on(eventually(loop, ended, std::chrono::minutes(1)));
  child_.reset();
  std::filesystem::remove_all(folder_);
}

Access ControlPlane::access(const std::string& context) const {
  base::Result<Access> access = find_access({.kubeconfig = kubeconfig(), .context = context}, {});
  CHECK(access.ok(), "the kubeconfig is good");
  return std::move(*access);
}

base::Result<std::string> ControlPlane::kubectl(std::vector<std::string> words) const {
  std::vector<std::string> command = {folder_ + "/bin/kubectl", "--kubeconfig=" + kubeconfig()};
  command.insert(command.end(), words.begin(), words.end());
  base::Result<rt::Child> child =
      rt::Child::start({.name = "kubectl", .command = command, .log = {}});
  if (!child) return child.error();
  rt::Loop loop;
  auto ended = [&] { return !child->running(); };
  loop.block_on(eventually(loop, ended, kCommandTime));
  if (!child->running() && child->how_ended() == "exit code 0") return child->output();
  return base::Error(base::ErrorCode::kInvalidArgument, child->output());
}

int ControlPlane::restarts() const {
  const base::Result<std::string> text = read_small_file(folder_ + "/restarts");
  return text ? std::atoi(text->c_str()) : 0;
}

RealApi::RealApi() {
  static int number = 0;
  space = fmt::format("test-{}", ++number);
  const auto made = run(
      client.create({kNamespaces}, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", space), {}));
  EXPECT_TRUE(made) << made.error().describe();
}

std::string RealApi::config_map(const std::string& name, const std::string& value,
                                const std::string& version) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"{}}},"data":{{"n":"{}"}}}})",
      name, version.empty() ? "" : fmt::format(R"(,"resourceVersion":"{}")", version), value);
}

}  // namespace fairlead::kube
