#include "engine/testing.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/ascii.h"
#include "engine/parse_args.h"

namespace fairlead::engine {

codec::Json TestAnswer::json() const {
  auto parsed = codec::parse_json(body);
  EXPECT_TRUE(parsed.ok()) << body;
  return parsed ? *parsed : codec::Json();
}

std::vector<codec::Json> TestAnswer::events() const {
  std::vector<codec::Json> events;
  std::string_view rest = body;
  constexpr std::string_view kDone = "data: [DONE]\n\n";
  EXPECT_TRUE(rest.ends_with(kDone)) << body;
  if (rest.ends_with(kDone)) rest.remove_suffix(kDone.size());
  while (!rest.empty()) {
    const size_t end = rest.find("\n\n");
    EXPECT_TRUE(rest.starts_with("data: ") && end != std::string_view::npos) << rest;
    if (end == std::string_view::npos) break;
    auto parsed = codec::parse_json(rest.substr(6, end - 6));
    EXPECT_TRUE(parsed.ok()) << rest.substr(0, end);
    if (parsed) events.push_back(*parsed);
    rest.remove_prefix(end + 2);
  }
  return events;
}

TestEngine::TestEngine(const std::string& line, const Environment& environment)
    : log(loop.clock(), {}, [this](std::string_view text) { log_text += text; }) {
  std::istringstream words(line + " --host 10.0.0.1");
  std::vector<std::string> args;
  for (std::string word; words >> word;) args.push_back(word);
  auto config = parse_engine_args(args, environment);
  CHECK(config.ok(), "arguments of a test");
  engine = std::make_unique<Engine>(network, *config, log, EngineOptions{.id_seed = 1});
  group_.spawn(run(*this));
  loop.run_until_idle(loop.now());
}

TestEngine::~TestEngine() {
  engine->stop();
  engine->stop();
  loop.run_until_idle();
  EXPECT_TRUE(ended.has_value()) << "the engine does not stop";
  EXPECT_EQ(engine->core().model().load().blocks_used, 0u);
}

rt::Task<void> TestEngine::run(TestEngine& self) { self.ended = co_await self.engine->run(); }

rt::Task<TestAnswer> TestEngine::exchange(TestEngine& self, TestRequest request) {
  TestAnswer answer;
  auto stream = co_await self.network.connect(*net::parse_address("10.0.0.1:8000"), base::kNever);
  if (!stream) co_return answer;
  net::ClientConnection connection(std::move(*stream));
  std::string head = fmt::format("{} {} {}\r\nHost: engine\r\n{}", request.method, request.path,
                                 request.version, request.fields);
  if (request.method == "POST") head += fmt::format("Content-Length: {}\r\n", request.body.size());
  head += "\r\n" + request.body;
  iovec piece = {head.data(), head.size()};
  const base::Result<> sent = co_await connection.send({&piece, 1}, base::kNever);
  if (!sent) co_return answer;
  const base::Result<> read =
      co_await connection.read_head(net::AnswerTo::kOther, request.leave_at);
  if (!read) co_return answer;
  answer.status = connection.response().status;
  answer.content_type = connection.response().value("content-type");
  for (const net::Field& field : connection.response().fields) {
    answer.fields += fmt::format("{}: {}\n", base::lowered(field.name), field.value);
  }
  if (request.read_from > self.loop.now()) {
    static_cast<void>(co_await rt::sleep_until(request.read_from));
  }
  while (answer.pieces.size() < request.leave_after) {
    const base::Result<std::string_view> data = co_await connection.read_body(request.leave_at);
    if (!data) break;
    if (data->empty()) {
      answer.whole = true;
      break;
    }
    answer.body += *data;
    answer.pieces.push_back(self.loop.now());
  }
  co_return answer;
}

TestAnswer TestEngine::ask(const TestRequest& request) {
  return loop.block_on(exchange(*this, request));
}

namespace {

rt::Task<void> keep(rt::Task<TestAnswer> task, TestAnswer& into) {
  into = co_await std::move(task);
}

rt::Task<void> all(rt::Loop& loop, std::vector<rt::Task<TestAnswer>> tasks,
                   std::vector<TestAnswer>& answers) {
  rt::TaskGroup group(loop);
  for (size_t i = 0; i < tasks.size(); ++i) group.spawn(keep(std::move(tasks[i]), answers[i]));
  static_cast<void>(co_await group.join());
}

}  // namespace

std::vector<TestAnswer> TestEngine::ask_all(std::vector<TestRequest> requests) {
  std::vector<TestAnswer> answers(requests.size());
  std::vector<rt::Task<TestAnswer>> tasks;
  for (TestRequest& request : requests) tasks.push_back(exchange(*this, std::move(request)));
  loop.block_on(all(loop, std::move(tasks), answers));
  return answers;
}

double TestEngine::metric(const std::string& series) {
  const std::string text = get("/metrics").body;
  const size_t at = text.find("\n" + series);
  if (at == std::string::npos) return -1;
  const size_t space = text.find(' ', at + series.size());
  return std::stod(text.substr(space + 1));
}

std::string chat(const std::string& text, const std::string& more) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"{}"}}]{}{}}})", text,
                     more.empty() ? "" : ",", more);
}

const codec::Json& choice(const codec::Json& answer, size_t i) {
  return answer.find("choices")->items()[i];
}

std::string finish(const codec::Json& answer, size_t i) {
  return choice(answer, i).find("finish_reason")->as_string();
}

std::string error_message(const TestAnswer& answer) {
  return answer.json().find("error")->find("message")->as_string();
}

}  // namespace fairlead::engine
