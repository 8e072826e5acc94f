// What vLLM checks once the body has been read: the model, the prompt against the context, and the
// sampling parameters.
#include <fmt/format.h>

#include <algorithm>

#include "base/float_text.h"
#include "protocol/request.h"

namespace fairlead::protocol {
namespace {

// vLLM's VLLMValidationError: the parameter and its value follow the message.
ApiError parameter_error(std::string_view message, std::string_view parameter,
                         std::string_view value) {
  return engine_error(400, fmt::format("{} (parameter={}, value={})", message, parameter, value),
                      std::string(parameter));
}

std::string text_of(double value) {
  std::string text;
  base::append_float(text, value);
  return text;
}

// Room for the prompt if the requested output is to fit.
int64_t prompt_limit(const GenerateRequest& request, const EngineLimits& limits) {
  return limits.max_model_len - std::max<int64_t>(request.sampling.max_tokens.value_or(0), 0);
}

Refusal check_output(const GenerateRequest& request, const EngineLimits& limits) {
  const int64_t asked = request.sampling.max_tokens.value_or(0);
  if (asked <= limits.max_model_len) return std::nullopt;
  return parameter_error(
      fmt::format("{}={} cannot be greater than max_model_len=max_total_tokens={}. Please request "
                  "fewer output tokens.",
                  request.max_tokens_field, asked, limits.max_model_len),
      request.max_tokens_field, std::to_string(asked));
}

ApiError empty_conversation() {
  return engine_error(400,
                      "Cannot apply chat template to an empty conversation. Provide at least one "
                      "message.");
}

ApiError unsupported_part(const EngineLimits& limits, std::string_view part) {
  return engine_error(400, fmt::format("{} is not a multimodal model: it takes no part of type {}",
                                       limits.served_names.front(), part));
}

Refusal check_penalties(const Sampling& sampling) {
  const auto outside = [](double value) { return !(value >= -2 && value <= 2); };
  if (outside(sampling.presence_penalty)) {
    return engine_error(400, fmt::format("presence_penalty must be in [-2, 2], got {}.",
                                         text_of(sampling.presence_penalty)));
  }
  if (outside(sampling.frequency_penalty)) {
    return engine_error(400, fmt::format("frequency_penalty must be in [-2, 2], got {}.",
                                         text_of(sampling.frequency_penalty)));
  }
  if (sampling.repetition_penalty <= 0) {
    return engine_error(400, fmt::format("repetition_penalty must be greater than zero, got {}.",
                                         text_of(sampling.repetition_penalty)));
  }
  return std::nullopt;
}

Refusal check_randomness(const Sampling& sampling) {
  if (sampling.temperature && *sampling.temperature < 0) {
    const std::string value = text_of(*sampling.temperature);
    return parameter_error(fmt::format("temperature must be non-negative, got {}.", value),
                           "temperature", value);
  }
  if (sampling.top_p && !(*sampling.top_p > 0 && *sampling.top_p <= 1)) {
    const std::string value = text_of(*sampling.top_p);
    return parameter_error(fmt::format("top_p must be in (0, 1], got {}.", value), "top_p", value);
  }
  if (sampling.top_k && *sampling.top_k < -1) {
    return engine_error(
        400, fmt::format("top_k must be 0 (disable), or at least 1, got {}.", *sampling.top_k));
  }
  if (sampling.min_p && !(*sampling.min_p >= 0 && *sampling.min_p <= 1)) {
    return engine_error(400,
                        fmt::format("min_p must be in [0, 1], got {}.", text_of(*sampling.min_p)));
  }
  return std::nullopt;
}

Refusal check_lengths(const Sampling& sampling, int64_t max_tokens) {
  if (max_tokens < 1) {
    return parameter_error(fmt::format("max_tokens must be at least 1, got {}.", max_tokens),
                           "max_tokens", std::to_string(max_tokens));
  }
  if (sampling.min_tokens < 0) {
    return engine_error(400, fmt::format("min_tokens must be greater than or equal to 0, got {}.",
                                         sampling.min_tokens));
  }
  if (sampling.min_tokens > max_tokens) {
    return engine_error(
        400, fmt::format("min_tokens must be less than or equal to max_tokens={}, got {}.",
                         max_tokens, sampling.min_tokens));
  }
  return std::nullopt;
}

Refusal check_logprobs(const Sampling& sampling, const EngineLimits& limits) {
  if (!sampling.logprobs || *sampling.logprobs <= limits.max_logprobs || limits.max_logprobs < 0) {
    return std::nullopt;
  }
  return parameter_error(
      fmt::format("Requested sample logprobs of {}, which is greater than max allowed: {}",
                  *sampling.logprobs, limits.max_logprobs),
      "logprobs", std::to_string(*sampling.logprobs));
}

constexpr int64_t kSequencesMax = 16'384;
constexpr double kGreedyBelow = 1e-5;

}  // namespace

Refusal check_model(std::string_view model, const EngineLimits& limits) {
  const auto& names = limits.served_names;
  if (model.empty() || std::find(names.begin(), names.end(), model) != names.end()) {
    return std::nullopt;
  }
  return engine_error(404, fmt::format("The model `{}` does not exist.", model), "model");
}

Refusal check_chat(const ChatRequest& request, const EngineLimits& limits) {
  const Conversation& conversation = request.conversation;
  if (request.tool_choice == ToolChoice::kAuto && !limits.auto_tool_choice) {
    return engine_error(400,
                        "\"auto\" tool choice requires --enable-auto-tool-choice and "
                        "--tool-call-parser to be set");
  }
  if (auto refusal = check_output(request, limits)) return refusal;
  if (!request.unsupported_part.empty()) {
    return unsupported_part(limits, request.unsupported_part);
  }
  if (conversation.messages.empty()) {
    return empty_conversation();
  }
  if (conversation.continue_final_message && conversation.add_generation_prompt) {
    return engine_error(
        400,
        "continue_final_message and add_generation_prompt are not compatible. Use "
        "continue_final_message when you want the model to continue the final "
        "message, and add_generation_prompt when you want to add a header that will "
        "prompt it to start a new assistant message instead.");
  }
  return std::nullopt;
}

Refusal check_completion(const CompletionRequest& request, const EngineLimits& limits) {
  if (!request.suffix.empty()) return engine_error(400, "suffix is not currently supported");
  if (auto refusal = check_output(request, limits)) return refusal;
  if (request.prompts.empty()) return engine_error(400, "please provide at least one prompt");
  return std::nullopt;
}

Refusal check_embedding(const EmbeddingRequest& request, const EngineLimits& limits) {
  const std::string& model = limits.served_names.front();
  if (request.dimensions) {
    const auto& shorter = limits.matryoshka_dimensions;
    if (!limits.is_matryoshka) {
      return engine_error(400, fmt::format("Model \"{}\" does not support matryoshka "
                                           "representation, changing output dimensions will lead "
                                           "to poor results.",
                                           model));
    }
    if (!shorter.empty() &&
        std::find(shorter.begin(), shorter.end(), *request.dimensions) == shorter.end()) {
      return engine_error(
          400,
          fmt::format("Model \"{}\" only supports [{}] matryoshka dimensions, use other output "
                      "dimensions will lead to poor results.",
                      model, fmt::join(shorter, ", ")));
    }
    if (*request.dimensions < 1) return engine_error(400, "Dimensions must be greater than 0");
    if (*request.dimensions > limits.embedding_size) {
      return engine_error(400, fmt::format("Dimensions must be at most {}, got {}",
                                           limits.embedding_size, *request.dimensions));
    }
  }
  if (!request.unsupported_part.empty()) {
    return unsupported_part(limits, request.unsupported_part);
  }
  if (const auto* chat = std::get_if<Conversation>(&request.input)) {
    if (chat->messages.empty()) return empty_conversation();
    return std::nullopt;
  }
  if (std::get<std::vector<Prompt>>(request.input).empty()) {
    return engine_error(400, "please provide at least one prompt");
  }
  return std::nullopt;
}

Refusal check_prompt(const GenerateRequest& request, const EngineLimits& limits,
                     std::vector<TokenId>& prompt) {
  const int64_t limit = prompt_limit(request, limits);
  if (const auto cut = request.truncate_prompt_tokens) {
    if (*cut > limit || *cut < -1) {
      return parameter_error(
          fmt::format("truncate_prompt_tokens={} cannot be greater than max_model_len - {} = {}. "
                      "Please request a smaller truncation size.",
                      *cut, request.max_tokens_field, limit),
          "truncate_prompt_tokens", std::to_string(*cut));
    }
    const size_t keep = static_cast<size_t>(*cut == -1 ? limit : *cut);
    if (prompt.size() > keep) prompt.erase(prompt.begin(), prompt.end() - static_cast<long>(keep));
  }
  if (prompt.empty()) return engine_error(400, "The decoder prompt cannot be empty");
  if (static_cast<int64_t>(prompt.size()) > limit) {
    // It stops counting at one token too many.
    const int64_t output = limits.max_model_len - limit;
    return parameter_error(
        fmt::format(
            "This model's maximum context length is {} tokens. However, you requested {} "
            "output tokens and your prompt contains at least {} input tokens, for a total of "
            "at least {} tokens. Please reduce the length of the input prompt or the number "
            "of requested output tokens.",
            limits.max_model_len, output, limit + 1, limits.max_model_len + 1),
        "input_tokens", std::to_string(limit + 1));
  }
  const TokenId largest = *std::max_element(prompt.begin(), prompt.end());
  if (largest < limits.vocabulary) return std::nullopt;
  return engine_error(400, fmt::format("Token id {} is out of vocabulary", largest));
}

int64_t output_limit(const GenerateRequest& request, size_t prompt_tokens,
                     const EngineLimits& limits) {
  const int64_t left = limits.max_model_len - static_cast<int64_t>(prompt_tokens);
  return std::min(request.sampling.max_tokens.value_or(left), left);
}

Refusal check_sampling(const GenerateRequest& request, size_t prompt_tokens,
                       const EngineLimits& limits) {
  const Sampling& sampling = request.sampling;
  if (sampling.n < 1) {
    return engine_error(400, fmt::format("n must be at least 1, got {}.", sampling.n));
  }
  if (sampling.n > kSequencesMax) {
    return engine_error(400,
                        fmt::format("n must be at most {}, got {}. To increase this limit, set "
                                    "the VLLM_MAX_N_SEQUENCES environment variable.",
                                    kSequencesMax, sampling.n));
  }
  if (auto refusal = check_penalties(sampling)) return refusal;
  if (auto refusal = check_randomness(sampling)) return refusal;
  const int64_t max_tokens = request.echo_only ? 1 : output_limit(request, prompt_tokens, limits);
  if (auto refusal = check_lengths(sampling, max_tokens)) return refusal;
  const auto empty = [](const std::string& stop) { return stop.empty(); };
  if (std::any_of(sampling.stop.begin(), sampling.stop.end(), empty)) {
    return engine_error(400, "stop cannot contain an empty string.");
  }
  if (sampling.n > 1 && sampling.temperature.value_or(1) < kGreedyBelow) {
    return engine_error(400,
                        fmt::format("n must be 1 when using greedy sampling, got {}.", sampling.n));
  }
  return check_logprobs(sampling, limits);
}

}  // namespace fairlead::protocol
