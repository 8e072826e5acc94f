#include "laptop/plan.h"

#include <fmt/format.h>

#include "codec/json.h"

namespace fairlead::laptop {
namespace {

// About 250 tokens; no quotes, so that it can be pasted into a shell.
constexpr std::string_view kSystemPrompt =
    "You are the guide of a small science museum. Visitors of every age ask you what they see, and "
    "you answer in two or three plain sentences, without jargon, and never talk down to anyone. "
    "The ground floor has the steam engines, the pumps and the first telephone exchange of the "
    "city, which still works and may be tried. The first floor has the planetarium, with a show at "
    "every full hour, and a pendulum that has swung since the house was opened. The second floor "
    "has computers, from relays to graphics processors, and a wall that shows how a language model "
    "writes one word after another. Questions about tickets, the cafe and the cloakroom go to the "
    "desk at the entrance; say so kindly. If a child asks why, give a reason they can try out at "
    "home with a string, a glass of water or a torch. If you do not know an answer, say that you "
    "do "
    "not know and name the room where it could be found. Never make up a date, a name or a number.";

}  // namespace

rt::ChildOptions engine_child(const LaptopConfig& config, size_t index, uint16_t port,
                              const std::string& log_folder) {
  const std::string name = fmt::format("engine-{}", index + 1);
  return {.name = name,
          .command = {rt::kSelf, "engine", "serve", config.model, "--host", "127.0.0.1", "--port",
                      fmt::format("{}", port), "--sim-profile", config.profile,
                      "--enable-prompt-tokens-details", "--enable-auto-tool-choice",
                      "--tool-call-parser", "hermes"},
          .log = fmt::format("{}/{}.log", log_folder, name)};
}

rt::ChildOptions router_child(const LaptopConfig& config, std::span<const uint16_t> engine_ports,
                              const std::string& log_folder) {
  rt::ChildOptions child{
      .name = "router",
      .command = {rt::kSelf, "router", "--host", "127.0.0.1", "--port",
                  fmt::format("{}", config.port), "--metrics-port",
                  fmt::format("{}", config.metrics_port), "--policy", config.policy,
                  "--allow-explain", "--drain-delay", "0s", "--drain-timeout", "2s"},
      .log = fmt::format("{}/router.log", log_folder)};
  for (const uint16_t port : engine_ports) {
    child.command.emplace_back("--backend");
    child.command.push_back(fmt::format("http://127.0.0.1:{}", port));
  }
  return child;
}

std::string question(const LaptopConfig& config, std::string_view text) {
  std::string body;
  codec::JsonWriter out(body);
  out.begin_object();
  out.key("model");
  out.string(config.model);
  out.key("stream");
  out.boolean(true);
  out.key("max_tokens");
  out.integer(48);
  out.key("messages");
  out.begin_array();
  for (const auto& [role, content] : {std::pair{std::string_view("system"), kSystemPrompt},
                                      std::pair{std::string_view("user"), text}}) {
    out.begin_object();
    out.key("role");
    out.string(role);
    out.key("content");
    out.string(content);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return body;
}

std::string next_steps(const LaptopConfig& config, std::string_view program) {
  return fmt::format(
      "A question under the same system prompt; x-fairlead-explain says which replica and why:\n\n"
      "  curl -iN http://127.0.0.1:{}/v1/chat/completions \\\n"
      "    -H 'Content-Type: application/json' -H 'x-fairlead-explain: 1' \\\n"
      "    -d '{}'\n\n"
      "What knowing the caches is worth, round-robin against prefix-cache on engines of its "
      "own:\n\n"
      "  {} bench --compare round-robin,prefix-cache\n",
      config.port, question(config, "What hangs in the stairwell?"), program);
}

std::string picked(std::string_view explanation) {
  const auto json = codec::parse_json(explanation);
  if (!json || !json->is_object()) return "";
  const codec::Json* replica = json->find("replica");
  const codec::Json* reason = json->find("reason");
  if (replica == nullptr || !replica->is_string()) return "";
  std::string text = replica->as_string();
  if (reason != nullptr && reason->is_string()) text += fmt::format(" ({})", reason->as_string());
  return text;
}

}  // namespace fairlead::laptop
