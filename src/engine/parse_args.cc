#include "engine/parse_args.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/duration.h"
#include "codec/json.h"
#include "engine/arg_values.h"
#include "engine/flag_table.h"
#include "engine/profile_file.h"

namespace fairlead::engine {

namespace {

// One flag as it stood on the command line.
struct Use {
  std::string_view name;
  std::vector<std::string> values;
  bool negated = false;

  const std::string& value() const { return values.front(); }
};

// What is settled only when all flags are read.
struct Draft {
  EngineConfig config;
  std::string profile = engine_model::builtin_profiles().front().name;
  std::optional<uint32_t> max_model_len;
  std::optional<uint32_t> max_num_seqs;
  std::optional<uint32_t> max_num_batched_tokens;
  std::optional<uint32_t> num_gpu_blocks;
};

template <class T>
base::Result<> set_int(T& into, const Use& use, IntRange range) {
  auto value = parse_human_int(use.value(), range);
  if (!value) return value.error();
  into = static_cast<T>(*value);
  return {};
}

base::Result<> set_double(double& into, const Use& use, DoubleRange range) {
  auto value = parse_double(use.value(), range);
  if (!value) return value.error();
  into = *value;
  return {};
}

constexpr IntRange kCount{1, UINT32_MAX};

base::Result<> set_max_model_len(Draft& d, const Use& use) {
  if (use.value() == "auto" || use.value() == "-1") return {};
  return set_int(d.max_model_len.emplace(), use, kCount);
}

base::Result<> set_num_gpu_blocks(Draft& d, const Use& use) {
  return set_int(d.num_gpu_blocks.emplace(), use, {2, 1 << 26});
}

base::Result<> set_gpu_memory_utilization(Draft& d, const Use& use) {
  double share = 0;
  if (auto done = set_double(share, use, {0, 1}); !done) return done;
  d.config.gpu_memory_utilization = use.value();
  return {};
}

base::Result<> set_refuse(Draft& d, const Use& use) {
  auto delay = base::parse_duration(use.value());
  if (!delay) return delay.error();
  d.config.faults.refuse = *delay;
  return {};
}

base::Result<> set_runner(Draft& d, const Use& use) {
  if (use.value() == "pooling") {
    d.config.runner = Runner::kPooling;
  } else if (use.value() == "generate" || use.value() == "auto") {
    d.config.runner = Runner::kGenerate;
  } else {
    return base::invalid_argument(fmt::format("'{}': want auto, generate or pooling", use.value()));
  }
  return {};
}

// NAME=PATH, or the same as JSON with a model to belong to.
base::Result<> set_lora_modules(Draft& d, const Use& use) {
  d.config.lora_modules.clear();
  for (const std::string& value : use.values) {
    LoraModule module;
    const size_t equals = value.find('=');
    if (equals != std::string::npos && value.find(',') == std::string::npos) {
      module = {.name = value.substr(0, equals), .path = value.substr(equals + 1)};
    } else {
      auto json = codec::parse_json(value);
      if (!json) return json.error().wrap(fmt::format("'{}': want NAME=PATH or JSON", value));
      const auto text = [&](std::string_view key) {
        const codec::Json* member = json->find(key);
        return member != nullptr && member->is_string() ? member->as_string() : std::string();
      };
      module = {
          .name = text("name"), .path = text("path"), .base_model_name = text("base_model_name")};
    }
    if (module.name.empty() || module.path.empty()) {
      return base::invalid_argument(fmt::format("'{}' has no name or no path", value));
    }
    const auto same = [&](const LoraModule& other) { return other.name == module.name; };
    if (std::any_of(d.config.lora_modules.begin(), d.config.lora_modules.end(), same)) {
      return base::invalid_argument(fmt::format("two adapters are called '{}'", module.name));
    }
    d.config.lora_modules.push_back(std::move(module));
  }
  return {};
}

// Of what it may override, embeddings of other sizes.
base::Result<> set_hf_overrides(Draft& d, const Use& use) {
  auto json = codec::parse_json(use.value());
  if (!json) return json.error().wrap("not JSON");
  if (const codec::Json* member = json->find("is_matryoshka")) {
    d.config.is_matryoshka = member->is_bool() && member->as_bool();
  }
  if (const codec::Json* member = json->find("matryoshka_dimensions")) {
    for (const codec::Json& size : member->items()) {
      if (size.is_integer()) d.config.matryoshka_dimensions.push_back(size.as_int());
    }
    d.config.is_matryoshka = d.config.is_matryoshka || !d.config.matryoshka_dimensions.empty();
  }
  return {};
}

// A flag that means something: how it is shown in the help, and what it does.
struct Setting {
  std::string_view name;
  std::string_view argument;
  std::string_view initial;
  std::string_view help;
  base::Result<> (*apply)(Draft&, const Use&);
};

using R = base::Result<>;

// clang-format off
constexpr Setting kSettings[] = {
    {"model", "NAME", "Qwen/Qwen3-0.6B", "the model to stand for; also as first argument",
     [](Draft& d, const Use& u) -> R { d.config.model = u.value(); return {}; }},
    {"served-model-name", "NAME...", "the model", "names under which it is served; answers carry the first",
     [](Draft& d, const Use& u) -> R { d.config.served_model_names = u.values; return {}; }},
    {"host", "ADDRESS", "all interfaces", "address to listen on",
     [](Draft& d, const Use& u) -> R { d.config.host = u.value(); return {}; }},
    {"port", "PORT", "8000", "port to listen on; 0 takes a free one",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.port, u, {0, 65535}); }},
    {"api-key", "KEY...", "none", "keys of which /v1 wants one; also VLLM_API_KEY",
     [](Draft& d, const Use& u) -> R { d.config.api_keys = u.values; return {}; }},
    {"max-model-len", "TOKENS", "the profile's, as far as it fits", "prompt and output of one request",
     set_max_model_len},
    {"max-num-seqs", "N", "the profile's", "requests in a batch",
     [](Draft& d, const Use& u) -> R { return set_int(d.max_num_seqs.emplace(), u, {1, 1 << 20}); }},
    {"max-num-batched-tokens", "TOKENS", "the profile's", "tokens computed in a step",
     [](Draft& d, const Use& u) -> R { return set_int(d.max_num_batched_tokens.emplace(), u, {1, 1 << 24}); }},
    {"block-size", "TOKENS", "16", "tokens in a KV block",
     [](Draft& d, const Use& u) -> R {
       d.config.block_size_given = true;
       return set_int(d.config.model_config.block_size, u, {1, 4096});
     }},
    {"num-gpu-blocks-override", "N", "the profile's", "KV blocks", set_num_gpu_blocks},
    {"enable-prefix-caching", "", "on", "reuse the KV blocks of equal prefixes",
     [](Draft& d, const Use& u) -> R { d.config.model_config.enable_prefix_caching = !u.negated; return {}; }},
    {"enable-chunked-prefill", "", "on", "compute long prompts over several steps",
     [](Draft& d, const Use& u) -> R { d.config.model_config.enable_chunked_prefill = !u.negated; return {}; }},
    {"gpu-memory-utilization", "SHARE", "0.92", "shown in metrics; blocks come from the profile",
     set_gpu_memory_utilization},
    {"prefix-caching-hash-algo", "NAME", "sha256", "shown in metrics",
     [](Draft& d, const Use& u) -> R { d.config.prefix_caching_hash_algo = u.value(); return {}; }},
    {"kv-cache-dtype", "NAME", "auto", "shown in metrics",
     [](Draft& d, const Use& u) -> R { d.config.kv_cache_dtype = u.value(); return {}; }},
    {"max-logprobs", "N", "20", "logprobs a token may have",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.max_logprobs, u, {-1, 1 << 20}); }},
    {"enable-prompt-tokens-details", "", "off", "cached_tokens in usage",
     [](Draft& d, const Use& u) -> R { d.config.enable_prompt_tokens_details = !u.negated; return {}; }},
    {"enable-force-include-usage", "", "off", "usage in every stream",
     [](Draft& d, const Use& u) -> R { d.config.enable_force_include_usage = !u.negated; return {}; }},
    {"enable-request-id-headers", "", "off", "X-Request-Id on responses",
     [](Draft& d, const Use& u) -> R { d.config.enable_request_id_headers = !u.negated; return {}; }},
    {"enable-server-load-tracking", "", "off", "count requests for /load",
     [](Draft& d, const Use& u) -> R { d.config.enable_server_load_tracking = !u.negated; return {}; }},
    {"enable-auto-tool-choice", "", "off", "let the model choose tools; needs --tool-call-parser",
     [](Draft& d, const Use& u) -> R { d.config.enable_auto_tool_choice = !u.negated; return {}; }},
    {"tool-call-parser", "NAME", "none", "any name is taken, calls are made as hermes makes them",
     [](Draft& d, const Use& u) -> R { d.config.tool_call_parser = u.value(); return {}; }},
    {"runner", "NAME", "generate", "pooling: answer /v1/embeddings instead of generating text", set_runner},
    {"hf-overrides", "JSON", "none", "is_matryoshka, matryoshka_dimensions: embeddings may be shortened",
     set_hf_overrides},
    {"enable-lora", "", "off", "serve LoRA adapters",
     [](Draft& d, const Use& u) -> R { d.config.enable_lora = !u.negated; return {}; }},
    {"lora-modules", "NAME=PATH...", "none", "adapters to begin with, or JSON; no path is looked at",
     set_lora_modules},
    {"max-loras", "N", "1", "adapters in a batch",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.max_loras, u, kCount); }},
    {"sim-profile", "NAME|FILE", "rtx3060-qwen3-0.6b", "how fast: rtx3060-qwen3-0.6b, h100-8b, h100x4-70b, a YAML file",
     [](Draft& d, const Use& u) -> R { d.profile = u.value(); return {}; }},
    {"sim-speed", "X", "1", "run X times as fast as the profile",
     [](Draft& d, const Use& u) -> R { return set_double(d.config.speed, u, {0.001, 1e6}); }},
    {"sim-output-len", "TOKENS", "128", "mean length of answers without max_tokens",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.output_len, u, {1, 1 << 20}); }},
    {"sim-embedding-size", "N", "1024", "numbers in an embedding",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.embedding_size, u, {1, 1 << 16}); }},
    {"sim-refuse", "TIME", "0", "refuse connections for so long, as while weights load", set_refuse},
    {"sim-hang", "", "off", "read requests and answer nothing",
     [](Draft& d, const Use& u) -> R { d.config.faults.hang = !u.negated; return {}; }},
    {"sim-reset-after-chunks", "N", "never", "reset streams after N chunks",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.faults.reset_after_chunks, u, {0, UINT32_MAX}); }},
    {"sim-error-rate", "SHARE", "0", "share of requests answered with an error",
     [](Draft& d, const Use& u) -> R { return set_double(d.config.faults.error_rate, u, {0, 1}); }},
    {"sim-error-status", "CODE", "500", "status of those errors",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.faults.error_status, u, {400, 599}); }},
    {"sim-slow-factor", "X", "1", "take X times as long for each step",
     [](Draft& d, const Use& u) -> R { return set_double(d.config.faults.slow_factor, u, {0.01, 10'000}); }},
    {"sim-freeze-metrics", "", "off", "always answer the first /metrics again",
     [](Draft& d, const Use& u) -> R { d.config.faults.freeze_metrics = !u.negated; return {}; }},
    {"sim-claim-running", "N", "the truth", "say in /metrics that N requests run and none waits",
     [](Draft& d, const Use& u) -> R { return set_int(d.config.faults.claim_running, u, {0, UINT32_MAX}); }},
};
// clang-format on

bool is_value(std::string_view arg) {
  if (arg.size() < 2 || arg[0] != '-') return true;
  return (arg[1] >= '0' && arg[1] <= '9') || arg[1] == '.';  // a negative number
}

base::Error unknown(std::string_view arg, std::string_view name) {
  const std::string_view near = nearest_flag(name);
  if (near.empty()) return base::invalid_argument(fmt::format("unknown flag {}", arg));
  return base::invalid_argument(fmt::format("unknown flag {}; did you mean --{}?", arg, near));
}

// Reads one flag at args[at] with its values and moves `at` past them.
class Reader {
 public:
  explicit Reader(std::span<const std::string> args) : args_(args) {}

  bool done() const { return at_ == args_.size(); }
  bool at_flag() const { return !is_value(args_[at_]); }
  const std::string& positional() { return args_[at_++]; }

  base::Result<Use> flag() {
    const std::string& arg = args_[at_++];
    Use use;
    std::string_view name = arg;
    std::optional<std::string> inline_value;
    if (const size_t equals = name.find('='); equals != std::string_view::npos) {
      inline_value = std::string(name.substr(equals + 1));
      name = name.substr(0, equals);
    }
    // --kv-transfer-config.kv_role X sets a member of a JSON flag.
    const size_t dot = name.find('.');
    const bool member = dot != std::string_view::npos;
    if (member) name = name.substr(0, dot);

    const Flag* known = nullptr;
    if (name.starts_with("--")) {
      name.remove_prefix(2);
      known = find_flag(name);
      if (known == nullptr && name.size() > 3 &&
          (name.starts_with("no-") || name.starts_with("no_"))) {
        known = find_flag(name.substr(3));
        if (known != nullptr && known->arity != Arity::kBool) known = nullptr;
        use.negated = known != nullptr;
      }
    } else {
      name.remove_prefix(1);
      if (name.size() > 1 && name[0] == 'O') {  // -O3
        inline_value = std::string(name.substr(1));
        name = "O";
      }
      known = find_flag(long_name(name));
    }
    if (known == nullptr) return unknown(arg, name);
    use.name = known->name;
    if (auto done = read_values(use, member ? Arity::kOne : known->arity, inline_value, arg);
        !done) {
      return done.error();
    }
    return use;
  }

 private:
  base::Result<> read_values(Use& use, Arity arity, const std::optional<std::string>& inline_value,
                             std::string_view arg) {
    const bool next_is_value = at_ < args_.size() && is_value(args_[at_]);
    if (arity == Arity::kSwitch || arity == Arity::kBool) {
      if (!inline_value) return {};
      if (arity == Arity::kBool && (*inline_value == "true" || *inline_value == "True")) return {};
      if (arity == Arity::kBool && (*inline_value == "false" || *inline_value == "False")) {
        use.negated = !use.negated;
        return {};
      }
      return base::invalid_argument(
          fmt::format("--{} takes no value, got '{}'", use.name, *inline_value));
    }
    if (inline_value) {
      use.values.push_back(*inline_value);
      if (arity != Arity::kMany) return {};
    } else if (!next_is_value) {
      if (arity == Arity::kOptional) return {};
      return base::invalid_argument(fmt::format("{} needs a value", arg));
    }
    if (arity == Arity::kMany) {
      while (at_ < args_.size() && is_value(args_[at_])) use.values.push_back(args_[at_++]);
    } else {
      use.values.push_back(args_[at_++]);
    }
    return {};
  }

  std::span<const std::string> args_;
  size_t at_ = 0;
};

base::Result<> apply(Draft& draft, const Use& use) {
  for (const Setting& setting : kSettings) {
    if (setting.name != use.name) continue;
    if (auto done = setting.apply(draft, use); !done) {
      return done.error().wrap(fmt::format("--{}", use.name));
    }
    return {};
  }
  auto& ignored = draft.config.ignored_flags;
  std::string flag = fmt::format("--{}", use.name);
  if (std::find(ignored.begin(), ignored.end(), flag) == ignored.end()) {
    ignored.push_back(std::move(flag));
  }
  return {};
}

base::Result<EngineConfig> settle(Draft draft) {
  EngineConfig& c = draft.config;
  auto profile = load_profile(draft.profile);
  if (!profile) return profile.error().wrap("--sim-profile");
  c.profile = std::move(*profile);
  engine_model::ModelConfig& m = c.model_config;
  c.num_gpu_blocks_given = draft.num_gpu_blocks.has_value();
  m.num_gpu_blocks = draft.num_gpu_blocks.value_or(num_gpu_blocks(c.profile, m.block_size));
  m.max_num_seqs = draft.max_num_seqs.value_or(c.profile.max_num_seqs);
  m.max_num_batched_tokens =
      draft.max_num_batched_tokens.value_or(c.profile.max_num_batched_tokens);

  const uint64_t room = uint64_t{m.num_gpu_blocks - 1} * m.block_size;
  if (draft.max_model_len && *draft.max_model_len > room) {
    return base::invalid_argument(
        fmt::format("--max-model-len {} does not fit the KV cache: {} blocks of {} tokens hold {}; "
                    "lower it or raise --num-gpu-blocks-override",
                    *draft.max_model_len, m.num_gpu_blocks, m.block_size, room));
  }
  c.max_model_len = draft.max_model_len.value_or(
      static_cast<uint32_t>(std::min<uint64_t>(c.profile.max_model_len, room)));
  if (!m.enable_chunked_prefill && m.max_num_batched_tokens < c.max_model_len) {
    if (draft.max_num_batched_tokens) {
      return base::invalid_argument(fmt::format(
          "--max-num-batched-tokens {} is smaller than the model length {}: without chunked "
          "prefill a step must hold a whole prompt",
          m.max_num_batched_tokens, c.max_model_len));
    }
    m.max_num_batched_tokens = c.max_model_len;
  }
  if (c.enable_lora) {
    m.max_loras = c.max_loras;
  } else if (!c.lora_modules.empty()) {
    return base::invalid_argument("--lora-modules requires --enable-lora");
  }
  if (c.lora_modules.size() > kAdaptersMax) {
    return base::invalid_argument(fmt::format("--lora-modules: {} adapters, at most {} are held",
                                              c.lora_modules.size(), kAdaptersMax));
  }
  if (c.enable_auto_tool_choice && c.tool_call_parser.empty()) {
    return base::invalid_argument("--enable-auto-tool-choice requires --tool-call-parser");
  }
  return std::move(c);
}

}  // namespace

Environment read_environment() {
  Environment env;
  if (const char* mode = std::getenv("VLLM_SERVER_DEV_MODE")) {
    env.server_dev_mode = std::string_view(mode) == "1";
  }
  if (const char* lora = std::getenv("VLLM_ALLOW_RUNTIME_LORA_UPDATING")) {
    env.runtime_lora_updating = std::string_view(lora) == "1" || std::string_view(lora) == "true" ||
                                std::string_view(lora) == "True";
  }
  if (const char* key = std::getenv("VLLM_API_KEY")) env.api_key = key;
  return env;
}

base::Result<EngineConfig> parse_engine_args(std::span<const std::string> args,
                                             const Environment& environment) {
  Draft draft;
  draft.config.dev_mode = environment.server_dev_mode;
  draft.config.runtime_lora_updating = environment.runtime_lora_updating;
  if (!environment.api_key.empty()) draft.config.api_keys = {environment.api_key};
  if (!args.empty() && args.front() == "serve") args = args.subspan(1);
  Reader reader(args);
  bool have_model = false;
  while (!reader.done()) {
    if (!reader.at_flag()) {
      const std::string& model = reader.positional();
      if (have_model) {
        return base::invalid_argument(
            fmt::format("unexpected argument '{}': the model is '{}'", model, draft.config.model));
      }
      draft.config.model = model;
      have_model = true;
      continue;
    }
    auto use = reader.flag();
    if (!use) return use.error();
    if (auto done = apply(draft, *use); !done) return done.error();
  }
  return settle(std::move(draft));
}

base::Result<EngineConfig> parse_engine_args(std::span<const std::string> args) {
  return parse_engine_args(args, read_environment());
}

std::string engine_help() {
  std::string out =
      "usage: fairlead engine [serve] [MODEL] [flags]\n\n"
      "A simulated inference engine with vLLM's HTTP API, flags, metrics and KV block accounting.\n"
      "Any flag of vLLM 0.20 is accepted; these mean something here:\n\n";
  for (const Setting& s : kSettings) {
    std::string left = fmt::format("--{}{}{}", s.name, s.argument.empty() ? "" : " ", s.argument);
    out += fmt::format("  {:<34} {} (default: {})\n", left, s.help, s.initial);
  }
  out +=
      "\nVLLM_SERVER_DEV_MODE=1 adds vLLM's control endpoints, VLLM_ALLOW_RUNTIME_LORA_UPDATING=1\n"
      "/v1/load_lora_adapter and /v1/unload_lora_adapter; POST /sim/faults changes faults.\n"
      "\nexamples:\n"
      "  fairlead engine --port 8001\n"
      "  fairlead engine serve meta-llama/Llama-3.1-8B --sim-profile h100-8b --max-num-seqs 64\n"
      "  fairlead engine --port 8002 --sim-speed 10 --sim-error-rate 0.05\n";
  return out;
}

}  // namespace fairlead::engine
