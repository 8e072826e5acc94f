// For tests: an engine in virtual time and clients that speak to it over memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/json.h"
#include "engine/engine.h"
#include "engine/parse_args.h"
#include "net/http_client.h"
#include "net/memory.h"

namespace fairlead::engine {

struct TestAnswer {
  int status = 0;  // 0: the connection ended before an answer
  std::string content_type;
  std::string fields;  // "name: value\n" in lower case
  std::string body;
  bool whole = false;                   // the body ended in order
  std::vector<base::TimePoint> pieces;  // when each piece of the body came

  codec::Json json() const;
  // The JSON of the events of a stream; [DONE] must be the last.
  std::vector<codec::Json> events() const;
};

struct TestRequest {
  std::string method = "POST";
  std::string path = "/v1/chat/completions";
  std::string body;
  std::string fields = "Content-Type: application/json\r\n";
  std::string version = "HTTP/1.1";
  // Leaves after so many pieces of the body; 0 with `leave_at` never comes to that.
  size_t leave_after = SIZE_MAX;
  base::TimePoint leave_at = base::kNever;
  // Does not read the body before.
  base::TimePoint read_from{};
};

// The body of a chat of one message; `more` are further members.
std::string chat(const std::string& text, const std::string& more = "");
// Of a chat's answer.
const codec::Json& choice(const codec::Json& answer, size_t i = 0);
std::string finish(const codec::Json& answer, size_t i = 0);
std::string error_message(const TestAnswer& answer);

class TestEngine {
 public:
  // `args` as on the command line; the engine listens on 10.0.0.1:8000.
  explicit TestEngine(const std::string& args, const Environment& environment = {});
  ~TestEngine();

  TestAnswer ask(const TestRequest& request);
  TestAnswer get(const std::string& path) { return ask({.method = "GET", .path = path}); }
  TestAnswer post(const std::string& path, const std::string& body) {
    return ask({.path = path, .body = body});
  }
  // All at once.
  std::vector<TestAnswer> ask_all(std::vector<TestRequest> requests);
  // The value of a sample in /metrics whose line begins with `series`; -1 if there is none.
  double metric(const std::string& series);

  base::TimePoint now() const { return loop.now(); }
  void run_for(base::Nanos time) { loop.run_until_idle(loop.now() + time); }

  base::ManualClock clock;
  rt::Loop loop{clock};
  net::MemoryNetwork network{loop, {.latency = std::chrono::microseconds(50)}};
  std::string log_text;
  obs::Logger log;
  std::unique_ptr<Engine> engine;
  std::optional<base::Result<>> ended;

 private:
  static rt::Task<TestAnswer> exchange(TestEngine& self, TestRequest request);
  static rt::Task<void> run(TestEngine& self);
  rt::TaskGroup group_{loop};
};

}  // namespace fairlead::engine
