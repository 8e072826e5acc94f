#include "engine/call.h"

#include <algorithm>

#include "base/hash.h"

namespace fairlead::engine {

using protocol::FinishReason;
using protocol::TokenId;

namespace {

constexpr std::string_view kEventStream = "text/event-stream; charset=utf-8";

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string_view bytes_of(const std::vector<TokenId>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(TokenId)};
}

}  // namespace

std::string Context::random_id() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id(16, '0');
  uint64_t bits = ids.next();
  for (char& c : id) {
    c = kDigits[bits & 15];
    bits >>= 4;
  }
  return id;
}

std::shared_ptr<const Adapter> Context::adapter_of(std::string_view model) const {
  const auto& served = limits.served_names;
  if (std::find(served.begin(), served.end(), model) != served.end()) return nullptr;
  return adapters.find(model);
}

uint64_t Context::cache_seed(const Adapter* adapter, std::string_view salt) const {
  uint64_t seed = base::hash64(config.model);
  if (adapter != nullptr) seed = base::hash64(adapter->name, seed);
  if (!salt.empty()) seed = base::hash64(salt, seed);
  return seed;
}

Call::Call(Context& context, CallKind kind, const protocol::GenerateRequest& request,
           std::optional<ToolPlan> tool, std::string id)
    : context_(context),
      kind_(kind),
      request_(request),
      tool_(std::move(tool)),
      adapter_(context.adapter_of(request.model)),
      head_(context.head(std::move(id), request.model)),
      tool_call_id_(tool_ ? "chatcmpl-tool-" + context.random_id() : std::string()),
      include_usage_(request.include_usage || context.config.enable_force_include_usage) {}

Plan Call::plan_for(const std::vector<TokenId>& prompt, uint32_t choice) const {
  const protocol::Sampling& s = request_.sampling;
  Plan plan;
  const uint64_t voice = adapter_ != nullptr ? base::hash64(adapter_->name) : 0;
  plan.seed =
      base::hash64(bytes_of(prompt), voice + static_cast<uint64_t>(s.seed.value_or(0)) + choice);
  const int64_t limit =
      request_.echo_only ? 1 : output_limit(request_, prompt.size(), context_.limits);
  plan.output_tokens_max = static_cast<uint32_t>(std::max<int64_t>(limit, 1));
  plan.min_tokens = static_cast<uint32_t>(std::max<int64_t>(s.min_tokens, 0));
  if (tool_) {
    context_.tokenizer.encode(tool_->text, plan.script);
  } else if (!s.max_tokens && !s.ignore_eos) {
    plan.stop_at =
        std::max(natural_length(plan.seed, context_.config.output_len), plan.min_tokens + 1);
  }
  plan.stop_token_ids = s.stop_token_ids;
  plan.stop_strings = s.stop;
  plan.include_stop_string = s.include_stop_str_in_output;
  plan.skip_special_tokens = s.skip_special_tokens;
  plan.keep_tokens = request_.return_token_ids || s.logprobs.has_value();
  return plan;
}

protocol::Refusal Call::submit(std::vector<CallPrompt> prompts) {
  prompts_ = std::move(prompts);
  const auto n = static_cast<size_t>(request_.sampling.n);
  if (prompts_.size() * n > kChoicesMax) {
    return protocol::engine_error(
        400, "n times the number of prompts must be at most " + std::to_string(kChoicesMax) + ".");
  }
  const uint64_t cache_seed = context_.cache_seed(adapter_.get(), request_.cache_salt);
  if (request_.stream && kind_ == CallKind::kChat) chat_.emplace(head_);
  if (request_.stream && kind_ == CallKind::kCompletion) completion_.emplace(head_);
  unfinished_ = prompts_.size() * n;
  choices_.reserve(prompts_.size() * n);
  for (size_t p = 0; p < prompts_.size(); ++p) {
    for (size_t k = 0; k < n; ++k) {
      Plan plan = plan_for(prompts_[p].tokens, static_cast<uint32_t>(k));
      const uint32_t limit = plan.output_tokens_max;
      Choice& choice = choices_.emplace_back();
      choice.prompt = p;
      choice.job = std::make_unique<Job>(context_.core, context_.tokenizer, std::move(plan));
      choice.job->index = static_cast<uint32_t>(choices_.size() - 1);
      auto added = context_.core.submit(*choice.job, {.prompt = prompts_[p].tokens,
                                                      .output_tokens_max = limit,
                                                      .cache_seed = cache_seed,
                                                      .adapter = adapter_,
                                                      .owner = this,
                                                      .every_token = request_.stream});
      if (!added) return protocol::engine_error(400, added.error().describe());
    }
  }
  return std::nullopt;
}

