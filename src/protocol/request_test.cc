#include "protocol/request.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::protocol {
namespace {

const EngineLimits kLimits{
    .served_names = {"m", "alias"}, .max_model_len = 100, .vocabulary = 1000};
const std::string kMessages = R"("messages":[{"role":"user","content":"hi"}])";

ChatRequest chat(const std::string& fields) {
  ChatRequest request;
  const auto refusal = parse_chat("{" + kMessages + fields + "}", request);
  EXPECT_FALSE(refusal) << refusal->message;
  return request;
}

CompletionRequest completion(const std::string& fields) {
  CompletionRequest request;
  const auto refusal = parse_completion("{\"prompt\":\"hi\"" + fields + "}", request);
  EXPECT_FALSE(refusal) << refusal->message;
  return request;
}

// The first error of a validation message.
std::string first_error(const Refusal& refusal) {
  if (!refusal) return "accepted";
  const size_t start = refusal->message.find("\n  {") + 3;
  return refusal->message.substr(start, refusal->message.find('\n', start) - start);
}
std::string chat_error(const std::string& fields) {
  ChatRequest request;
  return first_error(parse_chat("{" + kMessages + fields + "}", request));
}
std::string completion_error(const std::string& body) {
  CompletionRequest request;
  return first_error(parse_completion(body, request));
}

std::string refused(const Refusal& refusal) { return refusal ? refusal->message : "accepted"; }

TEST(ParseChat, HasVllmsDefaults) {
  const ChatRequest request = chat("");
  EXPECT_EQ(request.model, "");
  EXPECT_EQ(request.sampling.n, 1);
  EXPECT_FALSE(request.sampling.max_tokens || request.sampling.temperature ||
               request.sampling.logprobs || request.sampling.seed);
  EXPECT_FALSE(request.stream || request.include_usage || request.echo ||
               request.add_special_tokens);
  EXPECT_TRUE(request.conversation.add_generation_prompt);
  EXPECT_EQ(request.tool_choice, ToolChoice::kNone);
  EXPECT_TRUE(request.kv_transfer_params.is_null());
}

TEST(ParseChat, ReadsEveryField) {
  const ChatRequest request = chat(
      R"(,"model":"m","n":2,"stop":["a","b"],"ignore_eos":true,"min_tokens":3,"max_tokens":9,
         "max_completion_tokens":5,"stream":true,"stream_options":{"continuous_usage_stats":true},
         "cache_salt":"s","logprobs":true,"top_logprobs":2,"seed":-7,"temperature":0.5,"top_p":0.9,
         "return_token_ids":true,"kv_transfer_params":{"a":[1]},"request_id":"r","priority":4,
         "stop_token_ids":[7],"include_stop_str_in_output":true,"skip_special_tokens":false,
         "truncate_prompt_tokens":8,"unknown":{"x":1},"user":"u","echo":true)");
  EXPECT_EQ(request.sampling.n, 2);
  EXPECT_EQ(request.sampling.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.sampling.max_tokens, 5);
  EXPECT_EQ(request.max_tokens_field, "max_completion_tokens");
  EXPECT_EQ(request.sampling.min_tokens, 3);
  EXPECT_EQ(request.sampling.logprobs, 2);
  EXPECT_EQ(request.sampling.seed, -7);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.stop_token_ids, std::vector<int64_t>{7});
  EXPECT_TRUE(request.sampling.ignore_eos && request.sampling.include_stop_str_in_output);
  EXPECT_FALSE(request.sampling.skip_special_tokens);
  EXPECT_TRUE(request.stream && request.include_usage && request.continuous_usage && request.echo);
  EXPECT_EQ(request.cache_salt, "s");
  EXPECT_EQ(request.request_id, "r");
  EXPECT_EQ(request.priority, 4);
  EXPECT_EQ(request.truncate_prompt_tokens, 8);
  EXPECT_EQ(codec::to_string(request.kv_transfer_params), "{\"a\":[1]}");
}

