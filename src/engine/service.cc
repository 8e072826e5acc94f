#include "engine/service.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "protocol/chat_template.h"

namespace fairlead::engine {

using protocol::ApiError;
using protocol::TokenId;

namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kVersion = "0.20.2";

std::string detail(std::string_view text) {
  std::string body;
  protocol::append_detail(body, text);
  return body;
}

bool is_json_type(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const size_t end = type.find_last_not_of(' ');
  return end != std::string_view::npos && net::equals_ignoring_case(type.substr(0, end + 1), kJson);
}

}  // namespace

Service::Service(Context& context, const obs::Registry& registry, HttpMetrics& http)
    : context_(context), registry_(registry), http_(http) {}

net::Refusal Service::refusal(int status, std::string_view message) {
  ApiError error = protocol::engine_error(status, std::string(message));
  std::string body;
  protocol::append_error(body, error);
  http_.observe(
      {.handler = "none", .method = "none", .status = status, .response_bytes = body.size()});
  return {.status = status, .body = std::move(body), .content_type = std::string(kJson)};
}

bool Service::is_authorized(const net::RequestHead& head) const {
  const auto& keys = context_.config.api_keys;
  if (keys.empty() || !head.path.starts_with("/v1") || head.method == "OPTIONS") return true;
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view value = head.value("authorization");
  if (!net::equals_ignoring_case(value.substr(0, kBearer.size()), kBearer)) return false;
  const std::string_view token = value.substr(kBearer.size());
  return std::find(keys.begin(), keys.end(), token) != keys.end();
}

const Route* Service::route_of(const net::RequestHead& head) const {
  const Route* route = find_route(head.path);
  if (route == nullptr) return nullptr;
  const EngineConfig& config = context_.config;
  bool there = true;
  switch (route->condition) {
    case Condition::kAlways:
      break;
    case Condition::kGenerate:
      there = config.runner == Runner::kGenerate;
      break;
    case Condition::kPooling:
      there = config.runner == Runner::kPooling;
      break;
    case Condition::kRuntimeLora:
      there = config.runtime_lora_updating;
      break;
    case Condition::kDevMode:
      there = config.dev_mode;
      break;
  }
  return there ? route : nullptr;
}

protocol::Refusal Service::check_model(const std::string& model) const {
  if (context_.adapters.find(model) != nullptr) return std::nullopt;
  return protocol::check_model(model, context_.limits);
}

std::optional<net::Refusal> Service::check(const net::RequestHead& head) {
  const Route* route = route_of(head);
  if (context_.faults.hang && (route == nullptr || route->endpoint != Endpoint::kFaults)) {
    return std::nullopt;
  }
  net::Refusal refused{.content_type = std::string(kJson)};
  if (!is_authorized(head)) {
    refused.status = 401;
    refused.body = R"({"error":"Unauthorized"})";
  } else if (route == nullptr) {
    refused.status = 404;
    refused.body = detail("Not Found");
  } else if (!route->allows(head.method)) {
    refused.status = 405;
    refused.body = detail("Method Not Allowed");
    refused.extra_fields = route->allow_field();
  } else {
    return std::nullopt;
  }
  http_.observe({.handler = route == nullptr ? "none" : route->path,
                 .method = head.method,
                 .status = refused.status,
                 .request_bytes = head.content_length,
                 .response_bytes = refused.body.size()});
  return refused;
}

rt::Task<void> Service::handle(net::Exchange& exchange) {
  const net::RequestHead& head = exchange.request();
  const Route* route = route_of(head);
  while (context_.faults.hang && (route == nullptr || route->endpoint != Endpoint::kFaults)) {
    const rt::WaitStatus status = co_await hang_ended_.wait();
    if (status != rt::WaitStatus::kReady) co_return;
  }
  if (std::optional<net::Refusal> refused = check(head)) {
    static_cast<void>(co_await exchange.respond(
        {refused->status, refused->content_type, refused->extra_fields}, refused->body));
    co_return;
  }
  const base::TimePoint begin = context_.loop.now();
  const Call::Outcome outcome = co_await dispatch(exchange, *route);
  constexpr Endpoint kUncounted[] = {Endpoint::kHealth, Endpoint::kMetrics, Endpoint::kLoad,
                                     Endpoint::kVersion, Endpoint::kFaults};
  if (std::find(std::begin(kUncounted), std::end(kUncounted), route->endpoint) !=
      std::end(kUncounted)) {
    co_return;
  }
  http_.observe({.handler = route->path,
                 .method = head.method,
                 .status = outcome.status,
                 .request_bytes = exchange.body().size(),
                 .response_bytes = outcome.bytes,
                 .duration = context_.loop.now() - begin});
}

