// The router behind its certificate and in front of engines with one, in virtual time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "net/tls.h"
#include "net/tls_testing.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// An engine that speaks TLS.
class SecureEngine final : public net::Handler {
 public:
  SecureEngine(net::MemoryNetwork& network, const net::Address& address, net::TlsServer& tls)
      : server_(network, *this, {.tls = &tls}), group_(network.loop()) {
    CHECK(server_.listen(address, net::PortSharing::kExclusive).ok(), "the address is free");
    group_.spawn(server_.run());
  }
  rt::Task<void> handle(net::Exchange& exchange) override {
    const std::string_view path = exchange.request().path;
    std::string body = "{}";
    if (path == "/v1/models") body = R"({"object":"list","data":[{"id":"llama"}]})";
    if (path == "/v1/chat/completions") {
      ++chats;
      body = R"({"id":"secure","choices":[]})";
    }
    const int status = path == "/metrics" ? 404 : 200;
    static_cast<void>(co_await exchange.respond({status, "application/json", {}}, body));
  }
  net::Refusal refusal(int status, std::string_view message) override {
    return {.status = status, .body = std::string(message), .extra_fields = {}};
  }
  void stop() { group_.cancel(rt::CancelReason::kShutdown); }

  int chats = 0;

 private:
  net::HttpServer server_;
  rt::TaskGroup group_;
};

class RouterTls : public RouterTest {
 protected:
  RouterTls() {
    std::string pattern = testing::TempDir() + "fairlead-tls-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~RouterTls() override { std::system(("rm -r " + folder_).c_str()); }

  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
    return folder_ + "/" + name;
  }
  void write(const net::Certificate& certificate) {
    file("cert", certificate.chain_pem);
    file("key", certificate.key_pem);
  }
  RouterConfig with_certificate() {
    write(authority_.issue("DNS:router.example"));
    RouterConfig config;
    config.tls_cert = folder_ + "/cert";
    config.tls_key = folder_ + "/key";
    return config;
  }
  // The status of a chat over a connection of its own, or why there is none.
  rt::Task<void> chat_over_tls(std::string host, std::string& result) {
    auto stream =
        co_await net::connect_tls(network_, *client_, *net::parse_address("10.1.0.1:8080"),
                                  std::move(host), base::after(now(), seconds(5)));
    if (!stream) {
      result = stream.error().message();
      co_return;
    }
    net::ClientConnection connection(std::move(*stream));
    const std::string body = chat("hi");
    const auto answer = co_await net::fetch(connection,
                                            {.method = "POST",
                                             .target = "/v1/chat/completions",
                                             .host = "router",
                                             .extra_fields = "Content-Type: application/json\r\n",
                                             .body = body},
                                            base::after(now(), seconds(5)));
    result = answer ? std::to_string(answer->status) : answer.error().describe();
  }
  std::string chat_over_tls(const std::string& host) {
    std::string result;
    clients_.spawn(chat_over_tls(host, result));
    run_for(seconds(6));
    return result;
  }

  std::string folder_;
  net::TestAuthority authority_;
  std::unique_ptr<net::TlsClient> client_ = *net::TlsClient::make(authority_.pem());
};

TEST_F(RouterTls, ServesClientsOverTls) {
  engine(1);
  start(with_certificate());
  EXPECT_EQ(chat_over_tls("router.example"), "200");
  EXPECT_EQ(metric(R"(fairlead_tls_handshakes_total{result="ok"})"), 1);
  EXPECT_EQ(metric("fairlead_tls_certificate_expires_seconds"), 4102444800);
  // Plain HTTP to that port gets one plain answer; the metrics port stays plain.
  RawClient& plain = raw_client();
  plain.send("GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n");
  run_for(seconds(1));
  EXPECT_TRUE(plain.received.starts_with("HTTP/1.1 400 ")) << plain.received;
  EXPECT_TRUE(plain.ended);
  EXPECT_EQ(metric(R"(fairlead_tls_handshakes_total{result="failed"})"), 1);
  EXPECT_EQ(ask({.path = "/readyz", .method = "GET", .shard = kMetricsPort}).status, 200);
}

