// What a request takes from the heap on its way through a warmed-up shard: nothing. A shard on a
// thread of its own, over loopback; engine, clients and control loop are on this one and do not
// count. Bodies within the first read need no memory of their own either.
//
// A program of its own because it replaces malloc. Not built for sanitizers, where frames and
// buffers come from malloc on purpose.
#include <execinfo.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/tcp.h"
#include "router/router.h"

namespace {

thread_local bool counts = false;  // this thread's allocations
std::atomic<bool> counting{false};
std::atomic<uint64_t> allocations{0};

// Where the first of them came from, for who has to find it.
constexpr size_t kTracesMax = 8;
constexpr int kFramesMax = 24;
std::array<std::array<void*, kFramesMax>, kTracesMax> traces;
std::array<int, kTracesMax> trace_frames{};

void note_allocation() {
  if (!counts || !counting.load(std::memory_order_relaxed)) return;
  counts = false;  // backtrace() may allocate
  const uint64_t n = allocations.fetch_add(1, std::memory_order_relaxed);
  if (n < kTracesMax) trace_frames[n] = backtrace(traces[n].data(), kFramesMax);
  counts = true;
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t size) noexcept;
void* __libc_calloc(size_t count, size_t size) noexcept;
void* __libc_realloc(void* memory, size_t size) noexcept;
void* __libc_memalign(size_t alignment, size_t size) noexcept;

void* malloc(size_t size) noexcept {
  note_allocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  note_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  note_allocation();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  note_allocation();
  return __libc_memalign(alignment, size);
}
}

namespace fairlead::router {
namespace {

constexpr std::string_view kModel = "organisation/a-model-whose-name-is-longer-than-a-short-string";
constexpr int kRequests = 200;
constexpr int kTokens = 8;

class Engine final : public net::Handler {
 public:
  rt::Task<void> handle(net::Exchange& exchange) override {
    const std::string_view path = exchange.request().path;
    const bool streams = exchange.body().find(R"("stream":true)") != std::string_view::npos;
    if (path == "/v1/models") {
      static_cast<void>(co_await exchange.respond(
          {200, "application/json", {}},
          fmt::format(R"({{"object":"list","data":[{{"id":"{}","object":"model"}}]}})", kModel)));
    } else if (path == "/health") {
      static_cast<void>(co_await exchange.respond({200, {}, {}}, {}));
    } else if (path == "/metrics") {
      static_cast<void>(co_await exchange.respond({404, {}, {}}, {}));
    } else if (streams) {
      co_await stream(exchange);
    } else {
      static_cast<void>(co_await exchange.respond({200, "application/json", {}}, kAnswer));
    }
  }
  net::Refusal refusal(int status, std::string_view message) override {
    return {.status = status, .body = std::string(message), .extra_fields = {}};
  }

 private:
  static constexpr std::string_view kAnswer =
      R"({"id":"chatcmpl-80404a94a063c861","object":"chat.completion","choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":"A small share of the traffic goes first."},)"
      R"("finish_reason":"stop"}],"usage":{"prompt_tokens":1024,"total_tokens":1040,)"
      R"("completion_tokens":16,"prompt_tokens_details":{"cached_tokens":512}}})";
  static constexpr std::string_view kToken =
      "data: {\"id\":\"chatcmpl-80404a94a063c861\",\"choices\":[{\"index\":0,\"delta\":"
      "{\"content\":\" canary\"},\"finish_reason\":null}]}\n\n";
  static constexpr std::string_view kUsage =
      "data: {\"id\":\"chatcmpl-80404a94a063c861\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
      "\"total_tokens\":17,\"completion_tokens\":8}}\n\n";

