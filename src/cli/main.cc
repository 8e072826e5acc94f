#include <string>
#include <vector>

#include "cli/commands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  return fairlead::cli::run_commands(fairlead::cli::all_commands(), args);
}
