#include "rt/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace fairlead::rt {
namespace {

constexpr off_t kOutputTail = 4096;

base::Error system_error(std::string_view what) {
  return base::Error(base::ErrorCode::kUnavailable,
                     fmt::format("{}: {}", what, std::strerror(errno)));
}

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(const char* program, char* const* argv, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the line above
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int in = open("/dev/null", O_RDONLY);
  dup2(in, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(program, argv);
  _exit(127);
}

}  // namespace

base::Result<Child> Child::start(ChildOptions options) {
  CHECK(!options.command.empty(), "a child has a command");
  const std::string program = options.command.front();
  // In process lists this program goes by its name.
  if (program == kSelf) options.command.front() = program_invocation_short_name;
  std::vector<char*> argv;
  for (std::string& word : options.command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int output = options.log.empty()
                         ? memfd_create("output", MFD_CLOEXEC)
                         : open(options.log.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) return system_error(fmt::format("cannot write the log of {}", options.name));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(program.c_str(), argv.data(), output, parent);
  if (pid < 0) {
    close(output);
    return system_error(fmt::format("cannot start {}", options.name));
  }
  return Child(std::move(options.name), pid, output);
}

Child::Child(Child&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      ended_(other.ended_),
      wait_status_(other.wait_status_) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(ended_, other.ended_);
  std::swap(wait_status_, other.wait_status_);
  return *this;
}

Child::~Child() {
  if (pid_ > 0 && !ended_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
}

bool Child::running() {
  if (!ended_) ended_ = waitpid(pid_, &wait_status_, WNOHANG) == pid_;
  return !ended_;
}

std::string Child::how_ended() const {
  if (!WIFSIGNALED(wait_status_)) return fmt::format("exit code {}", WEXITSTATUS(wait_status_));
  const int number = WTERMSIG(wait_status_);
  return fmt::format("signal {} ({})", number, strsignal(number));
}

void Child::signal(int number) {
  if (!ended_) kill(pid_, number);
}

std::string Child::output() const {
  const off_t size = std::max<off_t>(lseek(output_, 0, SEEK_END), 0);
  const off_t from = std::max<off_t>(size - kOutputTail, 0);
  std::string text(static_cast<size_t>(size - from), '\0');
  const ssize_t n = pread(output_, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

}  // namespace fairlead::rt
