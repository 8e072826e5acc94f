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
  bool is_authorized(const net::RequestHead& head) const;
  rt::Task<Call::Outcome> dispatch(net::Exchange& exchange, const Route& route);
  rt::Task<Call::Outcome> send(net::Exchange& exchange, Reply reply) const;

  rt::Task<Call::Outcome> generate(net::Exchange& exchange, CallKind kind);
  rt::Task<Call::Outcome> chat(net::Exchange& exchange, std::string_view request_id);
  rt::Task<Call::Outcome> completion(net::Exchange& exchange, std::string_view request_id);
  rt::Task<Call::Outcome> run(net::Exchange& exchange, Call& call, const protocol::GenerateRequest&,
                              std::vector<CallPrompt> prompts, std::string_view request_id);

  // Answers that need no waiting.
  Reply reply(net::Exchange& exchange, Endpoint endpoint);
  Reply models() const;
  Reply tokenize(std::string_view body) const;
  Reply detokenize(std::string_view body) const;
  Reply metrics();
  Reply faults(net::Exchange& exchange);
  rt::Task<Call::Outcome> pause(net::Exchange& exchange);
  rt::Task<Call::Outcome> sleep(net::Exchange& exchange);
  // Nothing is in the model any more; false if the client left before.
  rt::Task<bool> drained();

  Context& context_;
  const obs::Registry& registry_;
  HttpMetrics& http_;
  rt::WaitList faults_changed_;
  rt::WaitList hang_ended_;
  int64_t active_ = 0;
  uint64_t generation_requests_ = 0;
  std::string frozen_metrics_;
};

}  // namespace fairlead::engine
