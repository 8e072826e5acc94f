// What an engine answers to each request: vLLM's endpoints, its control endpoints in development
// mode, and POST /sim/faults. One loop.
#pragma once

#include <string>

#include "engine/call.h"
#include "engine/context.h"
#include "engine/routes.h"
#include "net/http_server.h"

namespace fairlead::engine {

class Service final : public net::Handler {
 public:
  Service(Context& context, const obs::Registry& registry, HttpMetrics& http);

  std::optional<net::Refusal> check(const net::RequestHead& head) override;
  rt::Task<void> handle(net::Exchange& exchange) override;
  net::Refusal refusal(int status, std::string_view message) override;

  // Told when the faults have changed.
  rt::WaitList& faults_changed() { return faults_changed_; }
  // Generation requests that are being answered.
  size_t active() const { return static_cast<size_t>(active_); }

 private:
  struct Reply {
    int status = 200;
    std::string_view content_type;
    std::string body;
    std::string_view extra_fields;
  };

  Reply error_reply(const protocol::ApiError& error) const;
  // Null where there is none, or none with this configuration.
  const Route* route_of(const net::RequestHead& head) const;
  protocol::Refusal check_model(const std::string& model) const;
  bool is_authorized(const net::RequestHead& head) const;
  rt::Task<Call::Outcome> dispatch(net::Exchange& exchange, const Route& route);
  rt::Task<Call::Outcome> send(net::Exchange& exchange, Reply reply) const;

  // For the share of requests that are to fail.
  std::optional<protocol::ApiError> injected_error();
  rt::Task<Call::Outcome> generate(net::Exchange& exchange, CallKind kind);
  rt::Task<Call::Outcome> chat(net::Exchange& exchange, std::string_view request_id);
  rt::Task<Call::Outcome> completion(net::Exchange& exchange, std::string_view request_id);
  rt::Task<Call::Outcome> embeddings(net::Exchange& exchange);
  protocol::Refusal embedding_prompts(const protocol::EmbeddingRequest& request,
                                      std::vector<std::vector<protocol::TokenId>>& prompts) const;
  // X-Request-Id for an answer, where the engine is to send one.
  std::string id_fields(std::string_view request_id) const;
  rt::Task<Call::Outcome> run(net::Exchange& exchange, Call& call, const protocol::GenerateRequest&,
                              std::vector<CallPrompt> prompts, std::string_view request_id);

  // Answers that need no waiting.
  Reply reply(net::Exchange& exchange, Endpoint endpoint);
  Reply models() const;
  Reply tokenize(std::string_view body) const;
  Reply detokenize(std::string_view body) const;
  Reply metrics();
  Reply faults(net::Exchange& exchange);
  Reply load_adapter(std::string_view body);
  Reply unload_adapter(std::string_view body);
  Reply wake_up(const net::Exchange& exchange);
  rt::Task<Call::Outcome> pause(net::Exchange& exchange);
  rt::Task<Call::Outcome> sleep(net::Exchange& exchange);
  // Stops the core for that reason, after or before `mode` has been done to the requests that run;
  // false if the client left before.
  rt::Task<bool> halt(Core::Stop why, std::string_view mode);
  // Nothing is in the model any more; false if the client left before.
  rt::Task<bool> drained();

  Context& context_;
  const obs::Registry& registry_;
  HttpMetrics& http_;
  rt::WaitList faults_changed_;
  rt::WaitList hang_ended_;
  int64_t active_ = 0;
  uint64_t generation_requests_ = 0;
  // What of a sleeping engine's memory is not back yet.
  bool weights_asleep_ = false, kv_cache_asleep_ = false;
  std::string frozen_metrics_;
};

}  // namespace fairlead::engine
