// The control of back ends against fake engines over the in-memory network, in virtual time.
#include "router/backend_control.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "base/hash.h"
#include "net/http_server.h"
#include "net/memory.h"

namespace fairlead::router {
namespace {

using pick::Health;
using pick::Slot;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers what a router asks of an engine.
class ControlledEngine final : public net::Handler {
 public:
  ControlledEngine(net::MemoryNetwork& network, net::Address address,
                   std::vector<std::string> models)
      : models_(std::move(models)), network_(network), address_(address) {
    start();
  }
  void start() {
    group_ = std::make_unique<rt::TaskGroup>(network_.loop());
    server_ = std::make_unique<net::HttpServer>(network_, *this, net::ServerOptions{});
    ASSERT_TRUE(server_->listen(address_, net::PortSharing::kExclusive));
    group_->spawn(server_->run());
  }
  // As kill -9. stop() ends it in order; both need the loop to run afterwards.
  void kill() {
    network_.reset_streams(address_);
    stop();
  }
  void stop() { group_->cancel(rt::CancelReason::kShutdown); }

  rt::Task<void> handle(net::Exchange& exchange) override {
    const std::string_view path = exchange.request().path;
    int status = 404;
    std::string body;
    if (path == "/health") {
      ++health_probes;
      status = health_status;
    } else if (path == "/metrics" && hung_metrics) {
      co_await rt::sleep_until(base::kNever);
    } else if (path == "/metrics" && has_metrics) {
      ++scrapes;
      status = 200;
      body = "vllm:num_requests_running{engine=\"0\"} " + std::to_string(running) +
             "\nvllm:num_requests_waiting{engine=\"0\"} 0\nvllm:kv_cache_usage_perc 0.25\nserial " +
             std::to_string(frozen_metrics ? 0 : scrapes) + "\n";
    } else if (path == "/v1/models") {
      status = 200;
      body = R"({"object":"list","data":[)";
      for (const std::string& model : models_) {
        if (&model != &models_[0]) body += ",";
        body += "{\"id\":\"" + model + "\"}";
      }
      body += "]}";
    }
    static_cast<void>(
        co_await exchange.respond({.status = status, .content_type = "text/plain"}, body));
  }
  net::Refusal refusal(int status, std::string_view) override { return {.status = status}; }

  int health_status = 200;
  bool has_metrics = true;
  bool frozen_metrics = false;
  bool hung_metrics = false;
  int running = 0;
  int health_probes = 0;
  int scrapes = 0;
  std::vector<std::string> models_;

 private:
  net::MemoryNetwork& network_;
  net::Address address_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<rt::TaskGroup> group_;
};

class FakeShard final : public ShardControl {
 public:
  explicit FakeShard(uint32_t slots) : traffic_(slots) {}
  void install(std::shared_ptr<const Snapshot> next) override {
    snapshot = std::move(next);
    ++installs;
  }
  void evacuate(Slot slot) override { evacuated.push_back(slot); }
  const Traffic& traffic() const override { return traffic_; }

  std::shared_ptr<const Snapshot> snapshot;
  int installs = 0;
  std::vector<Slot> evacuated;
  Traffic traffic_;
};

class BackendControlTest : public testing::Test {
 protected:
  static constexpr uint32_t kSlots = 4;

  void TearDown() override {
    group_.cancel(rt::CancelReason::kShutdown);
    for (auto& engine : engines_) engine->stop();
    loop_.run_until_idle(loop_.now() + seconds(1));
    control_.reset();
    EXPECT_EQ(network_.open_streams(), 0u);
    if (!file_.empty()) std::remove(file_.c_str());
  }