TEST_F(RouterTls, ReadsTheCertificateAgainWhenItChanges) {
  engine(1);
  start(with_certificate());
  EXPECT_EQ(chat_over_tls("router.example"), "200");
  write(authority_.issue("DNS:renewed.example"));
  run_for(seconds(2));
  EXPECT_EQ(chat_over_tls("renewed.example"), "200");
  EXPECT_NE(chat_over_tls("router.example"), "200");
  EXPECT_EQ(metric("fairlead_tls_certificate_errors_total"), 0);
}

TEST_F(RouterTls, KeepsTheOldCertificateWhenTheNewOneIsBad) {
  engine(1);
  start(with_certificate());
  file("cert", "rubbish");
  run_for(seconds(3));
  EXPECT_EQ(chat_over_tls("router.example"), "200");
  EXPECT_EQ(metric("fairlead_tls_certificate_errors_total"), 1) << "once for one content";
  std::remove((folder_ + "/key").c_str());
  run_for(seconds(2));
  EXPECT_EQ(chat_over_tls("router.example"), "200");
  EXPECT_EQ(metric("fairlead_tls_certificate_errors_total"), 2);
  write(authority_.issue("DNS:router.example"));
  run_for(seconds(2));
  EXPECT_EQ(chat_over_tls("router.example"), "200");
  EXPECT_EQ(metric("fairlead_tls_certificate_errors_total"), 2);
}

TEST_F(RouterTls, DoesNotStartWithABadCertificate) {
  RouterConfig config = with_certificate();
  config.loops = 1;
  config.backend = {"http://10.0.0.1:8000"};
  const auto failure = [&] {
    auto made = Router::make(config, network_, log_, [](std::string_view) {});
    return made ? std::string() : made.error().describe();
  };
  EXPECT_EQ(failure(), "");
  file("key", "rubbish");
  EXPECT_TRUE(failure().starts_with("--tls-cert, --tls-key: the key")) << failure();
  config.tls_key = folder_ + "/none";
  EXPECT_TRUE(failure().starts_with("--tls-cert, --tls-key: cannot read ")) << failure();
  config.tls_key.clear();
  EXPECT_EQ(failure(), "--tls-cert and --tls-key go together");
  config.tls_cert.clear();
  config.backend_ca_file = file("ca", "rubbish");
  EXPECT_TRUE(failure().starts_with("--backend-ca-file: ")) << failure();
}

TEST_F(RouterTls, SpeaksTlsToEnginesWithVerification) {
  auto tls = net::TlsServer::make(authority_.issue("DNS:engine.example"));
  SecureEngine secure(network_, address(1), **tls);
  network_.name("engine.example", {*net::parse_address("10.0.0.1:0")});
  RouterConfig config;
  config.backend = {"https://engine.example:8000"};
  config.backend_ca_file = file("ca", authority_.pem());
  start(config);
  EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(ask(chat("hi")).body, R"({"id":"secure","choices":[]})");
  EXPECT_EQ(secure.chats, 2);
  // A certificate for another name: the replica goes, and no request reaches it.
  ASSERT_TRUE((*tls)->replace(authority_.issue("DNS:other.example")));
  run_for(seconds(60));
  secure.chats = 0;
  stop();
  secure.stop();
  run_for(seconds(1));
}

TEST_F(RouterTls, SendsNothingToAnEngineThatIsNotWhoItShouldBe) {
  auto tls = net::TlsServer::make(authority_.issue("DNS:other.example,IP:10.0.0.2"));
  SecureEngine wrong(network_, address(1), **tls);
  SecureEngine right(network_, address(2), **tls);
  network_.name("engine.example", {*net::parse_address("10.0.0.1:0")});
  RouterConfig config;
  config.backend = {"https://engine.example:8000", "https://10.0.0.2:8000"};
  config.backend_ca_file = file("ca", authority_.pem());
  start(config);
  run_for(seconds(6));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(wrong.chats, 0);
  EXPECT_EQ(right.chats, 5);
  EXPECT_EQ(metric(R"(fairlead_backend_state{backend="engine.example:8000",state="down"})"), 1);
  stop();
  wrong.stop();
  right.stop();
  run_for(seconds(1));
}

}  // namespace
}  // namespace fairlead::router
