#include "engine/parse_args.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/arg_values.h"
#include "engine/flag_table.h"
#include "engine/profile_file.h"

namespace fairlead::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Splits at blanks; quotes are not needed here.
base::Result<EngineConfig> parse(const std::string& line, const Environment& env = {}) {
  std::istringstream words(line);
  std::vector<std::string> args;
  for (std::string word; words >> word;) args.push_back(word);
  return parse_engine_args(args, env);
}

EngineConfig parsed(const std::string& line, const Environment& env = {}) {
  auto config = parse(line, env);
  if (!config) ADD_FAILURE() << line << ": " << config.error().describe();
  return config ? *config : EngineConfig{};
}

std::string refusal(const std::string& line) {
  auto config = parse(line);
  return config ? "accepted" : config.error().describe();
}

TEST(ParseArgs, HasDefaultsOfVllm) {
  const EngineConfig c = parsed("");
  EXPECT_EQ(c.model, "Qwen/Qwen3-0.6B");
  EXPECT_EQ(c.served_name(), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(c.host, "");
  EXPECT_EQ(c.port, 8000);
  EXPECT_EQ(c.model_config.block_size, 16u);
  EXPECT_EQ(c.model_config.max_num_seqs, 256u);
  EXPECT_EQ(c.model_config.max_num_batched_tokens, 2048u);
  EXPECT_TRUE(c.model_config.enable_prefix_caching);
  EXPECT_TRUE(c.model_config.enable_chunked_prefill);
  EXPECT_EQ(c.max_model_len, 40'960u);
  EXPECT_EQ(c.output_len, 128u);
  EXPECT_FALSE(c.enable_prompt_tokens_details);
  EXPECT_FALSE(c.dev_mode);
  EXPECT_THAT(c.ignored_flags, IsEmpty());
}

TEST(ParseArgs, ReadsLoraFlagsAsVllm) {
  const EngineConfig c = parsed(
      R"(--enable-lora --max-loras 4 --max-lora-rank 64 --lora-modules sql=/a {"name":"poet",)"
      R"("path":"org/poet","base_model_name":"other"})");
  EXPECT_TRUE(c.enable_lora);
  EXPECT_EQ(c.model_config.max_loras, 4u);
  ASSERT_EQ(c.lora_modules.size(), 2u);
  EXPECT_EQ(c.lora_modules[0].name, "sql");
  EXPECT_EQ(c.lora_modules[0].path, "/a");
  EXPECT_EQ(c.lora_modules[1].path, "org/poet");
  EXPECT_EQ(c.lora_modules[1].base_model_name, "other");
  EXPECT_THAT(c.ignored_flags, ElementsAre("--max-lora-rank"));
  EXPECT_EQ(parsed("--max-loras 4").model_config.max_loras, 0u) << "not enabled";
  EXPECT_TRUE(parsed("", {.runtime_lora_updating = true}).runtime_lora_updating);
  EXPECT_THAT(refusal("--lora-modules sql=/a"), HasSubstr("requires --enable-lora"));
  for (const char* value : {"sql", "=/a", "sql=", R"({"name":"sql"})", "a=/a a=/b"}) {
    EXPECT_THAT(refusal(std::string("--enable-lora --lora-modules ") + value),
                HasSubstr("--lora-modules"))
        << value;
  }
  EXPECT_THAT(refusal("--enable-lora --max-loras 0"), HasSubstr("--max-loras"));
}

TEST(ParseArgs, ReadsPoolingFlagsAsVllm) {
  EXPECT_EQ(parsed("").runner, Runner::kGenerate);
  EXPECT_EQ(parsed("--runner pooling").runner, Runner::kPooling);
  EXPECT_EQ(parsed("--runner auto").runner, Runner::kGenerate);
  EXPECT_THAT(refusal("--runner draft"), HasSubstr("--runner: 'draft'"));
  EXPECT_EQ(parsed("--sim-embedding-size 4096").embedding_size, 4096u);
  EXPECT_THAT(refusal("--sim-embedding-size 0"), HasSubstr("--sim-embedding-size"));
  const EngineConfig c = parsed(R"(--hf-overrides {"matryoshka_dimensions":[128,256]})");
  EXPECT_TRUE(c.is_matryoshka);
  EXPECT_THAT(c.matryoshka_dimensions, ElementsAre(128, 256));
  EXPECT_FALSE(parsed(R"(--hf-overrides {"is_matryoshka":false,"rope":1})").is_matryoshka);
  EXPECT_THAT(refusal("--hf-overrides {"), HasSubstr("--hf-overrides"));
}

TEST(ParseArgs, TakesTheModelInEveryPlace) {
  EXPECT_EQ(parsed("serve org/a --port 1").model, "org/a");
  EXPECT_EQ(parsed("--port 1 org/a").model, "org/a");
  EXPECT_EQ(parsed("--model org/a").model, "org/a");
  EXPECT_EQ(parsed("--model=org/a").model, "org/a");
  EXPECT_EQ(parsed("serve").model, "Qwen/Qwen3-0.6B");
  EXPECT_THAT(refusal("serve a b"), HasSubstr("unexpected argument 'b'"));
}

TEST(ParseArgs, TakesRealCommandLines) {
  const EngineConfig a = parsed(
      "serve Qwen/Qwen3-32B --host 0.0.0.0 --port 8000 --tensor-parallel-size 2 "
      "--gpu-memory-utilization 0.95 --max-model-len 32768 --enable-prefix-caching "
      "--kv-events-config {\"enable_kv_cache_events\":true} --enforce-eager "
      "--kv-transfer-config {\"kv_connector\":\"NixlConnector\"} --disable-log-requests "
      "--uvicorn-log-level warning -tp 2 -O3 --served-model-name qwen alias --seed -1 "
      "--trust-remote-code --no-enable-log-requests --kv-transfer-config.kv_role kv_both "
      "--hf-token --cudagraph-capture-sizes 1 2 4 --lora-target-modules q_proj v_proj");
  EXPECT_EQ(a.max_model_len, 32'768u);
  EXPECT_THAT(a.served_model_names, ElementsAre("qwen", "alias"));
  EXPECT_EQ(a.served_name(), "qwen");
  EXPECT_EQ(a.gpu_memory_utilization, "0.95");
  EXPECT_THAT(
      a.ignored_flags,
      ElementsAre("--tensor-parallel-size", "--kv-events-config", "--enforce-eager",
                  "--kv-transfer-config", "--disable-log-requests", "--uvicorn-log-level",
                  "--optimization-level", "--seed", "--trust-remote-code", "--enable-log-requests",
                  "--hf-token", "--cudagraph-capture-sizes", "--lora-target-modules"));
  EXPECT_EQ(parsed("--max_model_len 1k --max-num-batched-tokens 4K").max_model_len, 1000u);
  EXPECT_EQ(parsed("--max-num-batched-tokens 4K").model_config.max_num_batched_tokens, 4096u);
  EXPECT_EQ(parsed("--max-model-len auto").max_model_len, 40'960u);
  EXPECT_FALSE(parsed("--no-enable-prefix-caching").model_config.enable_prefix_caching);
  EXPECT_FALSE(parsed("--enable-prefix-caching=False").model_config.enable_prefix_caching);
}

TEST(ParseArgs, AcceptsEveryFlagOfTheTableWithItsArity) {
  for (const Flag& flag : all_flags()) {
    std::vector<std::string> args = {"--" + std::string(flag.name)};
    if (flag.arity == Arity::kOne || flag.arity == Arity::kMany) args.push_back("1");
    if (flag.name == "tool-call-parser" || flag.name == "enable-auto-tool-choice") continue;
    if (flag.name.starts_with("sim-") || flag.name == "block-size") continue;
    if (flag.name == "num-gpu-blocks-override") args.back() = "100";
    if (flag.name == "runner") args.back() = "auto";
    if (flag.name == "lora-modules") {
      args.back() = "name=path";
      args.emplace_back("--enable-lora");
    }
    auto config = parse_engine_args(args, {});
    EXPECT_TRUE(config.ok()) << flag.name << ": " << config.error().describe();
    EXPECT_EQ(find_flag(flag.name), &flag);
    if (flag.arity == Arity::kBool) {
      EXPECT_TRUE(parse("--no-" + std::string(flag.name)).ok()) << flag.name;
    }
  }
}

TEST(ParseArgs, SuggestsTheRightFlag) {
  EXPECT_THAT(refusal("--max-num-seq 3"), HasSubstr("did you mean --max-num-seqs?"));
  EXPECT_THAT(refusal("--sim-sped 3"), HasSubstr("did you mean --sim-speed?"));
  EXPECT_THAT(refusal("--xyzzy"), ::testing::Eq("unknown flag --xyzzy"));
  EXPECT_THAT(refusal("--no-port"), HasSubstr("unknown flag --no-port"));
  EXPECT_THAT(refusal("-zz 3"), HasSubstr("unknown flag -zz"));
}

TEST(ParseArgs, NamesFlagValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal("--port 65536"), "--port: '65536' is not a whole number from 0 to 65535");
  EXPECT_EQ(parsed("--port 65535").port, 65'535);
  EXPECT_THAT(refusal("--port"), HasSubstr("--port needs a value"));
  EXPECT_THAT(refusal("--port --host x"), HasSubstr("--port needs a value"));
  EXPECT_THAT(refusal("--sim-error-rate 1.1"), HasSubstr("'1.1' is not a number from 0 to 1"));
  EXPECT_THAT(refusal("--sim-refuse soon"), HasSubstr("--sim-refuse"));
  EXPECT_THAT(refusal("--disable-log-stats=1"), HasSubstr("takes no value"));
  EXPECT_THAT(refusal("--enable-auto-tool-choice"), HasSubstr("requires --tool-call-parser"));
  EXPECT_THAT(refusal("--sim-profile /none"), HasSubstr("rtx3060-qwen3-0.6b, h100-8b"));
}

TEST(ParseArgs, FitsTheModelLengthToTheKvCache) {
  EXPECT_EQ(parsed("--num-gpu-blocks-override 40").max_model_len, 39u * 16);
  EXPECT_EQ(parsed("--num-gpu-blocks-override 40 --max-model-len 624").max_model_len, 624u);
  EXPECT_THAT(refusal("--num-gpu-blocks-override 40 --max-model-len 625"),
              HasSubstr("does not fit the KV cache"));
}

TEST(ParseArgs, WithoutChunkedPrefillAStepHoldsAWholePrompt) {
  const EngineConfig c = parsed("--no-enable-chunked-prefill --max-model-len 8192");
  EXPECT_EQ(c.model_config.max_num_batched_tokens, 8192u);
  EXPECT_THAT(refusal("--no-enable-chunked-prefill --max-model-len 8192 "
                      "--max-num-batched-tokens 8191"),
              HasSubstr("smaller than the model length"));
}

TEST(ParseArgs, TakesLimitsFromTheProfile) {
  const EngineConfig c = parsed("--sim-profile h100-8b");
  EXPECT_EQ(c.profile.name, "h100-8b");
  EXPECT_EQ(c.model_config.max_num_seqs, 1024u);
  EXPECT_EQ(c.model_config.max_num_batched_tokens, 8192u);
  EXPECT_EQ(c.model_config.num_gpu_blocks, 26'988u);
}

TEST(ParseArgs, ReadsTheEnvironment) {
  const EngineConfig c = parsed("", {.server_dev_mode = true, .api_key = "k"});
  EXPECT_TRUE(c.dev_mode);
  EXPECT_THAT(c.api_keys, ElementsAre("k"));
  EXPECT_THAT(parsed("--api-key a b", {.api_key = "k"}).api_keys, ElementsAre("a", "b"));
}

TEST(ParseArgs, HelpShowsEverySimulationFlag) {
  const std::string help = engine_help();
  for (const Flag& flag : all_flags()) {
    if (flag.name.starts_with("sim-")) EXPECT_THAT(help, HasSubstr("--" + std::string(flag.name)));
  }
}

TEST(ProfileFile, ChangesABuiltinProfile) {
  auto profile = parse_profile("base: h100-8b\nname: mine\nkv_cache: 1GiB\nstep_overhead: 400us\n");
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  EXPECT_EQ(profile->name, "mine");
  EXPECT_EQ(profile->kv_cache, base::Bytes(1u << 30));
  EXPECT_EQ(profile->step_overhead, std::chrono::microseconds(400));
  EXPECT_EQ(profile->max_num_seqs, 1024u);
}

TEST(ProfileFile, NamesLineAndMember) {
  auto unknown = parse_profile("name: mine\nweigths: 1GiB\n");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().describe(), HasSubstr("line 2"));
  EXPECT_THAT(unknown.error().describe(), HasSubstr("weights"));
  auto base = parse_profile("base: a100\n");
  ASSERT_FALSE(base.ok());
  EXPECT_THAT(base.error().describe(), HasSubstr("h100-8b"));
  EXPECT_FALSE(parse_profile("- a\n").ok());
  EXPECT_FALSE(parse_profile("flops_per_second: 0\n").ok());
}

TEST(ProfileFile, IsReadFromDisk) {
  const std::string path = ::testing::TempDir() + "/engine_profile_test.yaml";
  std::ofstream(path) << "base: h100-8b\nmax_num_seqs: 7\n";
  EXPECT_EQ(parsed("--sim-profile " + path).model_config.max_num_seqs, 7u);
  std::filesystem::remove(path);
}

TEST(ArgValues, ReadHumanNumbers) {
  EXPECT_EQ(*parse_human_int("12", {}), 12);
  EXPECT_EQ(*parse_human_int("1k", {}), 1000);
  EXPECT_EQ(*parse_human_int("1K", {}), 1024);
  EXPECT_EQ(*parse_human_int("25.6k", {}), 25'600);
  EXPECT_EQ(*parse_human_int("2m", {}), 2'000'000);
  EXPECT_EQ(*parse_human_int("1T", {}), int64_t{1} << 40);
  for (const char* bad : {"", "k", "1.5", "1.5K", "1kk", "-1k", "9999999999999999999", "0x10"}) {
    EXPECT_FALSE(parse_human_int(bad, {}).ok()) << bad;
  }
}

TEST(Faults, AreMergedMemberByMember) {
  auto json = codec::parse_json(R"({"error_rate":0.5,"hang":true,"refuse":"2s"})");
  auto faults = merge_faults(Faults{.error_status = 503}, *json);
  ASSERT_TRUE(faults.ok());
  EXPECT_EQ(faults->error_rate, 0.5);
  EXPECT_TRUE(faults->hang);
  EXPECT_EQ(faults->refuse, std::chrono::seconds(2));
  EXPECT_EQ(faults->error_status, 503);
  auto again = merge_faults(Faults{}, *codec::parse_json(to_json(*faults)));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_json(*again), to_json(*faults));
  for (const char* bad : {R"([])", R"({"hung":true})", R"({"hang":1})", R"({"error_rate":1.5})",
                          R"({"error_status":200})", R"({"slow_factor":0})", R"({"refuse":"x"})",
                          R"({"reset_after_chunks":-1})"}) {
    EXPECT_FALSE(merge_faults(Faults{}, *codec::parse_json(bad)).ok()) << bad;
  }
}

}  // namespace
}  // namespace fairlead::engine