  static net::Address address(int n) {
    return *net::parse_address("10.0.0." + std::to_string(n) + ":8000");
  }
  static net::HostPort url(int n) { return {"10.0.0." + std::to_string(n), 8000}; }
  ControlledEngine& engine(int n, std::vector<std::string> models = {"llama"}) {
    engines_.push_back(std::make_unique<ControlledEngine>(network_, address(n), std::move(models)));
    return *engines_.back();
  }
  void start(BackendOptions options) {
    control_ =
        std::make_unique<BackendControl>(network_, columns_, index_, log_, std::move(options));
    const auto loaded = control_->load();
    ASSERT_TRUE(loaded) << loaded.error().describe();
    control_->add_shard(shard_);
    group_.spawn(control_->run());
  }
  void start(std::vector<net::HostPort> backends) {
    start(BackendOptions{.backends = std::move(backends)});
  }
  void write_file(const std::string& content) {
    if (file_.empty()) {
      file_ = testing::TempDir() + "control_backends_XXXXXX";
      close(mkstemp(file_.data()));
    }
    std::ofstream(file_) << content;
  }
  void run_for(base::Nanos time) { loop_.run_until_idle(loop_.now() + time); }
  std::vector<Slot> slots_of(std::string_view model) {
    const pick::Model* found = shard_.snapshot->table.find(model);
    return found == nullptr ? std::vector<Slot>{} : found->slots;
  }
  std::string name_of(Slot slot) { return shard_.snapshot->by_slot[slot]->name; }
  void record(Slot slot) {
    const std::array<uint64_t, 2> blocks{base::mix64(1), base::mix64(2)};
    index_.record(index_.holder(slot), blocks);
  }