void Call::on_news(Job& job) {
  if (job.ended()) --unfinished_;
  if (request_.stream) {
    append_chunk(choices_[job.index]);
    flush();
  }
  if (unfinished_ == 0) changed_.notify_all();
}

protocol::Finish Call::finish_of(const Choice& choice) const {
  const Job& job = *choice.job;
  if (job.aborted) return {.reason = FinishReason::kAbort};
  const Generation& g = job.generation;
  if (g.finish() == engine_model::Finish::kLength) return {.reason = FinishReason::kLength};
  protocol::Finish finish{.reason = FinishReason::kStop};
  if (const std::string* stop = g.stop_string()) {
    finish.stop = *stop;
  } else if (auto token = g.stop_token()) {
    finish.stop = *token;
  } else if (tool_ && tool_->arguments_at > 0) {
    finish.reason = FinishReason::kToolCalls;  // a named call ends with "stop", as in vLLM
  }
  return finish;
}

protocol::Usage Call::usage() const {
  protocol::Usage usage;
  for (const CallPrompt& prompt : prompts_) {
    usage.prompt_tokens += static_cast<int64_t>(prompt.tokens.size());
  }
  for (const Choice& choice : choices_) usage.completion_tokens += choice.job->generation.tokens();
  if (const uint32_t cached = choices_.back().job->cached_tokens;
      context_.config.enable_prompt_tokens_details && cached > 0) {
    usage.cached_tokens = cached;
  }
  return usage;
}

std::optional<protocol::Usage> Call::continuous_usage(const Choice& choice, int64_t tokens) const {
  if (!include_usage_) return std::nullopt;
  if (!request_.continuous_usage && !context_.config.enable_force_include_usage)
    return std::nullopt;
  return protocol::Usage{
      .prompt_tokens = static_cast<int64_t>(prompts_[choice.prompt].tokens.size()),
      .completion_tokens = tokens};
}

// Made up, as the text is: a token's probability and its rivals follow from the token.
std::vector<protocol::TokenLogprob> Call::logprobs(std::span<const TokenId> tokens) const {
  std::vector<protocol::TokenLogprob> out;
  const int64_t alternatives =
      std::clamp<int64_t>(request_.sampling.logprobs.value_or(0), 0, kLogprobsMax);
  for (const TokenId token : tokens) {
    const uint64_t draw = base::mix64(token);
    protocol::TokenLogprob& one = out.emplace_back();
    one.token.text = protocol::decode(context_.tokenizer, std::span(&token, 1));
    one.token.logprob = -static_cast<double>(draw % 1000) / 500;
    for (int64_t k = 0; k < alternatives; ++k) {
      protocol::TokenLogprob::Choice& rival = one.top.emplace_back(one.token);
      if (k == 0) continue;
      const TokenId other = context_.tokenizer.plausible(draw + static_cast<uint64_t>(k));
      rival.text = protocol::decode(context_.tokenizer, std::span(&other, 1));
      rival.logprob -= 0.5 * static_cast<double>(k);
    }
  }
  return out;
}

void Call::record_request() const {
  uint32_t longest = 0;
  for (const Choice& c : choices_) longest = std::max(longest, c.job->generation.tokens());
  context_.metrics.request(request_.sampling.n, longest);
}