TEST(ParseChat, ReadsUsageOptionsAsVllmDoes) {
  EXPECT_TRUE(chat(R"(,"stream":true,"stream_options":{})").include_usage);
  const ChatRequest off = chat(
      R"(,"stream":true,"stream_options":{"include_usage":false,"continuous_usage_stats":true})");
  EXPECT_FALSE(off.include_usage || off.continuous_usage);
  EXPECT_FALSE(chat(R"(,"stream":true,"stream_options":{"include_usage":null})").include_usage);
  EXPECT_EQ(
      chat_error(R"(,"stream":true,"stream_options":{"include_usage":[]})"),
      "{'type': 'bool_type', 'loc': ('body', 'stream_options', 'include_usage'), 'msg': 'Input "
      "should be a valid boolean', 'input': []}");
}

TEST(ParseChat, ReadsPartsCallsAndTools) {
  ChatRequest request;
  const auto refusal = parse_chat(
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},"b",
           {"type":"image_url","image_url":{}}]},
         {"role":"assistant","content":null,"reasoning_content":"why","tool_calls":[{"id":"1",
           "type":"function","function":{"name":"f","arguments":"{}"}},
           {"id":"2","function":{"name":"g","arguments":{"x":1.0}}}]},
         {"role":"tool","tool_call_id":"1","content":"r"}],
         "tools":[{"type":"function","function":{"name":"f"}}]})",
      request);
  ASSERT_FALSE(refusal) << refusal->message;
  const auto& messages = request.conversation.messages;
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].content, "a\nb");
  EXPECT_EQ(request.unsupported_part, "image_url");
  EXPECT_EQ(messages[1].reasoning, "why");
  ASSERT_EQ(messages[1].tool_calls.size(), 2u);
  EXPECT_EQ(messages[1].tool_calls[1].arguments, "{\"x\":1.0}");
  EXPECT_EQ(messages[2].tool_call_id, "1");
  EXPECT_EQ(request.tool_choice, ToolChoice::kAuto);
  EXPECT_EQ(request.conversation.tools[0].json, R"({"type":"function","function":{"name":"f"}})");
}

