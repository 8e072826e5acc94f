#include "router/handover.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "net/tcp.h"
#include "rt/loop.h"

namespace fairlead::router {
namespace {

// A router that hands over, on a thread of its own, and its listener for clients.
class OldProcess {
 public:
  OldProcess() {
    listener_ = std::move(
        *network_.listen(*net::parse_address("127.0.0.1:0"), net::PortSharing::kExclusive));
    address_ = listener_->address();
    server_.emplace(loop_, path(), log_);
    EXPECT_TRUE(server_->add("clients", *listener_));
    EXPECT_TRUE(server_->listen());
    thread_ = std::thread([this] { taken_ = loop_.block_on(server_->run()); });
  }
  // Waits for the hand-over.
  bool taken() {
    thread_.join();
    server_.reset();
    listener_.reset();
    return taken_;
  }
  static std::string path() {
    return testing::TempDir() + "handover_test." + std::to_string(getpid());
  }
  const net::Address& address() const { return address_; }

 private:
  rt::Loop loop_;
  net::TcpNetwork network_{loop_};
  obs::Logger log_{loop_.clock(), {.level = obs::LogLevel::kOff}};
  std::unique_ptr<net::Listener> listener_;
  net::Address address_;
  std::optional<HandoverServer> server_;
  std::thread thread_;
  bool taken_ = false;
};

net::Address any_port(net::Address address) {
  address.port = 0;
  return address;
}

TEST(Handover, TheListenersOutliveTheOldProcess) {
  OldProcess old;
  auto before = TakenListeners::ask(OldProcess::path());
  ASSERT_TRUE(before) << before.error().describe();
  ASSERT_TRUE(before->any());
  std::vector<net::Fd> taken = before->take("clients", old.address());
  ASSERT_EQ(taken.size(), 1U);
  before->confirm();
  EXPECT_TRUE(old.taken());
  EXPECT_EQ(*net::bound_address(taken[0]), old.address());
  // It still listens: nobody else gets the port.
  rt::Loop loop;
  net::TcpNetwork network(loop);
  EXPECT_FALSE(network.listen(old.address(), net::PortSharing::kExclusive));
  EXPECT_TRUE(network.adopt(std::move(taken[0])));
}

TEST(Handover, ANewProcessThatDoesNotStartCostsNothing) {
  OldProcess old;
  {
    auto fails = TakenListeners::ask(OldProcess::path());
    ASSERT_TRUE(fails) << fails.error().describe();
  }
  auto next = TakenListeners::ask(OldProcess::path());
  ASSERT_TRUE(next) << next.error().describe();
  EXPECT_EQ(next->take("clients", any_port(old.address())).size(), 1U);
  next->confirm();
  EXPECT_TRUE(old.taken());
}

TEST(Handover, TakesOnlyWhatTheConfigurationHas) {
  OldProcess old;
  auto before = TakenListeners::ask(OldProcess::path());
  ASSERT_TRUE(before) << before.error().describe();
  net::Address other = old.address();
  ++other.port;
  EXPECT_TRUE(before->take("clients", other).empty());
  EXPECT_TRUE(before->take("metrics", old.address()).empty());
  EXPECT_EQ(before->take("clients", old.address()).size(), 1U);
  EXPECT_TRUE(before->take("clients", old.address()).empty()) << "once";
  before->confirm();
  EXPECT_TRUE(old.taken());
}

TEST(Handover, StartsAloneWhereNobodyIs) {
  const auto none = TakenListeners::ask(OldProcess::path() + ".nobody");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->any());
  const auto off = TakenListeners::ask("");
  ASSERT_TRUE(off);
  EXPECT_FALSE(off->any());
  EXPECT_FALSE(TakenListeners::ask(std::string(200, 'x'))) << "no path of a socket";
}

}  // namespace
}  // namespace fairlead::router
