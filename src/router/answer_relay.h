// AnswerRelay: carries one begun answer from an engine to the client, backpressure included. Lives
// in the frame of its request, on the shard's loop.
#pragma once

#include <optional>
#include <string>

#include "net/http_client.h"
#include "net/http_server.h"
#include "router/answer_filter.h"
#include "router/shard.h"

namespace fairlead::router {

class AnswerRelay {
 public:
  // What of the request shapes its answer; the views outlive the relay.
  struct Request {
    std::string_view request_id;
    std::string_view explanation;  // empty: none
    bool cut_usage = false;
    base::TimePoint end;  // of the time for the whole request
    pick::Slot slot = 0;  // whose traffic this is
    obs::Histogram token_gap;
  };
  enum class End : uint8_t {
    kComplete,
    kClientGone,  // or it does not read
    kBrokenOff,   // by the engine or a deadline; the client was told as well as possible
  };

  AnswerRelay(Shard& shard, net::Exchange& exchange, const Request& request)
      : shard_(shard), exchange_(exchange), request_(request) {}

  // `connection` has read the answer's head and what `attempt` waited for; it is fit for another
  // request only after kComplete. The request's own bytes are dropped once the answer goes on.
  rt::Task<End> run(rt::Scope& attempt, net::ClientConnection& connection);

  const std::optional<codec::Usage>& usage() const { return usage_; }
  uint64_t bytes_out() const { return bytes_out_; }

 private:
  AnswerFilter::Options write_head(const net::ResponseHead& head);
  rt::Task<base::Result<>> carry(rt::Scope& attempt, net::ClientConnection& connection,
                                 AnswerFilter& filter);
  void note_events(const AnswerFilter& filter);
  bool try_send_to_client();
  rt::Task<bool> send_rest_to_client(rt::Scope& attempt);
  rt::Task<void> break_off(AnswerFilter& filter, const base::Error& error);

  Shard& shard_;
  net::Exchange& exchange_;
  Request request_;
  std::string head_;
  Pieces pieces_;              // being sent
  std::string unsent_;         // of a client that does not keep up
  rt::PooledString leftover_;  // read from the engine and not consumed
  bool client_failed_ = false;
  uint64_t bytes_out_ = 0;
  base::TimePoint last_event_{};
  std::optional<codec::Usage> usage_;
};

}  // namespace fairlead::router
