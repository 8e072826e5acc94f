// Proxy: one request from a client to a replica and its answer back.
//
//   scan the body -> find the model -> hash the prompt -> [pick -> send -> wait for the first byte]
//   -> relay -> account
//
// The bracket may run again on another replica until the first body byte has come: after a failed
// connection, a 5xx, an error as first event, or when the control loop says that the replica has
// fallen silent; within the retry budget. An engine's 4xx is an answer. Lives in the frame of its
// handler, on the shard's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http_server.h"
#include "protocol/errors.h"
#include "router/admission.h"
#include "router/answer_relay.h"
#include "router/endpoints.h"
#include "router/inference_request.h"
#include "router/request_trace.h"
#include "router/shard.h"

namespace fairlead::router {

class Proxy {
 public:
  Proxy(Shard& shard, net::Exchange& exchange, const Endpoint& endpoint);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  rt::Task<void> run();

 private:
  // How an attempt that did not answer the client failed.
  struct Failure {
    FailureKind kind = FailureKind::kConnect;
    rt::CancelReason cancelled = rt::CancelReason::kNone;
    base::Error error;
    bool stale_connection = false;  // an idle connection that the engine had closed meanwhile
  };
  using AttemptResult = std::optional<Failure>;  // nothing: the client has its answer
  enum class Progress : uint8_t { kGo, kStop };

  // Before the first attempt.
  rt::Task<Progress> understand();
  const pick::Model* known_model();
  rt::Task<const pick::Model*> find_model();
  void prepare_query();
  void hash_prompt();

  // An attempt.
  rt::Task<void> attempt_until_answered();
  enum class Picked : uint8_t {
    kReplica,
    kNobody,  // serves the model, or is left
    kNoRoom,  // at any of those who are
    kEnded,   // there is nothing more to do: it was turned away, or its client has left
  };
  Picked pick_replica();
  // Where all replicas are full (proxy_waiting.cc).
  rt::Task<Picked> wait_for_room();
  rt::Task<void> answer_shed(Shed shed, std::chrono::seconds retry_after);
  enum class Connect : uint8_t { kPooled, kNew };
  rt::Task<AttemptResult> attempt(Connect connect);
  rt::Task<AttemptResult> send_and_wait(rt::Scope& scope, net::ClientConnection& connection,
                                        bool reused);
  rt::Task<base::Result<>> wait_for_first_byte(net::ClientConnection& connection);
  bool is_bad_answer(const net::ResponseHead& head) const;
  bool take_retry(FailureKind kind);
  bool another_candidate() const;
  void learn_from(const codec::Usage& usage, AnswerRelay::End end);
  void build_head();
  void collect_request();
  Failure failure(FailureKind kind, const rt::Scope& scope, base::Error error) const;

  // Where there is no answer to relay.
  rt::Task<void> answer_error(protocol::ApiError error,
                              std::optional<std::chrono::seconds> retry_after);
  rt::Task<void> answer_failure(const Failure& failure);
  void end_attempt_span(const AttemptResult& result);
  void name_error();
  void account();
  void log_access(const RequestEnd& end);

  rt::Loop& loop() const { return shard_.loop(); }

  Shard& shard_;
  net::Exchange& exchange_;
  const Endpoint& endpoint_;
  InferenceRequest request_;
  base::TimePoint began_;
  base::WallTime began_wall_;
  base::TimePoint end_;  // for the request altogether

  rt::PooledString request_id_;
  net::Address client_;  // behind the proxies that are trusted
  RequestTrace trace_;
  bool cut_usage_ = false;
  bool explains_ = false;
  std::string explanation_;

  std::shared_ptr<const Snapshot> snapshot_;
  ShardMetrics::Model* model_ = nullptr;  // its metrics, once it is known to exist
  pick::Query query_;
  std::vector<pick::Slot> tried_;
  std::optional<pick::Reservation> reservation_;
  std::shared_ptr<const Backend> backend_;
  uint32_t attempts_ = 0;
  FirstEvent first_event_ = FirstEvent::kGood;  // of the attempt under way

  std::string head_out_;  // to the engine
  Pieces pieces_;         // being sent to the engine

  int status_ = 0;
  std::string_view outcome_ = "ok";
  std::string_view error_type_;  // a literal; empty: nothing failed
  std::string error_message_;
  int upstream_status_ = 0;   // of the last attempt's head
  base::TimePoint picked_{};  // for the first time
  base::TimePoint first_byte_{};
  uint64_t bytes_out_ = 0;
  std::optional<codec::Usage> usage_;
};

}  // namespace fairlead::router
