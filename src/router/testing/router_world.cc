#include "router/testing/router_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/ascii.h"

namespace fairlead::router {
namespace {

net::Address shard_address(size_t shard) {
  return *net::parse_address(fmt::format("10.1.0.{}:8080", shard + 1));
}

rt::Task<void> run_shard(Shard& shard) { co_await shard.run(); }

}  // namespace

std::string Reply::field(const std::string& name) const {
  std::string joined;
  const auto [first, last] = fields.equal_range(name);
  for (auto it = first; it != last; ++it) {
    if (it != first) joined += ", ";
    joined += it->second;
  }
  return joined;
}

void RawClient::send(std::string_view bytes) {
  CHECK(stream != nullptr, "the client is connected");
  const net::IoResult io = stream->try_write(bytes);
  CHECK(io.count == bytes.size(), "what a raw client sends fits into the window");
}

std::string chat(std::string_view text, std::string_view more) {
  return fmt::format(R"({{"model":"llama","messages":[{{"role":"user","content":"{}"}}]{}{}}})",
                     text, more.empty() ? "" : ",", more);
}

Ask post(std::string body) { return {.body = std::move(body)}; }
Ask get(std::string path) {
  return {.body = {}, .path = std::move(path), .method = "GET", .fields = {}};
}

RouterTest::RouterTest(net::MemoryOptions options) : network_(loop_, options) {}
RouterTest::~RouterTest() = default;

FakeEngine& RouterTest::engine(int n, std::vector<std::string> models) {
  return engines_.emplace_back(network_, address(n), std::move(models));
}

void RouterTest::start_cold(RouterConfig config) {
  config.loops = std::max(1U, config.loops);
  if (config.seed == 0) config.seed = 1;
  if (config.backend.empty() && config.backends_file.empty()) {
    for (const FakeEngine& e : engines_) {
      config.backend.push_back("http://" + net::to_string(e.address()));
    }
  }
  auto made = Router::make(config, network_, log_,
                           [this](std::string_view lines) { access_lines_ += lines; });
  ASSERT_TRUE(made) << made.error().describe();
  router_ = std::move(*made);
  for (size_t i = 0; i < config.loops; ++i) {
    Shard& shard = router_->add_shard(network_);
    ASSERT_TRUE(shard.listen(shard_address(i), net::PortSharing::kExclusive));
    serving_.spawn(run_shard(shard));
  }
  ASSERT_TRUE(router_->listen_metrics(shard_address(kMetricsPort)));
  ASSERT_TRUE(router_->listen_debug(shard_address(kDebugPort)));
  serving_.spawn(router_->run_control());
}

void RouterTest::start(RouterConfig config) {
  start_cold(std::move(config));
  run_for(std::chrono::milliseconds(50));
}

const Reply& RouterTest::send(Ask ask) {
  Reply& reply = replies_.emplace_back();
  clients_.spawn(exchange(std::move(ask), reply));
  return reply;
}

const Reply& RouterTest::ask(Ask request) {
  const Reply& reply = send(std::move(request));
  const base::TimePoint limit = now() + std::chrono::hours(3);
  while (reply.end == Reply::End::kPending && now() < limit) {
    run_for(std::chrono::milliseconds(1));
  }
  EXPECT_NE(reply.end, Reply::End::kPending) << "a client waits for ever";
  return reply;
}

RawClient& RouterTest::raw_client(size_t shard) {
  RawClient& client = raw_clients_.emplace_back(loop_);
  client.group.spawn(connect(client, shard));
  run_for(std::chrono::milliseconds(1));
  return client;
}

rt::Task<void> RouterTest::connect(RawClient& client, size_t shard) {
  auto stream = co_await network_.connect(shard_address(shard), base::kNever);
  if (!stream) co_return;
  client.stream = std::move(*stream);
  std::string room(4096, '\0');
  for (;;) {
    const base::Result<size_t> n = co_await net::read_some(*client.stream, room);
    if (!n || *n == 0) {
      client.ended = n.ok();
      client.reset = !n && n.error().code() == base::ErrorCode::kConnectionReset;
      break;
    }
    client.received.append(room, 0, *n);
  }
  if (!client.ended && !client.reset) client.stream.reset();
}

rt::Task<void> RouterTest::exchange(Ask ask, Reply& reply) {
  reply.sent_at = now();
  auto stream = co_await network_.connect(shard_address(ask.shard), ask.leave_at);
  if (!stream) {
    reply.end = now() >= ask.leave_at ? Reply::End::kLeft : Reply::End::kNoAnswer;
    reply.done_at = now();
    co_return;
  }
  net::ClientConnection connection(std::move(*stream));
  std::string head = fmt::format("{} {} HTTP/1.{}\r\nHost: router\r\n{}", ask.method, ask.path,
                                 ask.minor_version, ask.fields);
  if (ask.method == "POST" && head.find("Transfer-Encoding") == std::string::npos) {
    head += fmt::format("Content-Length: {}\r\n", ask.body.size());
  }
  head += "\r\n" + ask.body;
  iovec piece = {head.data(), head.size()};
  // The router may answer before it has read all.
  static_cast<void>(co_await connection.send({&piece, 1}, ask.leave_at));
  co_await read_answer(connection, ask, reply);
  const bool cancelled = (co_await rt::current_scope()).cancelled();
  if (cancelled || now() >= ask.leave_at) reply.end = Reply::End::kLeft;
  reply.done_at = now();
}

rt::Task<void> RouterTest::read_answer(net::ClientConnection& connection, const Ask& ask,
                                       Reply& reply) {
  const base::Result<> read = co_await connection.read_head(
      ask.method == "HEAD" ? net::AnswerTo::kHead : net::AnswerTo::kOther, ask.leave_at);
  if (!read) {
    const bool broken = read.error().code() == base::ErrorCode::kProtocol;
    reply.end = broken ? Reply::End::kAborted : Reply::End::kNoAnswer;
    co_return;
  }
  reply.head_at = now();
  reply.status = connection.response().status;
  for (const net::Field& field : connection.response().fields) {
    reply.fields.emplace(base::lowered(field.name), field.value);
  }
  if (ask.read_from > now()) static_cast<void>(co_await rt::sleep_until(ask.read_from));
  for (;;) {
    const base::Result<std::string_view> data = co_await connection.read_body(ask.leave_at);
    if (!data || data->empty()) {
      reply.end = data.ok() ? Reply::End::kWhole : Reply::End::kAborted;
      co_return;
    }
    reply.body += *data;
    reply.pieces.push_back(now());
  }
}

double RouterTest::metric(const std::string& series) const {
  const std::string text = "\n" + router_->exposition();
  const size_t at = text.find("\n" + series + " ");
  if (at == std::string::npos) return 0;
  return std::stod(text.substr(at + series.size() + 2));
}

size_t RouterTest::unanswered() const {
  return static_cast<size_t>(
      std::count_if(replies_.begin(), replies_.end(),
                    [](const Reply& reply) { return reply.end == Reply::End::kPending; }));
}

void RouterTest::expect_idle() {
  EXPECT_EQ(metric("fairlead_reservations"), 0);
  EXPECT_EQ(metric("fairlead_requests_in_flight"), 0);
  EXPECT_EQ(metric("fairlead_held_body_bytes"), 0);
  EXPECT_EQ(metric("fairlead_connections"), 0);
  EXPECT_EQ(metric("fairlead_bugs_total"), 0);
  for (uint32_t i = 0; i < router_->columns().slots(); ++i) {
    const auto slot = static_cast<pick::Slot>(i);
    EXPECT_EQ(router_->columns().in_flight(slot), 0U) << i;
    EXPECT_EQ(router_->columns().ttft_model(slot).queued(), 0U) << i;
    EXPECT_EQ(router_->columns().ttft_model(slot).context(), 0U) << i;
  }
  for (const FakeEngine& e : engines_) EXPECT_EQ(e.active(), 0U) << net::to_string(e.address());
}

void RouterTest::stop() {
  clients_.cancel(rt::CancelReason::kShutdown);
  for (RawClient& client : raw_clients_) {
    client.leave();
    client.stream.reset();  // a reader that waits has been taken out by leave()
  }
  run_for(std::chrono::seconds(3));
  if (router_ != nullptr) expect_idle();
  serving_.cancel(rt::CancelReason::kShutdown);
  for (FakeEngine& e : engines_) e.stop();
  run_for(std::chrono::seconds(1));
  EXPECT_EQ(serving_.running(), 0U) << "the router does not stop";
  router_.reset();
  EXPECT_EQ(network_.open_streams(), 0U);
}

}  // namespace fairlead::router
