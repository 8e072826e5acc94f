// A whole router in virtual time: its shards, fake engines and clients on one loop over an
// in-memory network. Nothing here reads the real clock, so an hour costs milliseconds and every run
// is the same.
//
//   class Retries : public RouterTest {};
//   TEST_F(Retries, ...) {
//     FakeEngine& a = engine(1);
//     start();
//     const Reply& reply = ask(chat("hi"));
//     EXPECT_EQ(reply.status, 200);
//   }
//
// After each test the fixture looks whether anything is left behind: reservations, requests in
// flight, bodies held, requests at engines, open streams.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/http_client.h"
#include "net/memory.h"
#include "router/router.h"
#include "router/testing/fake_engine.h"

namespace fairlead::router {

inline constexpr size_t kMetricsPort = 100;
inline constexpr size_t kDebugPort = 101;

// A client's request.
struct Ask {
  std::string body;
  std::string path = "/v1/chat/completions";
  std::string method = "POST";
  std::string fields = "Content-Type: application/json\r\n";
  int minor_version = 1;
  size_t shard = 0;  // or kMetricsPort, kDebugPort
  base::TimePoint leave_at = base::kNever;
  base::TimePoint read_from{};  // does not read the body before
};

struct Reply {
  enum class End : uint8_t {
    kPending,
    kWhole,     // in order, as its framing says
    kAborted,   // reset, cut off or against HTTP
    kLeft,      // by the client
    kNoAnswer,  // no connection, or it ended before a head
  };
  int status = 0;
  std::multimap<std::string, std::string> fields;  // names in lower case
  std::string body;
  End end = End::kPending;
  base::TimePoint sent_at{};
  base::TimePoint head_at{};
  base::TimePoint done_at{};
  std::vector<base::TimePoint> pieces;

  bool whole() const { return end == End::kWhole; }
  // "" if the field is absent; several are joined with ", ".
  std::string field(const std::string& name) const;
  base::Nanos took() const { return done_at - sent_at; }
};

// A client that sends and receives bytes.
struct RawClient {
  explicit RawClient(rt::Loop& loop) : group(loop) {}
  void send(std::string_view bytes);
  // Closes both directions.
  void leave() { group.cancel(rt::CancelReason::kShutdown); }

  std::unique_ptr<net::ByteStream> stream;
  std::string received;
  bool ended = false;  // in order, or
  bool reset = false;
  rt::TaskGroup group;
};

// A body for chat completions with the model "llama"; `more` are further members.
std::string chat(std::string_view text, std::string_view more = {});
inline const std::string kStreaming = chat("hi", R"("stream":true)");
Ask post(std::string body);
Ask get(std::string path);

class RouterTest : public testing::Test {
 protected:
  explicit RouterTest(net::MemoryOptions options = {.latency = std::chrono::microseconds(50)});
  ~RouterTest() override;
  void TearDown() override { stop(); }

  static net::Address address(int n) {
    return *net::parse_address("10.0.0." + std::to_string(n) + ":8000");
  }
  static std::string url(int n) { return "http://10.0.0." + std::to_string(n) + ":8000"; }
  // The fake engine at address(n).
  FakeEngine& engine(int n, std::vector<std::string> models = {"llama"});

  // Makes the router, with all engines so far as back ends where `config` names none, and lets it
  // learn what they serve.
  void start(RouterConfig config = {});
  // The same, but returns before the first turn.
  void start_cold(RouterConfig config = {});

  // Starts a request; the reply fills as time passes.
  const Reply& send(Ask ask);
  // The same, until it is done.
  const Reply& ask(Ask ask);
  const Reply& ask(const std::string& body) { return ask(post(body)); }
  RawClient& raw_client(size_t shard = 0);

  void run_for(base::Nanos time) { loop_.run_until_idle(loop_.now() + time); }
  // The value of a sample; 0 if there is none.
  double metric(const std::string& series) const;
  base::TimePoint now() const { return loop_.now(); }
  size_t unanswered() const;
  // Ends clients, router and engines, in this order, and looks what is left. For tests that look at
  // what the router writes last.
  void stop();
  // What must be zero when nobody asks for anything.
  void expect_idle();

  base::ManualClock clock_;
  rt::Loop loop_{clock_};
  net::MemoryNetwork network_;
  obs::Logger log_{clock_, {.level = obs::LogLevel::kOff}};
  std::string access_lines_;
  std::deque<FakeEngine> engines_;
  std::unique_ptr<Router> router_;
  std::deque<Reply> replies_;
  std::deque<RawClient> raw_clients_;
  rt::TaskGroup clients_{loop_};
  rt::TaskGroup serving_{loop_};

 private:
  rt::Task<void> exchange(Ask ask, Reply& reply);
  rt::Task<void> read_answer(net::ClientConnection& connection, const Ask& ask, Reply& reply);
  rt::Task<void> connect(RawClient& client, size_t shard);
};

}  // namespace fairlead::router