protocol::Choice Call::whole_choice(const Choice& choice) const {
  const Generation& g = choice.job->generation;
  const CallPrompt& prompt = prompts_[choice.prompt];
  protocol::Choice out;
  out.finish = finish_of(choice);
  out.text = prompt.echo;
  out.text_offset = characters(prompt.echo);
  if (!request_.echo_only) out.text += g.text();
  const bool whole_call = out.finish.reason != FinishReason::kLength || tool_ == std::nullopt ||
                          tool_->arguments_at == 0;
  if (tool_ && whole_call && out.finish.reason != FinishReason::kAbort) {
    const std::string_view arguments =
        g.text().substr(std::min(tool_->arguments_at, g.text().size()), tool_->arguments.size());
    out.tool_calls.push_back(
        {.id = tool_call_id_, .name = tool_->name, .arguments = std::string(arguments)});
    out.text.clear();
  }
  if (request_.sampling.logprobs) out.logprobs = logprobs(g.token_ids());
  if (request_.return_token_ids) {
    out.token_ids = g.token_ids();
    if (kind_ == CallKind::kCompletion) out.prompt_token_ids = prompt.tokens;
  }
  return out;
}

rt::Task<Call::Outcome> Call::answer_whole(net::Exchange& exchange, std::string_view extra_fields) {
  while (unfinished_ > 0) {
    const rt::WaitStatus status = co_await changed_.wait();
    if (status != rt::WaitStatus::kReady) co_return Outcome{};
  }
  record_request();
  protocol::Answer answer;
  answer.head = head_;
  answer.usage = usage();
  for (const Choice& choice : choices_) answer.choices.push_back(whole_choice(choice));
  if (request_.return_token_ids && kind_ == CallKind::kChat) {
    answer.prompt_token_ids = prompts_.front().tokens;
  }
  std::string body;
  if (kind_ == CallKind::kChat) {
    append_chat_completion(body, answer);
  } else {
    append_completion(body, answer);
  }
  const base::Result<> sent = co_await exchange.respond(
      {.status = 200, .content_type = "application/json", .extra_fields = extra_fields}, body);
  co_return Outcome{.status = sent ? 200 : 499, .bytes = body.size()};
}

// Chunks are written where they are made, within the step: waking this task for each would cost
// more than making them. The task writes what the client did not take at once, and waits for the
// end.
rt::Task<Call::Outcome> Call::answer_stream(net::Exchange& exchange,
                                            std::string_view extra_fields) {
  stream_ = &exchange.stream();
  chunked_ = exchange.request().minor_version == 1;
  // vLLM sends its head before it computes anything.
  base::Result<> sent = co_await exchange.start(
      {.status = 200, .content_type = kEventStream, .extra_fields = extra_fields});
  std::string writing;
  while (sent && !broken_) {
    if (!out_.empty()) {
      writing.clear();
      writing.swap(out_);
      sent = co_await net::write_all(*stream_, writing, exchange.write_deadline());
      continue;
    }
    blocked_ = false;
    if (unfinished_ == 0) break;
    const rt::WaitStatus status = co_await changed_.wait();
    if (status != rt::WaitStatus::kReady) co_return Outcome{};
  }
  if (!sent || broken_) co_return Outcome{};
  record_request();
  sent = co_await exchange.finish();
  co_return Outcome{.status = sent ? 200 : 499};
}

void Call::flush() {
  if (blocked_ || broken_) return;
  const net::IoResult io = stream_->try_write(out_);
  if (io.kind == net::IoResult::Kind::kBytes && io.count == out_.size()) {
    out_.clear();
    return;
  }
  if (io.kind == net::IoResult::Kind::kBytes) {
    out_.erase(0, io.count);
  } else if (io.kind != net::IoResult::Kind::kWouldBlock) {
    broken_ = true;
  }
  blocked_ = true;
  changed_.notify_all();
}

