#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/text.h"
#include "codec/suggest.h"

namespace fairlead::cli {
namespace {

constexpr size_t kSummaryColumn = 13;

const Command* find(std::span<const Command> commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

int unknown_command(std::span<const Command> commands, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  const std::string_view near = codec::nearest_name(name, names);
  fmt::print(stderr, "fairlead: there is no command '{}'{}\n", name,
             near.empty() ? "; fairlead --help lists them"
                          : fmt::format(": did you mean 'fairlead {}'?", near));
  return kUsageError;
}

bool is_help(std::string_view word) { return word == "--help" || word == "-h"; }

}  // namespace

std::string overview(std::span<const Command> commands) {
  std::string text =
      "Fairlead serves large language models: it sends each request to the replica that already "
      "holds\n"
      "its prefix, and runs the same way on a laptop without GPUs.\n\n"
      "usage: fairlead COMMAND [FLAGS]\n";
  std::string_view group;
  for (const Command& command : commands) {
    if (command.group != group) {
      group = command.group;
      text += fmt::format("\n{}\n", group);
    }
    append_entry(text, command.name, command.summary, kSummaryColumn);
  }
  text +=
      "\nexamples\n"
      "  fairlead up                                        engines, a router and a first answer\n"
      "  fairlead engine --port 8001                        one simulated engine\n"
      "  fairlead router --backend http://127.0.0.1:8001    a router before it\n"
      "  fairlead bench --compare round-robin,prefix-cache  what knowing the caches is worth\n"
      "\n`fairlead COMMAND --help` explains a command and each of its flags.\n";
  return text;
}

int run_commands(std::span<const Command> commands, std::span<const std::string> args) {
  if (args.empty()) {
    fmt::print(stderr, "{}", overview(commands));
    return kUsageError;
  }
  std::string_view name = args.front();
  auto rest = args.subspan(1);
  bool wants_help = std::any_of(rest.begin(), rest.end(), is_help);
  if (is_help(name) || name == "help") {
    if (rest.empty() || is_help(rest.front())) {
      fmt::print("{}", overview(commands));
      return 0;
    }
    name = rest.front();
    wants_help = true;
  }
  if (name == "--version") name = "version";
  const Command* command = find(commands, name);
  if (command == nullptr) return unknown_command(commands, name);
  if (wants_help) {
    fmt::print("{}", command->help());
    return 0;
  }
  return command->run(rest);
}

}  // namespace fairlead::cli