  static rt::Task<void> stream(net::Exchange& exchange) {
    const bool usage = exchange.body().find("include_usage") != std::string_view::npos;
    EXPECT_TRUE(usage) << "the router asks for the usage of streams";
    static_cast<void>(co_await exchange.start({200, "text/event-stream; charset=utf-8", {}}));
    for (int i = 0; i < kTokens; ++i) static_cast<void>(co_await exchange.write(kToken));
    static_cast<void>(co_await exchange.write(kUsage));
    static_cast<void>(co_await exchange.write("data: [DONE]\n\n"));
    static_cast<void>(co_await exchange.finish());
  }
};

rt::Task<void> serve(Shard& shard) { co_await shard.run(); }
rt::Task<void> join(rt::TaskGroup& group) { static_cast<void>(co_await group.join()); }

std::string request(std::string_view more) {
  // As long as the prompts of bench/run.
  const std::string text(3'800, 'x');
  const std::string body = fmt::format(
      R"({{"model":"{}",{}"max_tokens":16,"messages":[{{"role":"user","content":"{}"}}]}})", kModel,
      more, text);
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: router\r\nUser-Agent: test\r\nAccept: */*\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

class Allocations : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const net::Address any = *net::parse_address("127.0.0.1:0");
    ASSERT_TRUE(engine_server_.listen(any, net::PortSharing::kExclusive));
    RouterConfig config;
    config.loops = 1;
    config.policy = std::string(GetParam());
    config.backend = {"http://" + net::to_string(engine_server_.address())};
    auto made = Router::make(config, network_, log_, [](std::string_view) {});
    ASSERT_TRUE(made) << made.error().describe();
    router_ = std::move(*made);
    shard_ = &router_->add_shard(shard_network_);
    ASSERT_TRUE(shard_->listen(any, net::PortSharing::kExclusive));
    thread_ = std::thread([this] {
      counts = true;
      shard_loop_.block_on(serve(*shard_));
    });
    group_.spawn(engine_server_.run());
    group_.spawn(router_->run_control());
  }
  void TearDown() override {
    shard_->drain(base::Nanos(0));
    thread_.join();
    group_.cancel(rt::CancelReason::kShutdown);
    loop_.block_on(join(group_));
    router_.reset();
  }

  // kRequests of them over one connection, one after the other: what is in flight at a time is then
  // the same while the shard warms up and while it is counted.
  rt::Task<void> exchange(net::ClientConnection& connection, std::string_view text) {
    const base::TimePoint deadline = base::after(loop_.now(), std::chrono::minutes(1));
    for (int i = 0; i < kRequests; ++i) {
      iovec piece = net::iovec_of(text);
      base::Result<> done = co_await connection.send({&piece, 1}, deadline);
      if (done) done = co_await connection.read_head(net::AnswerTo::kOther, deadline);
      CHECK(done.ok(), "a request is answered");
      EXPECT_EQ(connection.response().status, 200);
      for (;;) {
        const base::Result<std::string_view> data = co_await connection.read_body(deadline);
        CHECK(data.ok(), "an answer is whole");
        if (data->empty()) break;
      }
    }
  }
  rt::Task<uint64_t> count(std::string_view text) {
    auto stream = co_await network_.connect(shard_->address(), base::kNever);
    CHECK(stream.ok(), "the shard listens");
    net::ClientConnection connection(std::move(*stream));
    allocations = 0;
    counting = true;
    co_await exchange(connection, text);
    EXPECT_GT(allocations, 0U) << "a shard that warms up allocates, so they are counted";
    allocations = 0;
    co_await exchange(connection, text);
    counting = false;
    co_return allocations.load();
  }

  // Of the shard's thread, over kRequests of these once as many have gone before.
  uint64_t count_allocations(const std::string& text) {
    const uint64_t found = loop_.block_on(count(text));
    for (size_t i = 0; i < std::min<size_t>(found, kTracesMax); ++i) {
      backtrace_symbols_fd(traces[i].data(), trace_frames[i], STDERR_FILENO);
      fmt::print(stderr, "\n");
    }
    return found;
  }

  rt::Loop loop_;
  net::TcpNetwork network_{loop_};
  rt::Loop shard_loop_;
  net::TcpNetwork shard_network_{shard_loop_};
  obs::Logger log_{loop_.clock(), {.level = obs::LogLevel::kOff}};
  Engine engine_;
  net::HttpServer engine_server_{network_, engine_, {}};
  std::unique_ptr<Router> router_;
  Shard* shard_ = nullptr;
  std::thread thread_;
  rt::TaskGroup group_{loop_};
};

TEST_P(Allocations, AreNotNeededForARequest) { EXPECT_EQ(count_allocations(request("")), 0U); }

TEST_P(Allocations, AreNotNeededForAStream) {
  EXPECT_EQ(count_allocations(request(R"("stream":true,)")), 0U);
}

INSTANTIATE_TEST_SUITE_P(Policies, Allocations, testing::ValuesIn(pick::Policy::names()),
                         [](const auto& of) {
                           std::string name(of.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace fairlead::router