rt::Task<Call::Outcome> Service::dispatch(net::Exchange& exchange, const Route& route) {
  if (route.takes_json() && !is_json_type(exchange.request().value("content-type"))) {
    ApiError error = protocol::engine_error(
        400, "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed");
    error.type = "Bad Request";
    co_return co_await send(exchange, error_reply(error));
  }
  switch (route.endpoint) {
    case Endpoint::kChat:
      co_return co_await generate(exchange, CallKind::kChat);
    case Endpoint::kCompletions:
      co_return co_await generate(exchange, CallKind::kCompletion);
    case Endpoint::kEmbeddings:
      co_return co_await embeddings(exchange);
    case Endpoint::kPause:
      co_return co_await pause(exchange);
    case Endpoint::kSleep:
      co_return co_await sleep(exchange);
    default:
      co_return co_await send(exchange, reply(exchange, route.endpoint));
  }
}

rt::Task<Call::Outcome> Service::send(net::Exchange& exchange, Reply reply) const {
  const net::Answer answer{reply.status, reply.content_type, reply.extra_fields};
  const base::Result<> sent = co_await exchange.respond(answer, reply.body);
  co_return Call::Outcome{.status = sent ? reply.status : 499, .bytes = reply.body.size()};
}

Service::Reply Service::error_reply(const ApiError& error) const {
  Reply reply{.status = error.status, .content_type = kJson};
  protocol::append_error(reply.body, error);
  return reply;
}

// --- generation ---

std::optional<ApiError> Service::injected_error() {
  const double draw = static_cast<double>(base::mix64(generation_requests_++) >> 11) * 0x1.0p-53;
  if (draw >= context_.faults.error_rate) return std::nullopt;
  context_.metrics.failed();
  return protocol::engine_error(context_.faults.error_status, "injected by --sim-error-rate");
}

rt::Task<Call::Outcome> Service::generate(net::Exchange& exchange, CallKind kind) {
  if (std::optional<ApiError> error = injected_error()) {
    co_return co_await send(exchange, error_reply(*error));
  }
  std::string request_id(exchange.request().value("x-request-id"));
  ++active_;
  Call::Outcome outcome;
  if (kind == CallKind::kChat) {
    outcome = co_await chat(exchange, request_id);
  } else {
    outcome = co_await completion(exchange, request_id);
  }
  --active_;
  co_return outcome;
}

rt::Task<Call::Outcome> Service::chat(net::Exchange& exchange, std::string_view request_id) {
  protocol::ChatRequest request;
  protocol::Refusal refused = parse_chat(exchange.body(), request);
  if (!refused) refused = check_model(request.model);
  if (!refused) refused = check_chat(request, context_.limits);
  if (refused) co_return co_await send(exchange, error_reply(*refused));
  std::vector<CallPrompt> prompts(1);
  context_.tokenizer.encode(render_chat(request.conversation), prompts[0].tokens);
  if (request.echo && !request.conversation.messages.empty()) {
    prompts[0].echo = request.conversation.messages.back().content;
  }
  refused = check_prompt(request, context_.limits, prompts[0].tokens);
  if (!refused) refused = check_sampling(request, prompts[0].tokens.size(), context_.limits);
  if (refused) co_return co_await send(exchange, error_reply(*refused));
  Call call(context_, CallKind::kChat, request, plan_tool_call(request),
            fmt::format("chatcmpl-{}", !request_id.empty()           ? request_id
                                       : !request.request_id.empty() ? request.request_id
                                                                     : context_.random_id()));
  co_return co_await run(exchange, call, request, std::move(prompts), request_id);
}

rt::Task<Call::Outcome> Service::completion(net::Exchange& exchange, std::string_view request_id) {
  protocol::CompletionRequest request;
  protocol::Refusal refused = parse_completion(exchange.body(), request);
  if (!refused) refused = check_model(request.model);
  if (!refused) refused = check_completion(request, context_.limits);
  if (refused) co_return co_await send(exchange, error_reply(*refused));
  std::vector<CallPrompt> prompts;
  for (protocol::Prompt& prompt : request.prompts) {
    CallPrompt& one = prompts.emplace_back();
    if (auto* text = std::get_if<std::string>(&prompt)) {
      context_.tokenizer.encode(*text, one.tokens);
      if (request.echo) one.echo = std::move(*text);
    } else {
      one.tokens = std::move(std::get<std::vector<TokenId>>(prompt));
      if (request.echo) one.echo = protocol::decode(context_.tokenizer, one.tokens);
    }
    refused = check_prompt(request, context_.limits, one.tokens);
    if (refused) co_return co_await send(exchange, error_reply(*refused));
  }
  for (const CallPrompt& prompt : prompts) {
    refused = check_sampling(request, prompt.tokens.size(), context_.limits);
    if (refused) co_return co_await send(exchange, error_reply(*refused));
  }
  Call call(context_, CallKind::kCompletion, request, std::nullopt,
            fmt::format("cmpl-{}", !request_id.empty()           ? request_id
                                   : !request.request_id.empty() ? request.request_id
                                                                 : context_.random_id()));
  co_return co_await run(exchange, call, request, std::move(prompts), request_id);
}

