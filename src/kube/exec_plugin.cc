#include "kube/exec_plugin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "codec/json.h"
#include "kube/wire_time.h"

namespace fairlead::kube {
namespace {

using codec::Json;

constexpr size_t kOutputBytesMax = 1u << 20;

base::Error failed(const ExecPlugin& plugin, std::string_view why) {
  std::string message = fmt::format("exec plugin {}: {}", plugin.command, why);
  if (!plugin.install_hint.empty()) message += fmt::format(" ({})", plugin.install_hint);
  return base::Error(base::ErrorCode::kUnauthenticated, std::move(message));
}

// What the plugin gets: this process's variables, its own over them, and what it is asked for.
std::vector<std::string> environment_of(const ExecPlugin& plugin) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : plugin.environment) {
    variables.push_back(fmt::format("{}={}", name, value));
  }
  std::string info = R"({"kind":"ExecCredential","apiVersion":)";
  codec::append_json_string(info, plugin.api_version);
  info += R"(,"spec":{"interactive":false}})";
  variables.push_back("KUBERNETES_EXEC_INFO=" + info);
  const size_t own = variables.size();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view inherited(*entry);
    const std::string_view name = inherited.substr(0, inherited.find('=') + 1);
    bool replaced = false;
    for (size_t i = 0; i < own; ++i) replaced = replaced || variables[i].starts_with(name);
    if (!replaced) variables.emplace_back(inherited);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

struct Process {
  pid_t pid = -1;
  int output = -1;
};

base::Result<Process> start(const ExecPlugin& plugin) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return failed(plugin, std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words = {plugin.command};
  words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> variables = environment_of(plugin);
  Process process{.pid = -1, .output = ends[0]};
  const int error = posix_spawnp(&process.pid, plugin.command.c_str(), &actions, &attributes,
                                 pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error == 0) return process;
  close(ends[0]);
  return failed(plugin, std::strerror(error));
}

// What it prints until it closes its output; nothing when that takes too long or is too much.
std::optional<std::string> read_output(int descriptor) {
  const auto end = std::chrono::steady_clock::now() + kExecTime;
  std::string output;
  std::array<char, 4096> piece;
  while (output.size() <= kOutputBytesMax) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t n = read(descriptor, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return output;
    output.append(piece.data(), static_cast<size_t>(n));
  }
  return std::nullopt;
}

std::string_view exec_text(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr ? std::string_view() : std::string_view(value->as_string());
}

}  // namespace

base::Result<ExecCredential> parse_exec_credential(std::string_view json,
                                                   std::string_view api_version) {
  const base::Result<Json> root = codec::parse_json(json);
  if (!root) return root.error().wrap("its output");
  if (exec_text(*root, "kind") != "ExecCredential" ||
      exec_text(*root, "apiVersion") != api_version) {
    return base::invalid_argument(
        fmt::format("its output is no ExecCredential of {}", api_version));
  }
  const Json* status = root->find("status");
  if (status == nullptr) return base::invalid_argument("its output has no status");
  ExecCredential credential;
  credential.token = exec_text(*status, "token");
  const std::string_view chain = exec_text(*status, "clientCertificateData");
  const std::string_view key = exec_text(*status, "clientKeyData");
  if (chain.empty() != key.empty()) {
    return base::invalid_argument("its output has one of certificate and key without the other");
  }
  if (!chain.empty()) {
    credential.certificate = net::Certificate{std::string(chain), std::string(key)};
  }
  if (credential.token.empty() && !credential.certificate) {
    return base::invalid_argument("its output has neither token nor certificate");
  }
  const std::string_view expires = exec_text(*status, "expirationTimestamp");
  if (!expires.empty()) {
    credential.expires = parse_time(expires);
    if (!credential.expires) {
      return base::invalid_argument(fmt::format("expirationTimestamp '{}' is no time", expires));
    }
  }
  return credential;
}

base::Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin) {
  const base::Result<Process> process = start(plugin);
  if (!process) return process.error();
  const std::optional<std::string> output = read_output(process->output);
  close(process->output);
  if (!output) kill(process->pid, SIGKILL);
  int status = 0;
  while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!output) return failed(plugin, "no end of its output");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return failed(plugin, WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                            : fmt::format("signal {}", WTERMSIG(status)));
  }
  base::Result<ExecCredential> credential = parse_exec_credential(*output, plugin.api_version);
  if (!credential) return failed(plugin, credential.error().describe());
  return credential;
}

}  // namespace fairlead::kube
