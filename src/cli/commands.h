// The command tree of `fairlead`: what each command is called, says about itself and runs.
//
//   int main(int argc, char** argv) { return run_commands(all_commands(), {argv + 1, argv + argc});
//   }
//
// Adding a command: one entry in all_commands().
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fairlead::cli {

// Exit codes: 0, 1 for what failed in operation, 2 for a command line that is wrong.
inline constexpr int kUsageError = 2;

struct Command {
  std::string_view group;
  std::string_view name;
  std::string_view summary;
  // The whole of --help.
  std::string (*help)();
  // Words after the command; --help and -h do not reach it.
  int (*run)(std::span<const std::string> args);
};

std::span<const Command> all_commands();

// Runs the command that `args` names, or shows help. A mistyped name is answered with the nearest.
int run_commands(std::span<const Command> commands, std::span<const std::string> args);

// What `fairlead --help` prints.
std::string overview(std::span<const Command> commands);

}  // namespace fairlead::cli