TEST(ParseChat, ConvertsWhatPydanticConverts) {
  EXPECT_EQ(chat(R"(,"max_tokens":" 5 ")").sampling.max_tokens, 5);
  EXPECT_EQ(chat(R"(,"max_tokens":5.0)").sampling.max_tokens, 5);
  EXPECT_EQ(chat(R"(,"max_tokens":true)").sampling.max_tokens, 1);
  EXPECT_EQ(chat(R"(,"temperature":"0.5")").sampling.temperature, 0.5);
  EXPECT_TRUE(chat(R"(,"stream":"Yes")").stream);
  EXPECT_TRUE(chat(R"(,"ignore_eos":1)").sampling.ignore_eos);
  EXPECT_EQ(chat(R"(,"stop":"x")").sampling.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(chat(R"(,"n":null,"stop":null,"stream":null)").sampling.n, 1);
}

TEST(ParseChat, SaysWhatIsWrongWithAField) {
  const std::pair<std::string, std::string> cases[] = {
      {R"(,"max_tokens":"x")",
       "{'type': 'int_parsing', 'loc': ('body', 'max_tokens'), 'msg': 'Input should be a valid "
       "integer, unable to parse string as an integer', 'input': 'x'}"},
      {R"(,"max_tokens":1.5)",
       "{'type': 'int_from_float', 'loc': ('body', 'max_tokens'), 'msg': 'Input should be a valid "
       "integer, got a number with a fractional part', 'input': 1.5}"},
      {R"(,"n":[1])",
       "{'type': 'int_type', 'loc': ('body', 'n'), 'msg': 'Input should be a valid integer', "
       "'input': [1]}"},
      {R"(,"temperature":"hot")",
       "{'type': 'float_parsing', 'loc': ('body', 'temperature'), 'msg': 'Input should be a valid "
       "number, unable to parse string as a number', 'input': 'hot'}"},
      {R"(,"temperature":{})",
       "{'type': 'float_type', 'loc': ('body', 'temperature'), 'msg': 'Input should be a valid "
       "number', 'input': {}}"},
      {R"(,"stream":2)",
       "{'type': 'bool_parsing', 'loc': ('body', 'stream'), 'msg': 'Input should be a valid "
       "boolean, "
       "unable to interpret input', 'input': 2}"},
      {R"(,"ignore_eos":null)",
       "{'type': 'bool_type', 'loc': ('body', 'ignore_eos'), 'msg': 'Input should be a valid "
       "boolean', 'input': None}"},
      {R"(,"model":1)",
       "{'type': 'string_type', 'loc': ('body', 'model'), 'msg': 'Input should be a valid string', "
       "'input': 1}"},
      {R"(,"kv_transfer_params":[])",
       "{'type': 'dict_type', 'loc': ('body', 'kv_transfer_params'), 'msg': 'Input should be a "
       "valid "
       "dictionary', 'input': []}"},
      {R"(,"stop":["a",1])",
       "{'type': 'string_type', 'loc': ('body', 'stop', 'str'), 'msg': 'Input should be a valid "
       "string', 'input': ['a', 1]}"}};
  for (const auto& [fields, error] : cases) EXPECT_EQ(chat_error(fields), error);
}

TEST(ParseChat, GathersAllErrorsInVllmsOrder) {
  ChatRequest request;
  const auto refusal = parse_chat(R"({"n":"x","model":3,"messages":[{"content":"a"},1]})", request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 400);
  EXPECT_TRUE(
      refusal->message.starts_with("4 validation errors:\n  {'type': 'missing', 'loc': "
                                   "('body', 'messages', 0, 'role')"))
      << refusal->message;
  EXPECT_LT(refusal->message.find("'model'"), refusal->message.find("'n'"));
}

TEST(ParseChat, RefusesByRulesBeforeItLooksAtFields) {
  const std::pair<std::string, std::string> cases[] = {
      {R"(,"n":"x","stream_options":{"include_usage":true})",
       "Stream options can only be defined when `stream=True`. (parameter=stream_options)"},
      {R"(,"top_logprobs":3)",
       "when using `top_logprobs`, `logprobs` must be set to true. (parameter=top_logprobs)"},
      {R"(,"top_logprobs":-2)",
       "`top_logprobs` must be a positive value or -1. (parameter=top_logprobs, value=-2)"},
      {R"(,"prompt_logprobs":1,"stream":true)",
       "`prompt_logprobs` are not available when `stream=True`. (parameter=prompt_logprobs)"},
      {R"(,"tools":[])", "`tools` must not be an empty array."},
      {R"(,"tool_choice":"auto")", "When using `tool_choice`, `tools` must be set."},
      {R"(,"tools":[{"function":{"name":"f"}}],"tool_choice":"x")",
       "Invalid value for `tool_choice`: x!"},
      {R"(,"tools":[{"function":{"name":"f"}}],"tool_choice":{"function":{"name":"g"}})",
       "The tool specified in `tool_choice` does not match any of the specified `tools`"},
      {R"(,"continue_final_message":true,"add_generation_prompt":true)",
       "Cannot set both `continue_final_message` and `add_generation_prompt` to True."}};
  for (const auto& [fields, message] : cases) {
    EXPECT_NE(chat_error(fields).find("Value error, " + message), std::string::npos)
        << chat_error(fields);
  }
  EXPECT_EQ(chat_error(R"(,"stream_options":{},"top_logprobs":0,"tool_choice":"none")"),
            "accepted");
}

TEST(ParseChat, NamesTheParameterThatARuleIsAbout) {
  ChatRequest request;
  const auto refusal =
      parse_chat("{" + kMessages + R"(,"stream_options":{"include_usage":true}})", request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->param, "stream_options");
  EXPECT_NE(
      refusal->message.find("'ctx': {'error': VLLMValidationError('Stream options can only be "
                            "defined when `stream=True`.')}}"),
      std::string::npos)
      << refusal->message;
}

TEST(ParseChat, ShowsTheChoiceThatToolsImplyInLaterErrors) {
  EXPECT_NE(chat_error(R"(,"tools":[{"function":{"name":"f"}}],"top_logprobs":1)")
                .find("'top_logprobs': 1, 'tool_choice': 'auto'}"),
            std::string::npos);
}

TEST(ParseChat, ReadsANamedTool) {
  const ChatRequest request = chat(
      R"(,"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"f"}})");
  EXPECT_EQ(request.tool_choice, ToolChoice::kNamed);
  EXPECT_EQ(request.tool_name, "f");
}