  base::ManualClock clock_;
  rt::Loop loop_{clock_};
  net::MemoryNetwork network_{loop_, {.latency = std::chrono::microseconds(50)}};
  obs::Logger log_{clock_, {.level = obs::LogLevel::kOff}};
  pick::Columns columns_{kSlots};
  cache_index::PrefixIndex index_{{.bytes_max = base::Bytes(1 << 16), .slots = kSlots}};
  FakeShard shard_{kSlots};
  std::vector<std::unique_ptr<ControlledEngine>> engines_;
  std::string file_;
  std::unique_ptr<BackendControl> control_;
  rt::TaskGroup group_{loop_};
};

TEST_F(BackendControlTest, PublishesWhoServesWhatWithinMilliseconds) {
  engine(1, {"llama"});
  engine(2, {"llama", "lora"});
  start({url(1), url(2)});
  EXPECT_FALSE(shard_.snapshot->settled);
  run_for(milliseconds(20));
  EXPECT_TRUE(shard_.snapshot->settled);
  EXPECT_EQ(slots_of("llama"), (std::vector<Slot>{0, 1}));
  EXPECT_EQ(slots_of("lora"), (std::vector<Slot>{1}));
  EXPECT_TRUE(slots_of("other").empty());
  EXPECT_EQ(shard_.snapshot->models_json,
            R"({"object":"list","data":[{"id":"llama"},{"id":"lora"}]})");
  EXPECT_EQ(columns_.health(0), Health::kReady);
  EXPECT_EQ(columns_.unready(), 0u);
  EXPECT_EQ(columns_.scraped(1).kv_usage, 0.25F);
}

TEST_F(BackendControlTest, SteadyBackEndsCauseNoNewSnapshotsAndFewProbes) {
  ControlledEngine& only = engine(1);
  start({url(1)});
  run_for(seconds(2));
  const int installs = shard_.installs;
  only.health_probes = only.scrapes = 0;
  run_for(seconds(60));
  EXPECT_EQ(shard_.installs, installs);
  EXPECT_NEAR(only.health_probes, 60, 1);
  EXPECT_NEAR(only.scrapes, 60, 1);
  EXPECT_EQ(network_.open_streams(), 1u) << "one kept connection";
}

TEST_F(BackendControlTest, AnUnknownModelIsSettledOnceTheLastBackEndHadItsTime) {
  engine(1);
  start({url(1), url(2)});  // nobody listens at the second
  run_for(milliseconds(4'900));
  EXPECT_EQ(slots_of("llama").size(), 1u);
  EXPECT_FALSE(shard_.snapshot->settled);
  run_for(milliseconds(400));
  EXPECT_TRUE(shard_.snapshot->settled);
  EXPECT_EQ(columns_.health(1), Health::kDown);
}

TEST_F(BackendControlTest, AnEngineThatStartsLateIsUsedSoonAfter) {
  start({url(1)});
  run_for(milliseconds(3'300));
  engine(1);
  run_for(milliseconds(250));
  EXPECT_EQ(slots_of("llama").size(), 1u);
  EXPECT_EQ(columns_.health(0), Health::kReady);
}

TEST_F(BackendControlTest, ModelsThatAnEngineLoadsAndDropsAreFollowed) {
  ControlledEngine& only = engine(1, {"base"});
  start({url(1)});
  run_for(seconds(1));
  only.models_ = {"base", "lora"};
  run_for(seconds(12));
  EXPECT_EQ(slots_of("lora").size(), 1u);
  only.models_ = {"base"};
  run_for(seconds(12));
  EXPECT_TRUE(slots_of("lora").empty());
}

TEST_F(BackendControlTest, AnEngineWithoutMetricsIsUsable) {
  engine(1).has_metrics = false;
  start({url(1)});
  run_for(seconds(40));
  EXPECT_EQ(columns_.health(0), Health::kReady);
  ASSERT_EQ(control_->status().size(), 1u);
  EXPECT_FALSE(control_->status()[0].metrics_age.has_value());
}

TEST_F(BackendControlTest, RequestsOfOthersCountUntilTheMetricsFreeze) {
  ControlledEngine& only = engine(1);
  only.running = 7;
  start({url(1)});
  run_for(seconds(3));
  EXPECT_EQ(columns_.load(0), 7u);
  only.frozen_metrics = true;
  run_for(seconds(8));
  EXPECT_EQ(columns_.load(0), 7u);
  run_for(seconds(5));
  EXPECT_EQ(columns_.load(0), 0u);
  EXPECT_GE(*control_->status()[0].metrics_age, seconds(10));
  EXPECT_EQ(columns_.health(0), Health::kReady);
  only.frozen_metrics = false;
  run_for(seconds(2));
  EXPECT_EQ(columns_.load(0), 7u);
}

TEST_F(BackendControlTest, AnEngineWhoseMetricsHangIsUsable) {
  ControlledEngine& only = engine(1);
  only.running = 7;
  start({url(1)});
  run_for(seconds(3));
  only.hung_metrics = true;
  for (int i = 0; i < 400; ++i) {
    run_for(milliseconds(100));
    ASSERT_EQ(columns_.health(0), Health::kReady) << i;
  }
  EXPECT_EQ(columns_.load(0), 0u);
}

TEST_F(BackendControlTest, AKilledEngineIsDownAndComesBackWithAnEmptyCache) {
  ControlledEngine& killed = engine(1);
  engine(2);
  start({url(1), url(2)});
  run_for(seconds(2));
  record(0);
  record(1);
  killed.kill();
  run_for(milliseconds(2'500));
  EXPECT_EQ(columns_.health(0), Health::kDown);
  EXPECT_EQ(shard_.evacuated, (std::vector<Slot>{0}));
  EXPECT_EQ(slots_of("llama").size(), 2u) << "its models stay known: 503 is not 404";
  killed.start();
  run_for(milliseconds(1'500));
  EXPECT_EQ(columns_.health(0), Health::kReady);
  EXPECT_EQ(index_.stats().entries, 2u) << "of the other replica";
}

TEST_F(BackendControlTest, AStoppedEngineIsLeftWithinThreeSeconds) {
  engine(1);
  start({url(1)});
  for (int phase = 0; phase < 10; ++phase) {
    run_for(seconds(5) + milliseconds(100 * phase));
    shard_.evacuated.clear();
    network_.freeze(address(1));
    run_for(milliseconds(2'900));
    EXPECT_EQ(columns_.health(0), Health::kSuspect) << phase;
    EXPECT_EQ(shard_.evacuated, (std::vector<Slot>{0})) << phase;
    network_.thaw(address(1));
    run_for(seconds(2));
    EXPECT_EQ(columns_.health(0), Health::kReady) << phase;
  }
}

TEST_F(BackendControlTest, AHungReplicaDelaysNobodyElsesProbes) {
  ControlledEngine& hung = engine(1);
  ControlledEngine& good = engine(2);
  start({url(1), url(2)});
  run_for(seconds(3));
  hung.hung_metrics = true;
  network_.freeze(address(1));
  good.health_probes = good.scrapes = 0;
  run_for(seconds(60));
  EXPECT_NEAR(good.health_probes, 60, 1);
  EXPECT_NEAR(good.scrapes, 60, 1);
  network_.thaw(address(1));
}

TEST_F(BackendControlTest, AnEngineWhoseStreamsFlowMayMissProbes) {
  engine(1);
  start({url(1)});
  run_for(seconds(2));
  network_.freeze(address(1));
  for (int i = 0; i < 200; ++i) {
    shard_.traffic_.heard(0, loop_.now());
    run_for(milliseconds(100));
    ASSERT_EQ(columns_.health(0), Health::kReady) << i;
  }
  EXPECT_TRUE(shard_.evacuated.empty());
  network_.thaw(address(1));
}

TEST_F(BackendControlTest, AFailedConnectionIsLookedIntoAtOnce) {
  ControlledEngine& only = engine(1);
  start({url(1)});
  run_for(milliseconds(2'050));
  const int probes = only.health_probes;
  control_->report(0, FailureKind::kConnect);
  run_for(milliseconds(0));
  EXPECT_EQ(columns_.health(0), Health::kSuspect);
  run_for(milliseconds(110));
  EXPECT_EQ(only.health_probes, probes + 1);
  EXPECT_EQ(columns_.health(0), Health::kReady);
  only.kill();
  control_->report(0, FailureKind::kConnect);
  run_for(milliseconds(250));
  EXPECT_EQ(columns_.health(0), Health::kDown);
}

TEST_F(BackendControlTest, AStormOfReportsIsNoStormOfProbes) {
  ControlledEngine& bad = engine(1);
  engine(2);
  start({url(1), url(2)});
  run_for(seconds(2));
  bad.health_probes = 0;
  for (int i = 0; i < 1'000; ++i) {
    control_->report(0, FailureKind::kStatus);
    run_for(milliseconds(1));
  }
  EXPECT_LE(bad.health_probes, 11);
  EXPECT_EQ(columns_.health(0), Health::kEjected);
}

TEST_F(BackendControlTest, AReplicaWhoseAnswersFailIsEjectedThenTriedThenEasedIn) {
  engine(1);
  engine(2);
  start({url(1), url(2)});
  run_for(seconds(2));
  for (int i = 0; i < 4; ++i) control_->report(0, FailureKind::kReset);
  run_for(milliseconds(10));
  EXPECT_EQ(columns_.health(0), Health::kReady);
  control_->report(0, FailureKind::kReset);
  run_for(milliseconds(1));
  EXPECT_EQ(columns_.health(0), Health::kEjected);
  run_for(milliseconds(4'900));
  EXPECT_EQ(columns_.health(0), Health::kEjected) << "probes that are answered do not shorten it";
  run_for(milliseconds(400));
  EXPECT_EQ(columns_.health(0), Health::kReady);
  EXPECT_EQ(columns_.share(0), 0.0F);
  EXPECT_EQ(control_->status()[0].breaker, BreakerState::kHalfOpen);
  for (int i = 0; i < 3; ++i) shard_.traffic_.answered(0);
  run_for(milliseconds(200));
  EXPECT_EQ(control_->status()[0].breaker, BreakerState::kClosed);
  EXPECT_NEAR(columns_.share(0), 0.1F, 0.01F);
  run_for(seconds(5));
  EXPECT_NEAR(columns_.share(0), 0.5F, 0.05F);
  run_for(seconds(5));
  EXPECT_EQ(columns_.share(0), 1.0F);
  EXPECT_EQ(columns_.returning(), 0u);
}

TEST_F(BackendControlTest, WhenTooManyWouldBeEjectedAllAreUsed) {
  engine(1);
  engine(2);
  start({url(1), url(2)});
  run_for(seconds(2));
  for (int i = 0; i < 5; ++i) control_->report(0, FailureKind::kStatus);
  run_for(milliseconds(1));
  EXPECT_EQ(columns_.health(0), Health::kEjected);
  for (int i = 0; i < 5; ++i) control_->report(1, FailureKind::kStatus);
  run_for(milliseconds(1));
  EXPECT_EQ(columns_.health(1), Health::kReady);
  run_for(milliseconds(200));
  EXPECT_EQ(columns_.health(0), Health::kReady);
  EXPECT_TRUE(control_->status()[0].spared);
}

TEST_F(BackendControlTest, AnswersThatBreakOffLateEjectOnlyTheReplicaThatStandsOut) {
  engine(1);
  engine(2);
  start({url(1), url(2)});
  run_for(seconds(2));
  const auto round = [this](std::initializer_list<Slot> broken) {
    for (int i = 0; i < 30; ++i) {
      for (Slot slot = 0; slot < 2; ++slot) shard_.traffic_.answered(slot);
      for (const Slot slot : broken) control_->report(slot, FailureKind::kBrokenOff);
    }
    run_for(milliseconds(500));
  };
  round({0, 1});
  EXPECT_EQ(columns_.unready(), 0u) << "what cuts long answers off is in between";
  run_for(seconds(11));
  round({0});
  EXPECT_EQ(columns_.health(0), Health::kEjected);
}

TEST_F(BackendControlTest, AReplicaThatComesBackFromTheDeadIsEasedIn) {
  ControlledEngine& killed = engine(1);
  engine(2);
  start({url(1), url(2)});
  run_for(seconds(2));
  EXPECT_EQ(columns_.returning(), 0u) << "replicas that are there at the start are not returning";
  killed.kill();
  run_for(seconds(3));
  EXPECT_EQ(columns_.health(0), Health::kDown);
  killed.start();
  run_for(milliseconds(1'500));
  EXPECT_EQ(columns_.health(0), Health::kReady);
  EXPECT_LT(columns_.share(0), 0.2F);
  run_for(seconds(10));
  EXPECT_EQ(columns_.share(0), 1.0F);
}

TEST_F(BackendControlTest, AHealthCheckThatFailsTakesAReplicaOut) {
  ControlledEngine& only = engine(1);
  start({url(1)});
  run_for(seconds(1));
  only.health_status = 503;
  run_for(seconds(3));
  EXPECT_EQ(columns_.health(0), Health::kDown);
}

TEST_F(BackendControlTest, EachAddressOfANameIsAReplicaAndChangesAreFollowed) {
  engine(1);
  engine(2);
  engine(3);
  network_.name("engines.svc", {address(1), address(2)});
  start({{"engines.svc", 8000}, {"10.0.0.1", 8000}});
  run_for(seconds(1));
  EXPECT_EQ(slots_of("llama"), (std::vector<Slot>{0, 1}));
  EXPECT_EQ(name_of(0), "10.0.0.1:8000");
  EXPECT_EQ(shard_.snapshot->by_slot[0]->host, "engines.svc:8000");
  network_.name("engines.svc", {address(2), address(3)});
  run_for(seconds(11));
  // The first is still listed by its own URL.
  EXPECT_EQ(slots_of("llama"), (std::vector<Slot>{0, 1, 2}));
  EXPECT_EQ(name_of(2), "10.0.0.3:8000");
}

TEST_F(BackendControlTest, ANameThatStopsResolvingKeepsItsReplicas) {
  engine(1);
  network_.name("engines.svc", {address(1)});
  start({{"engines.svc", 8000}});
  run_for(seconds(1));
  EXPECT_EQ(name_of(0), "engines.svc:8000");
  network_.name("engines.svc", {});
  run_for(seconds(30));
  EXPECT_EQ(slots_of("llama").size(), 1u);
}

TEST_F(BackendControlTest, ASlotIsUsedAgainOnlyWhenNothingNamesOrUsesIt) {
  engine(1);
  engine(2);
  engine(3);
  write_file("backends: [\"http://10.0.0.1:8000\"]");
  start(BackendOptions{.backends_file = file_});
  run_for(seconds(1));
  std::shared_ptr<const Snapshot> old = shard_.snapshot;
  columns_.begin(0, 100);
  record(0);

  write_file("backends: [\"http://10.0.0.2:8000\"]");
  run_for(seconds(2));
  EXPECT_EQ(slots_of("llama"), (std::vector<Slot>{1}));
  EXPECT_EQ(index_.stats().entries, 0u);
  EXPECT_EQ(columns_.in_flight(0), 1u) << "its stream goes on";
  record(0);  // a shard that still has the old snapshot

  columns_.end(0);
  write_file("backends: [\"http://10.0.0.2:8000\", \"http://10.0.0.3:8000\"]");
  run_for(seconds(2));
  EXPECT_EQ(slots_of("llama"), (std::vector<Slot>{1, 2})) << "the old snapshot names slot 0";

  old.reset();
  run_for(seconds(1));
  EXPECT_EQ(index_.stats().entries, 0u);
  write_file("backends: [\"http://10.0.0.1:8000\"]");
  run_for(seconds(2));
  EXPECT_EQ(slots_of("llama"), (std::vector<Slot>{0}));
}

TEST_F(BackendControlTest, AFileThatIsBrokenLaterChangesNothing) {
  engine(1);
  write_file("backends: [\"http://10.0.0.1:8000\"]");
  start(BackendOptions{.backends_file = file_});
  run_for(seconds(2));
  write_file("backends: [\"nonsense://\"]");
  run_for(seconds(5));
  EXPECT_EQ(slots_of("llama").size(), 1u);
  EXPECT_EQ(control_->file_errors_total(), 1u);
  write_file("backends: []");
  run_for(seconds(2));
  EXPECT_TRUE(slots_of("llama").empty());
  EXPECT_TRUE(shard_.snapshot->settled);
}

TEST_F(BackendControlTest, AFileThatIsBrokenAtTheStartIsAnError) {
  write_file("backends: [\"nonsense://\"]");
  BackendControl control(network_, columns_, index_, log_, {.backends_file = file_});
  const auto loaded = control.load();
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().describe().find("line 1"), std::string::npos);
}

TEST_F(BackendControlTest, MoreBackEndsThanSlotsAreCountedAndLeftOut) {
  std::vector<net::HostPort> backends;
  for (int n = 1; n <= 5; ++n) {
    engine(n);
    backends.push_back(url(n));
  }
  start(backends);
  run_for(milliseconds(500));
  EXPECT_EQ(slots_of("llama").size(), kSlots);
  EXPECT_GE(control_->refused_total(), 1u);
}

TEST_F(BackendControlTest, ANewReplicaIsNotFloodedToCatchUp) {
  engine(1);
  engine(2);
  write_file("backends: [\"http://10.0.0.1:8000\"]");
  start(BackendOptions{.backends_file = file_});
  run_for(seconds(1));
  columns_.begin(0, 5'000);
  columns_.end(0);
  write_file("backends: [\"http://10.0.0.1:8000\", \"http://10.0.0.2:8000\"]");
  run_for(seconds(2));
  EXPECT_EQ(columns_.prompt_tokens_given(1), 5'000u);
}

}  // namespace
}  // namespace fairlead::router