rt::Task<Call::Outcome> Service::run(net::Exchange& exchange, Call& call,
                                     const protocol::GenerateRequest& request,
                                     std::vector<CallPrompt> prompts, std::string_view request_id) {
  const protocol::Refusal refused = call.submit(std::move(prompts));
  if (refused) co_return co_await send(exchange, error_reply(*refused));
  const std::string extra_fields = id_fields(request_id);
  if (request.stream) co_return co_await call.answer_stream(exchange, extra_fields);
  co_return co_await call.answer_whole(exchange, extra_fields);
}

std::string Service::id_fields(std::string_view request_id) const {
  if (!context_.config.enable_request_id_headers) return {};
  return fmt::format("X-Request-Id: {}\r\n",
                     request_id.empty() ? context_.random_id() : request_id);
}

// --- the rest ---

Service::Reply Service::reply(net::Exchange& exchange, Endpoint endpoint) {
  Reply reply{.content_type = kJson};
  switch (endpoint) {
    case Endpoint::kModels:
      return models();
    case Endpoint::kTokenize:
      return tokenize(exchange.body());
    case Endpoint::kDetokenize:
      return detokenize(exchange.body());
    case Endpoint::kMetrics:
      return metrics();
    case Endpoint::kFaults:
      return faults(exchange);
    case Endpoint::kVersion:
      protocol::append_version(reply.body, kVersion);
      return reply;
    case Endpoint::kLoad:
      protocol::append_load(reply.body, context_.config.enable_server_load_tracking ? active_ : 0);
      return reply;
    case Endpoint::kIsSleeping:
      protocol::append_is_sleeping(reply.body, context_.core.halted());
      return reply;
    case Endpoint::kWakeUp:
      return wake_up(exchange);
    case Endpoint::kLoadAdapter:
      return load_adapter(exchange.body());
    case Endpoint::kUnloadAdapter:
      return unload_adapter(exchange.body());
    case Endpoint::kResume:
      context_.core.go_on(Core::Stop::kPause);
      reply.body = R"({"status":"resumed"})";
      return reply;
    case Endpoint::kIsPaused:
      reply.body = fmt::format(R"({{"is_paused":{}}})", context_.core.halted());
      return reply;
    case Endpoint::kResetPrefixCache:
      static_cast<void>(
          context_.core.reset_prefix_cache());  // vLLM answers 200 even if it could not
      return {};
    default:
      return {};  // 200 without a body: health, ping, caches there are none of
  }
}

Service::Reply Service::models() const {
  std::vector<protocol::ModelCard> cards;
  for (const std::string& name : context_.limits.served_names) {
    cards.push_back({.id = name,
                     .root = context_.config.model,
                     .permission_id = "modelperm-" + context_.random_id(),
                     .created = context_.unix_seconds(),
                     .max_model_len = context_.config.max_model_len});
  }
  for (const std::shared_ptr<const Adapter>& adapter : context_.adapters.all()) {
    cards.push_back({.id = adapter->name,
                     .root = adapter->path,
                     .permission_id = "modelperm-" + context_.random_id(),
                     .created = context_.unix_seconds(),
                     .parent = adapter->parent});
  }
  Reply reply{.content_type = kJson};
  protocol::append_models(reply.body, cards);
  return reply;
}

Service::Reply Service::tokenize(std::string_view body) const {
  protocol::TokenizeRequest request;
  protocol::Refusal refused = parse_tokenize(body, request);
  if (!refused) refused = check_model(request.model);
  if (refused) return error_reply(*refused);
  std::vector<TokenId> ids;
  if (const auto* text = std::get_if<std::string>(&request.input)) {
    context_.tokenizer.encode(*text, ids);
  } else {
    context_.tokenizer.encode(render_chat(std::get<protocol::Conversation>(request.input)), ids);
  }
  protocol::Tokenized tokenized{.ids = ids, .max_model_len = context_.config.max_model_len};
  if (request.return_token_strs) {
    tokenized.names.emplace();
    for (const TokenId id : ids) {
      tokenized.names->push_back(protocol::token_name(context_.tokenizer, id));
    }
  }
  Reply reply{.content_type = kJson};
  protocol::append_tokenized(reply.body, tokenized);
  return reply;
}

Service::Reply Service::detokenize(std::string_view body) const {
  protocol::DetokenizeRequest request;
  protocol::Refusal refused = parse_detokenize(body, request);
  if (!refused) refused = check_model(request.model);
  if (refused) return error_reply(*refused);
  Reply reply{.content_type = kJson};
  protocol::append_detokenized(reply.body, protocol::decode(context_.tokenizer, request.tokens));
  return reply;
}

Service::Reply Service::metrics() {
  Reply reply{.content_type = obs::Registry::content_type(obs::Style::kPython)};
  if (context_.faults.freeze_metrics && !frozen_metrics_.empty()) {
    reply.body = frozen_metrics_;
    return reply;
  }
  const int64_t claim = context_.faults.claim_running;
  if (claim >= 0) context_.metrics.load({.running = static_cast<uint32_t>(claim)});
  registry_.expose(reply.body);
  if (claim >= 0) context_.metrics.load(context_.core.model().load());
  http_.expose(reply.body);
  frozen_metrics_ = context_.faults.freeze_metrics ? reply.body : std::string();
  return reply;
}

}  // namespace fairlead::engine
