// An engine for tests that does what its script says, to the byte, over the in-memory network.
//
//   FakeEngine engine(network, address, {"llama"});
//   engine.next.push_back(answer(500, "{}"));          // the next request; then
//   engine.script = events({"a", "b"}, 10ms);          // all others, or engine.make(request)
//   engine.kill(); ... engine.start();
//
// /health, /metrics and /v1/models are answered at once and are no part of the script. One loop.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/buffer.h"
#include "net/http_head.h"
#include "net/memory.h"
#include "rt/task_group.h"

namespace fairlead::router {

// What an engine writes, and how it then goes on with the connection.
struct Script {
  struct Step {
    base::Nanos wait{0};
    std::string bytes;
  };
  enum class Then : uint8_t { kKeep, kClose, kReset, kHang };
  std::vector<Step> steps;
  Then then = Then::kKeep;
};

std::string chunk(std::string_view data);  // in chunked framing
std::string event(std::string_view data);  // "data: ...\n\n"
inline const std::string kDone = event("[DONE]");
std::string token_event(std::string_view text);  // a chat chunk
std::string answer_head(int status, std::string_view fields);
// A counted JSON answer, all at once.
Script answer(int status, std::string_view body, std::string_view fields = {});
// A stream: the head at once, as vLLM does it; then each event, a chunk of its own, after `gap`;
// [DONE] and the end with the last.
Script events(const std::vector<std::string>& events, base::Nanos gap = base::Nanos(0));
// The same, ended before [DONE].
Script broken_events(const std::vector<std::string>& events, base::Nanos gap, Script::Then then);
Script raw(std::string bytes, Script::Then then);

class FakeEngine {
 public:
  struct Seen {
    std::string head;
    std::string body;
    base::TimePoint at;
    std::optional<base::TimePoint> left_at;  // the router gave it up
    bool played = false;                     // the script came to its end

    // "" if the field is absent.
    std::string field(std::string_view name) const;
    std::string request_line() const { return head.substr(0, head.find("\r\n")); }
  };

  FakeEngine(net::MemoryNetwork& network, const net::Address& address,
             std::vector<std::string> models);

  void start();
  // As kill -9; the loop must run before start().
  void kill();
  void stop() { group_->cancel(rt::CancelReason::kShutdown); }

  const net::Address& address() const { return address_; }
  // Requests that are being answered.
  size_t active() const { return active_; }

  Script script;
  std::deque<Script> next;
  std::function<Script(const Seen&)> make;
  int health_status = 200;
  size_t waiting = 0;  // as /metrics says
  base::Nanos probe_delay{0};
  bool serves_models = true;
  std::vector<std::string> models;
  std::deque<Seen> seen;
  std::vector<std::string> probe_heads;
  size_t connections = 0;  // so far
  uint64_t bytes_sent = 0;

 private:
  rt::Task<void> accept_loop();
  rt::Task<void> serve(std::unique_ptr<net::ByteStream> stream);
  rt::Task<bool> read_request(net::ByteStream& stream, net::Buffer& in, Seen& seen);
  rt::Task<bool> answer_request(net::ByteStream& stream, const Seen& request);
  rt::Task<bool> play(net::ByteStream& stream, const Script& script);
  rt::Task<bool> answer_probe(net::ByteStream& stream, std::string_view path);

  net::MemoryNetwork& network_;
  net::Address address_;
  std::unique_ptr<net::Listener> listener_;
  size_t active_ = 0;
  std::optional<rt::TaskGroup> group_;  // a new one a start: a cancelled group stays so
};

}  // namespace fairlead::router