// One chunk of the transfer coding around all events of one token.
void Call::append_chunk(Choice& choice) {
  const uint32_t reset_after = context_.faults.reset_after_chunks;
  if (reset_after != 0 && chunks_++ >= reset_after) {
    broken_ = true;
    changed_.notify_all();
    return;
  }
  constexpr std::string_view kSizeLine = "00000000\r\n";
  const size_t at = out_.size();
  if (chunked_) out_ += kSizeLine;
  if (!roles_sent_ && kind_ == CallKind::kChat) append_roles();
  if (tool_) {
    append_tool(choice);
  } else {
    append_text(choice);
  }
  if (unfinished_ == 0) append_end();
  if (!chunked_) return;
  const size_t size = out_.size() - at - kSizeLine.size();
  if (size == 0) {  // a tool call's name is not known yet
    out_.resize(at);
    return;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0, rest = size; rest > 0; ++i, rest >>= 4) out_[at + 7 - i] = kDigits[rest & 15];
  out_ += "\r\n";
}

void Call::append_roles() {
  roles_sent_ = true;
  for (const Choice& choice : choices_) {
    protocol::ChatStream::Role role{.usage = continuous_usage(choice, 0)};
    if (request_.return_token_ids) role.prompt_token_ids = prompts_[choice.prompt].tokens;
    chat_->role(out_, choice.job->index, role);
  }
}

void Call::append_text(Choice& choice) {
  Generation& g = choice.job->generation;
  const CallPrompt& prompt = prompts_[choice.prompt];
  std::string text;
  protocol::Delta delta{.index = choice.job->index,
                        .text = request_.echo_only ? std::string_view() : g.unsent()};
  if (!choice.began && !prompt.echo.empty()) {
    text = prompt.echo;
    text += delta.text;
    delta.text = text;
  }
  if (choice.job->ended()) delta.finish = finish_of(choice);
  delta.usage = continuous_usage(choice, g.tokens());
  const std::span<const TokenId> tokens = std::span(g.token_ids()).subspan(choice.tokens_sent);
  std::vector<protocol::TokenLogprob> probabilities;
  if (request_.sampling.logprobs) {
    probabilities = logprobs(tokens);
    delta.logprobs = probabilities;
    delta.text_offset = choice.characters_sent;
    choice.characters_sent += characters(delta.text);
  }
  if (request_.return_token_ids) {
    delta.token_ids = tokens;
    if (!choice.began) delta.prompt_token_ids = prompt.tokens;
  }
  if (kind_ == CallKind::kChat) {
    delta.prompt_token_ids.reset();
    chat_->delta(out_, delta);
  } else {
    completion_->delta(out_, delta);
  }
  choice.began = true;
  choice.tokens_sent = g.token_ids().size();
  g.mark_sent();
}

void Call::append_tool(Choice& choice) {
  Generation& g = choice.job->generation;
  const size_t begin = tool_->arguments_at;
  const size_t end = begin + tool_->arguments.size();
  const size_t before = g.text().size() - g.unsent().size();
  if (g.text().size() >= begin && !choice.tool_began) {
    choice.tool_began = true;
    chat_->tool_call(out_, choice.job->index, 0, {.id = tool_call_id_, .name = tool_->name});
  }
  const size_t from = std::max(before, begin);
  const size_t to = std::min(g.text().size(), end);
  if (from < to) {
    chat_->tool_arguments(out_, choice.job->index, 0, g.text().substr(from, to - from));
  }
  g.mark_sent();
  if (choice.job->ended()) {
    chat_->finish(out_, choice.job->index, finish_of(choice), continuous_usage(choice, g.tokens()));
  }
}

void Call::append_end() {
  if (include_usage_) {
    if (kind_ == CallKind::kChat) {
      chat_->usage(out_, usage());
    } else {
      completion_->usage(out_, usage());
    }
  }
  protocol::append_done(out_);
}

}  // namespace fairlead::engine
