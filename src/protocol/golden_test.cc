// What a real vLLM 0.20.2 answered is written again from its parts and compared byte for byte, and
// what it refused is refused in its words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "protocol/chat_template.h"
#include "protocol/engine_metrics.h"
#include "protocol/fixture.h"
#include "protocol/metrics_text.h"
#include "protocol/request.h"
#include "protocol/response.h"
#include "protocol/stream.h"

namespace fairlead::protocol {
namespace {

using codec::Json;

Json parsed_json(std::string_view text) {
  auto json = codec::parse_json(text);
  EXPECT_TRUE(json.ok()) << text;
  return json ? std::move(*json) : Json();
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr ? "" : value->as_string();
}

AnswerHead head_of(const Json& json) {
  return {text_of(json, "id"), json.find("created")->as_int(), text_of(json, "model")};
}

std::optional<Usage> usage_of(const Json& json) {
  const Json* usage = json.find("usage");
  if (usage == nullptr || usage->is_null()) return std::nullopt;
  Usage out{.prompt_tokens = usage->find("prompt_tokens")->as_int(),
            .completion_tokens = usage->find("completion_tokens")->as_int()};
  const Json* details = usage->find("prompt_tokens_details");
  if (details != nullptr && details->is_object()) {
    out.cached_tokens = details->find("cached_tokens")->as_int();
  }
  return out;
}

std::optional<Finish> finish_of(const Json& choice) {
  const std::string reason = text_of(choice, "finish_reason");
  if (reason.empty()) return std::nullopt;
  EXPECT_TRUE(reason == "length" || reason == "stop");
  return Finish{reason == "length" ? FinishReason::kLength : FinishReason::kStop};
}

std::optional<std::vector<TokenId>> ids_of(const Json& object, std::string_view key) {
  const Json* ids = object.find(key);
  if (ids == nullptr || ids->is_null()) return std::nullopt;
  std::vector<TokenId> out;
  for (const Json& id : ids->items()) out.push_back(static_cast<TokenId>(id.as_int()));
  return out;
}

TokenLogprob::Choice choice_of(const Json& token) {
  return {text_of(token, "token"), token.find("logprob")->as_double()};
}

std::optional<std::vector<TokenLogprob>> logprobs_of(const Json& choice) {
  const Json* logprobs = choice.find("logprobs");
  if (logprobs->is_null()) return std::nullopt;
  std::vector<TokenLogprob> out;
  for (const Json& token : logprobs->find("content")->items()) {
    TokenLogprob& added = out.emplace_back(TokenLogprob{choice_of(token), {}});
    for (const Json& top : token.find("top_logprobs")->items()) added.top.push_back(choice_of(top));
  }
  return out;
}

Answer answer_of(const Json& json) {
  Answer answer{.head = head_of(json),
                .choices = {},
                .usage = *usage_of(json),
                .prompt_token_ids = ids_of(json, "prompt_token_ids"),
                .kv_transfer_params = *json.find("kv_transfer_params")};
  for (const Json& choice : json.find("choices")->items()) {
    const Json* message = choice.find("message");
    answer.choices.push_back(
        {.text = message == nullptr ? text_of(choice, "text") : text_of(*message, "content"),
         .finish = *finish_of(choice),
         .tool_calls = {},
         .logprobs = logprobs_of(choice),
         .token_ids = ids_of(choice, "token_ids"),
         .prompt_token_ids = ids_of(choice, "prompt_token_ids")});
  }
  return answer;
}

void append_chat_event(std::string& out, const Json& event) {
  const ChatStream stream(head_of(event));
  const auto usage = usage_of(event);
  if (event.find("choices")->items().empty()) return stream.usage(out, *usage);
  const Json& choice = event.find("choices")->items()[0];
  const auto index = static_cast<uint32_t>(choice.find("index")->as_int());
  if (choice.find("delta")->find("role") != nullptr) {
    return stream.role(out, index, {.usage = usage});
  }
  const std::string text = text_of(*choice.find("delta"), "content");
  stream.delta(out, {.index = index, .text = text, .finish = finish_of(choice), .usage = usage});
}

void append_completion_event(std::string& out, const Json& event) {
  const CompletionStream stream(head_of(event));
  const Json& choice = event.find("choices")->items()[0];
  const std::string text = text_of(choice, "text");
  stream.delta(out, {.index = static_cast<uint32_t>(choice.find("index")->as_int()),
                     .text = text,
                     .finish = finish_of(choice)});
}

TEST(Golden, WritesEveryAnswerByteForByte) {
  int compared = 0;
  for (const Exchange& exchange : recorded_exchanges()) {
    if (exchange.status != 200 || !exchange.answer.starts_with("{\"id\":")) continue;
    std::string out;
    const Answer answer = answer_of(parsed_json(exchange.answer));
    exchange.path == "/v1/completions" ? append_completion(out, answer)
                                       : append_chat_completion(out, answer);
    EXPECT_EQ(out, exchange.answer) << exchange.name;
    ++compared;
  }
  EXPECT_EQ(compared, 18);
}

TEST(Golden, WritesEveryStreamByteForByte) {
  int compared = 0;
  for (const Exchange& exchange : recorded_exchanges()) {
    if (!exchange.answer.starts_with("data: ")) continue;
    std::string out;
    for (const std::string& event : events_of(exchange)) {
      exchange.path == "/v1/completions" ? append_completion_event(out, parsed_json(event))
                                         : append_chat_event(out, parsed_json(event));
    }
    append_done(out);
    EXPECT_EQ(out, exchange.answer) << exchange.name;
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

TEST(Golden, WritesTheOtherEndpointsAnswersByteForByte) {
  std::string out;
  const Json card = parsed_json(recorded("models").answer).find("data")->items()[0];
  const ModelCard model{.id = "tiny",
                        .root = "tiny-model",
                        .permission_id = text_of(card.find("permission")->items()[0], "id"),
                        .created = card.find("created")->as_int(),
                        .max_model_len = 8192};
  append_models(out, {&model, 1});
  EXPECT_EQ(std::exchange(out, ""), recorded("models").answer);

  const auto ids = *ids_of(parsed_json(recorded("tokenize prompt").answer), "tokens");
  append_tokenized(out, {ids, 8192, std::vector<std::string>{"hi", "Ġthe", "re"}});
  EXPECT_EQ(std::exchange(out, ""), recorded("tokenize prompt").answer);
  const auto chat_ids = *ids_of(parsed_json(recorded("tokenize chat").answer), "tokens");
  append_tokenized(out, {chat_ids, 8192});
  EXPECT_EQ(std::exchange(out, ""), recorded("tokenize chat").answer);

  append_detokenized(out, "()*");
  EXPECT_EQ(std::exchange(out, ""), recorded("detokenize").answer);
  append_version(out, "0.20.2");
  EXPECT_EQ(std::exchange(out, ""), recorded("version").answer);
  append_load(out, 0);
  EXPECT_EQ(std::exchange(out, ""), recorded("load").answer);
  append_is_sleeping(out, false);
  EXPECT_EQ(std::exchange(out, ""), recorded("sleep state").answer);
  append_detail(out, "Not Found");
  EXPECT_EQ(std::exchange(out, ""), recorded("error: unknown path").answer);
  append_detail(out, "Method Not Allowed");
  EXPECT_EQ(std::exchange(out, ""), recorded("error: method").answer);
}

const EngineLimits kTinyLimits{.served_names = {"tiny"},
                               .vocabulary = BuiltinTokenizer().vocabulary()};

// What an engine does with a request before it generates.
Refusal admit_chat(const std::string& body) {
  ChatRequest request;
  if (auto refusal = parse_chat(body, request)) return refusal;
  if (auto refusal = check_model(request.model, kTinyLimits)) return refusal;
  if (auto refusal = check_chat(request, kTinyLimits)) return refusal;
  std::vector<TokenId> prompt;
  BuiltinTokenizer().encode(render_chat(request.conversation), prompt);
  if (auto refusal = check_prompt(request, kTinyLimits, prompt)) return refusal;
  return check_sampling(request, prompt.size(), kTinyLimits);
}

Refusal admit_completion(const std::string& body) {
  CompletionRequest request;
  if (auto refusal = parse_completion(body, request)) return refusal;
  if (auto refusal = check_model(request.model, kTinyLimits)) return refusal;
  if (auto refusal = check_completion(request, kTinyLimits)) return refusal;
  for (const Prompt& prompt : request.prompts) {
    std::vector<TokenId> ids;
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      BuiltinTokenizer().encode(*text, ids);
    } else {
      ids = std::get<std::vector<TokenId>>(prompt);
    }
    if (auto refusal = check_prompt(request, kTinyLimits, ids)) return refusal;
    if (auto refusal = check_sampling(request, ids.size(), kTinyLimits)) return refusal;
  }
  return std::nullopt;
}

TEST(Golden, RefusesWhatVllmRefusesInItsWordsAndNothingElse) {
  int refused = 0;
  for (const Exchange& exchange : recorded_exchanges()) {
    const bool chat = exchange.path == "/v1/chat/completions";
    if (exchange.method != "POST" || (!chat && exchange.path != "/v1/completions")) continue;
    const Refusal refusal =
        chat ? admit_chat(exchange.request) : admit_completion(exchange.request);
    ASSERT_EQ(refusal.has_value(), exchange.status != 200) << exchange.name;
    if (!refusal) continue;
    std::string out;
    append_error(out, *refusal);
    EXPECT_EQ(out, exchange.answer) << exchange.name;
    EXPECT_EQ(refusal->status, exchange.status) << exchange.name;
    ++refused;
  }
  EXPECT_EQ(refused, 10);
}

TEST(Golden, KnowsEveryMetricThatTheEnginePrints) {
  const std::string text = recorded("metrics").answer;
  size_t at = 0;
  for (const EngineMetricInfo& info : engine_metrics()) {
    EXPECT_EQ(&engine_metric(info.metric), &info);
    const std::string type = info.type == EngineMetricType::kCounter ? "counter"
                             : info.type == EngineMetricType::kGauge ? "gauge"
                                                                     : "histogram";
    const std::string name(info.name);
    const std::string head =
        "# HELP " + name + " " + std::string(info.help) + "\n# TYPE " + name + " " + type + "\n";
    const size_t found = text.find(head, at);
    ASSERT_NE(found, std::string::npos) << name << " is missing or out of order";
    at = found;
    if (info.type != EngineMetricType::kHistogram) continue;
    std::string les;
    for (const double bound : engine_buckets(info.buckets, 8192)) les += fmt::format("{} ", bound);
    std::string recorded_les;
    const std::string bucket_name = name + "_bucket";
    const std::string_view names[] = {bucket_name};
    scan_metrics(text, names, [&](const MetricSample& sample) {
      const std::string le = *label_value(sample.labels, "le");
      if (le != "+Inf") recorded_les += fmt::format("{} ", std::stod(le));
    });
    EXPECT_EQ(les, recorded_les) << name;
  }
}

TEST(Golden, ReadsTheLoadOfTheEngine) {
  const EngineLoad load = read_engine_load(recorded("metrics").answer);
  EXPECT_EQ(load.running, 0);
  EXPECT_EQ(load.waiting, 0);
  EXPECT_EQ(load.cache_usage, 0);
  EXPECT_EQ(load.cache_queries, 2451);
  EXPECT_EQ(load.cache_hits, 1776);
  EXPECT_EQ(load.block_size, 16);
  EXPECT_EQ(load.blocks, 131072);
}

}  // namespace
}  // namespace fairlead::protocol