TEST(ParseBody, RefusesWhatIsNoJsonObject) {
  ChatRequest request;
  EXPECT_EQ(first_error(parse_chat("", request)),
            "{'type': 'missing', 'loc': ('body',), 'msg': 'Field required', 'input': None}");
  EXPECT_EQ(first_error(parse_chat("[1]", request)),
            "{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid "
            "dictionary or object to extract fields from', 'input': [1]}");
  EXPECT_EQ(refused(parse_chat("{\"a\":\"\xff\"}", request)),
            "There was an error parsing the body");
  EXPECT_EQ(refused(parse_chat("{\"a\":NaN}", request)), "There was an error parsing the body");
}

TEST(ParseCompletion, ReadsEveryFormOfPrompt) {
  const auto prompts = [](const std::string& prompt) {
    CompletionRequest request;
    const auto refusal = parse_completion("{\"prompt\":" + prompt + "}", request);
    EXPECT_FALSE(refusal) << refusal->message;
    return request.prompts;
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(prompts("\"a\""), (std::vector<Prompt>{"a"}));
  EXPECT_EQ(prompts("[\"a\",\"\"]"), (std::vector<Prompt>{"a", ""}));
  EXPECT_EQ(prompts("[1,4294967296]"), (std::vector<Prompt>{Ids{1, UINT32_MAX}}));
  EXPECT_EQ(prompts("[[1],[2,3]]"), (std::vector<Prompt>{Ids{1}, Ids{2, 3}}));
  EXPECT_EQ(prompts("[]"), (std::vector<Prompt>{}));
}

TEST(ParseCompletion, RefusesOtherPrompts) {
  for (const char* body : {"{}", "{\"prompt\":null}", "{\"prompt\":\"\"}"}) {
    EXPECT_NE(completion_error(body).find(
                  "Either prompt or prompt_embeds must be provided and non-empty."),
              std::string::npos);
  }
  for (const char* body : {"{\"prompt\":1}", "{\"prompt\":{}}", "{\"prompt\":[1,\"a\"]}",
                           "{\"prompt\":[[1],\"a\"]}"}) {
    EXPECT_TRUE(completion_error(body).starts_with(
        "{'type': 'list_type', 'loc': ('body', 'prompt', 'list[int]')"))
        << completion_error(body);
  }
  EXPECT_NE(
      completion_error(R"({"prompt":"a","logprobs":-1})").find("`logprobs` must be a positive"),
      std::string::npos);
}

TEST(ParseCompletion, GeneratesSixteenTokensUnlessToldOtherwise) {
  EXPECT_EQ(completion("").sampling.max_tokens, 16);
  EXPECT_EQ(completion(",\"max_tokens\":null").sampling.max_tokens, 16);
  EXPECT_TRUE(completion(",\"max_tokens\":0,\"echo\":true").echo_only);
  EXPECT_FALSE(completion(",\"max_tokens\":0").echo_only);
  EXPECT_TRUE(completion("").add_special_tokens);
}

TEST(ParseTokenize, TakesAPromptOrAConversation) {
  TokenizeRequest request;
  ASSERT_FALSE(parse_tokenize(R"({"prompt":"a","return_token_strs":true})", request));
  EXPECT_EQ(std::get<std::string>(request.input), "a");
  EXPECT_TRUE(request.return_token_strs && request.add_special_tokens);
  TokenizeRequest chat_request;
  ASSERT_FALSE(parse_tokenize("{" + kMessages + ",\"add_generation_prompt\":false}", chat_request));
  EXPECT_EQ(std::get<Conversation>(chat_request.input).messages.size(), 1u);
  EXPECT_FALSE(std::get<Conversation>(chat_request.input).add_generation_prompt);
  EXPECT_FALSE(chat_request.add_special_tokens);
  EXPECT_TRUE(parse_tokenize("{}", request));
}

TEST(ParseDetokenize, TakesTokenIds) {
  DetokenizeRequest request;
  ASSERT_FALSE(parse_detokenize(R"({"tokens":[1,2]})", request));
  EXPECT_EQ(request.tokens, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(first_error(parse_detokenize(R"({"tokens":[-1]})", request)),
            "{'type': 'greater_than_equal', 'loc': ('body', 'tokens', 0), 'msg': 'Input should be "
            "greater than or equal to 0', 'input': -1}");
  EXPECT_NE(first_error(parse_detokenize("{}", request)).find("'missing'"), std::string::npos);
}

TEST(CheckModel, TakesServedNamesAndNone) {
  for (const char* name : {"", "m", "alias"}) EXPECT_FALSE(check_model(name, kLimits)) << name;
  const auto refusal = check_model("M", kLimits);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 404);
}

TEST(CheckChat, NeedsTheFlagsForToolsThatTheModelMayChoose) {
  const ChatRequest request = chat(R"(,"tools":[{"function":{"name":"f"}}])");
  EXPECT_EQ(refused(check_chat(request, kLimits)),
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be "
            "set");
  EngineLimits limits = kLimits;
  limits.auto_tool_choice = true;
  EXPECT_FALSE(check_chat(request, limits));
}

TEST(CheckChat, RefusesWhatTheTemplateCannotTake) {
  EXPECT_NE(refused(check_chat(chat(R"(,"continue_final_message":true)"), kLimits))
                .find("are not compatible"),
            std::string::npos);
  ChatRequest image = chat("");
  image.unsupported_part = "image_url";
  EXPECT_NE(refused(check_chat(image, kLimits)).find("not a multimodal model"), std::string::npos);
}

TEST(CheckChat, NamesTheFieldThatAsksForTooMuch) {
  EXPECT_FALSE(check_chat(chat(R"(,"max_tokens":100)"), kLimits));
  EXPECT_EQ(refused(check_chat(chat(R"(,"max_completion_tokens":101)"), kLimits)),
            "max_completion_tokens=101 cannot be greater than max_model_len=max_total_tokens=100. "
            "Please request fewer output tokens. (parameter=max_completion_tokens, value=101)");
}

Refusal check_length(const GenerateRequest& request, size_t tokens) {
  std::vector<TokenId> prompt(tokens, 1);
  return check_prompt(request, kLimits, prompt);
}

TEST(CheckPrompt, AllowsExactlyWhatFits) {
  EXPECT_FALSE(check_length(chat(""), 100));
  EXPECT_NE(refused(check_length(chat(""), 101)).find("at least 101 input tokens"),
            std::string::npos);
  EXPECT_FALSE(check_length(completion(",\"max_tokens\":4"), 96));
  EXPECT_NE(refused(check_length(completion(",\"max_tokens\":4"), 97))
                .find("you requested 4 output tokens and your prompt contains at least 97 input"),
            std::string::npos);
  EXPECT_EQ(refused(check_length(completion(""), 0)), "The decoder prompt cannot be empty");
}

TEST(CheckPrompt, KeepsTheLastTokensWhenItCuts) {
  std::vector<TokenId> prompt = {1, 2, 3, 4};
  EXPECT_FALSE(check_prompt(chat(",\"truncate_prompt_tokens\":3"), kLimits, prompt));
  EXPECT_EQ(prompt, (std::vector<TokenId>{2, 3, 4}));
  std::vector<TokenId> much(150, 7);
  EXPECT_FALSE(
      check_prompt(chat(",\"truncate_prompt_tokens\":-1,\"max_tokens\":10"), kLimits, much));
  EXPECT_EQ(much.size(), 90u);
  EXPECT_TRUE(check_prompt(chat(",\"truncate_prompt_tokens\":101"), kLimits, prompt));
  EXPECT_TRUE(check_prompt(chat(",\"truncate_prompt_tokens\":-2"), kLimits, prompt));
}

TEST(CheckPrompt, RefusesTokensOutsideTheVocabulary) {
  std::vector<TokenId> last = {999}, past = {1, 1000};
  EXPECT_FALSE(check_prompt(chat(""), kLimits, last));
  EXPECT_EQ(refused(check_prompt(chat(""), kLimits, past)), "Token id 1000 is out of vocabulary");
}

TEST(CheckSampling, RefusesEachParameterOnePastItsLimit) {
  const auto check = [](const std::string& fields) {
    return refused(check_sampling(chat(fields), 10, kLimits));
  };
  for (const char* fields :
       {"", ",\"n\":16384", ",\"top_p\":1", ",\"top_k\":-1", ",\"min_p\":1", ",\"temperature\":0",
        ",\"presence_penalty\":-2,\"frequency_penalty\":2", ",\"max_tokens\":1",
        ",\"max_tokens\":5,\"min_tokens\":5", ",\"logprobs\":true,\"top_logprobs\":20"}) {
    EXPECT_EQ(check(fields), "accepted") << fields;
  }
  EXPECT_EQ(check(",\"n\":0"), "n must be at least 1, got 0.");
  EXPECT_TRUE(check(",\"n\":16385").starts_with("n must be at most 16384, got 16385."));
  EXPECT_EQ(check(",\"n\":2,\"temperature\":0"), "n must be 1 when using greedy sampling, got 2.");
  EXPECT_EQ(check(",\"top_p\":0"),
            "top_p must be in (0, 1], got 0.0. (parameter=top_p, value=0.0)");
  EXPECT_EQ(check(",\"top_k\":-2"), "top_k must be 0 (disable), or at least 1, got -2.");
  EXPECT_EQ(check(",\"min_p\":1.5"), "min_p must be in [0, 1], got 1.5.");
  EXPECT_EQ(check(",\"presence_penalty\":2.1"), "presence_penalty must be in [-2, 2], got 2.1.");
  EXPECT_EQ(check(",\"frequency_penalty\":-3"), "frequency_penalty must be in [-2, 2], got -3.0.");
  EXPECT_EQ(check(",\"repetition_penalty\":0"),
            "repetition_penalty must be greater than zero, got 0.0.");
  EXPECT_EQ(check(",\"min_tokens\":-1"), "min_tokens must be greater than or equal to 0, got -1.");
  EXPECT_EQ(check(",\"max_tokens\":5,\"min_tokens\":6"),
            "min_tokens must be less than or equal to max_tokens=5, got 6.");
  EXPECT_EQ(check(",\"stop\":[\"a\",\"\"]"), "stop cannot contain an empty string.");
  EXPECT_EQ(check(",\"logprobs\":true,\"top_logprobs\":21"),
            "Requested sample logprobs of 21, which is greater than max allowed: 20 "
            "(parameter=logprobs, value=21)");
}

TEST(CheckSampling, LeavesWhatThePromptDoesNotNeedToTheOutput) {
  EXPECT_EQ(output_limit(chat(""), 40, kLimits), 60);
  EXPECT_EQ(output_limit(chat(",\"max_tokens\":7"), 40, kLimits), 7);
  EXPECT_EQ(refused(check_sampling(chat(""), 100, kLimits)),
            "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)");
  EXPECT_FALSE(check_sampling(completion(",\"max_tokens\":0,\"echo\":true"), 10, kLimits));
  EXPECT_TRUE(check_sampling(completion(",\"max_tokens\":0"), 10, kLimits));
}

}  // namespace
}  // namespace fairlead::protocol
