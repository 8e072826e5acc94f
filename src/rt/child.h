// Child: a process that lives no longer than this object and no longer than this process, however
// that ends (the kernel kills it with the thread that started it). Linux.
//
//   auto child = Child::start({.name = "engine-1", .command = {kSelf, "engine", "--port",
//   "9001"}});
//   ...                                        // on SIGCHLD, or when it is asked:
//   if (!child->running()) report(child->how_ended(), child->output());
//   child->signal(SIGTERM);
//
// It has a process group of its own, so that Ctrl-C at the terminal reaches its parent alone, which
// then decides the order of ends. Standard input is empty.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace fairlead::rt {

// This program itself, also where its file has been replaced since.
inline constexpr const char* kSelf = "/proc/self/exe";

struct ChildOptions {
  std::string name;
  std::vector<std::string> command;
  std::string log;  // a file that gets what it writes; empty: kept in memory
};

class Child {
 public:
  static base::Result<Child> start(ChildOptions options);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  // Kills it if it runs, and waits for its end.
  ~Child();

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }
  // False for good once it has ended.
  bool running();
  // Once it has ended: "exit code 1", "signal 9 (Killed)".
  std::string how_ended() const;
  void signal(int number);
  // The end of what it wrote to standard output and error.
  std::string output() const;

 private:
  Child(std::string name, pid_t pid, int output)
      : name_(std::move(name)), pid_(pid), output_(output) {}

  std::string name_;
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  int wait_status_ = 0;
};

}  // namespace fairlead::rt
