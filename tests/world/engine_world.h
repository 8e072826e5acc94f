// Simulated engines behind a router, on one virtual loop. See router/testing/router_world.h.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "codec/json.h"
#include "engine/engine.h"
#include "engine/parse_args.h"
#include "router/testing/router_world.h"

namespace fairlead {

class EngineWorld : public router::RouterTest {
 protected:
  // One engine that listens on address(n); `args` as on the command line.
  void add_engine(int n, const std::string& args, const engine::Environment& environment = {}) {
    std::istringstream words(fmt::format(
        "--served-model-name llama --enable-prompt-tokens-details --host 10.0.0.{} {}", n, args));
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    auto config = engine::parse_engine_args(list, environment);
    ASSERT_TRUE(config) << config.error().describe();
    configs_.push_back(std::move(*config));
    simulated_.emplace_back();
    groups_.emplace_back();
    start_engine(configs_.size() - 1);
  }
  // As kill -9, and as a new process at the address of the old one.
  void kill_engine(int n) {
    const auto i = static_cast<size_t>(n - 1);
    network_.reset_streams(address(n));
    groups_[i]->cancel(rt::CancelReason::kShutdown);
    run_for(std::chrono::milliseconds(1));
  }
  void revive_engine(int n) { start_engine(static_cast<size_t>(n - 1)); }
  void start_router(router::RouterConfig config) {
    for (size_t i = 1; i <= simulated_.size(); ++i)
      config.backend.push_back(url(static_cast<int>(i)));
    start(std::move(config));
    run_for(std::chrono::seconds(1));
  }
  // A fault, as an operator would inject it; "{}" changes nothing.
  void inject(int n, const std::string& faults) { post_to_engine(n, "/sim/faults", faults); }
  // Past the router; the engine must answer 200.
  void post_to_engine(int n, const std::string& path, const std::string& body) {
    clients_.spawn(exchange_with(address(n), path, body));
    run_for(std::chrono::milliseconds(5));
  }
  uint64_t blocks_used() const {
    uint64_t total = 0;
    for (const auto& e : simulated_) total += e->core().model().load().blocks_used;
    return total;
  }
  size_t requests_at_engines() const {
    size_t total = 0;
    for (const auto& e : simulated_) total += e->requests_active();
    return total;
  }
  // Router and engines are as if nobody had ever come.
  void expect_nothing_left() {
    expect_idle();
    EXPECT_EQ(blocks_used(), 0U);
    EXPECT_EQ(requests_at_engines(), 0U);
  }

  void TearDown() override {
    for (auto& e : simulated_) {
      e->stop();
      e->stop();
    }
    RouterTest::TearDown();
    for (const auto& group : groups_) EXPECT_EQ(group->running(), 0U);
    simulated_.clear();
  }

  std::vector<std::unique_ptr<engine::Engine>> simulated_;

 private:
  void start_engine(size_t i) {
    simulated_[i] = std::make_unique<engine::Engine>(network_, configs_[i], log_,
                                                     engine::EngineOptions{.id_seed = i + 1});
    groups_[i] = std::make_unique<rt::TaskGroup>(loop_);  // a cancelled one stays so
    groups_[i]->spawn(run(*simulated_[i]));
  }
  static rt::Task<void> run(engine::Engine& e) {
    const base::Result<> ended = co_await e.run();
    EXPECT_TRUE(ended);
  }
  rt::Task<void> exchange_with(net::Address to, std::string path, std::string body) {
    auto stream = co_await network_.connect(to, base::kNever);
    CHECK(stream.ok(), "the engine listens");
    net::ClientConnection connection(std::move(*stream));
    const auto answer = co_await net::fetch(connection,
                                            {.method = "POST",
                                             .target = path,
                                             .host = "e",
                                             .extra_fields = "Content-Type: application/json\r\n",
                                             .body = body},
                                            base::kNever);
    CHECK(answer.ok() && answer->status == 200, "the engine does what it is told");
  }

  std::vector<engine::EngineConfig> configs_;
  std::vector<std::unique_ptr<rt::TaskGroup>> groups_;  // one an engine
};

}  // namespace fairlead
