#include "kube/access.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/exec_plugin.h"
#include "kube/testing/fake_api.h"
#include "net/memory.h"
#include "net/tls_testing.h"
#include "rt/loop.h"

namespace fairlead::kube {
namespace {

constexpr std::string_view kText = R"(
apiVersion: v1
kind: Config
current-context: a
clusters:
- name: one
  cluster: {server: "https://10.0.0.1:6443/k8s/c1/", certificate-authority-data: Q0E=, tls-server-name: api.example}
- name: two
  cluster:
    server: http://localhost
    insecure-skip-tls-verify: true
users:
- name: t
  user: {token: secret}
- name: f
  user: {tokenFile: tokens/t, token: older}
- name: c
  user: {client-certificate: c.crt, client-key: /abs/c.key}
- name: x
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./helper
      args: [get, token]
      env: [{name: A, value: b}]
      installHint: install it
contexts:
- {name: a, context: {cluster: one, user: t, namespace: ns}}
- {name: b, context: {cluster: two, user: c}}
- {name: f, context: {cluster: one, user: f}}
- {name: x, context: {cluster: one, user: x}}
- {name: nobody, context: {cluster: one}}
- {name: dangling, context: {cluster: three, user: t}}
)";

Kubeconfig parsed(std::string_view text) {
  base::Result<Kubeconfig> config = parse_kubeconfig(text, "/etc/kube");
  EXPECT_TRUE(config) << config.error().describe();
  return config ? *config : Kubeconfig{};
}

TEST(Kubeconfig, TheCurrentContextSaysWhereAndWho) {
  const base::Result<Access> access = parsed(kText).access("");
  ASSERT_TRUE(access) << access.error().describe();
  EXPECT_EQ(access->server.host, "10.0.0.1");
  EXPECT_EQ(access->server.port, 6443);
  EXPECT_EQ(access->path_prefix, "/k8s/c1");
  EXPECT_EQ(access->server_name, "api.example");
  EXPECT_EQ(access->authority.data, "CA");
  EXPECT_EQ(access->token.data, "secret");
  EXPECT_EQ(access->space, "ns");
  EXPECT_EQ(access->verification, net::PeerVerification::kRequired);
}

TEST(Kubeconfig, OtherContextsByName) {
  const Kubeconfig config = parsed(kText);
  const base::Result<Access> b = config.access("b");
  ASSERT_TRUE(b) << b.error().describe();
  EXPECT_EQ(b->server.scheme, net::Scheme::kHttp);
  EXPECT_EQ(b->server.port, 80);
  EXPECT_EQ(b->verification, net::PeerVerification::kNone);
  EXPECT_EQ(b->certificate.file, "/etc/kube/c.crt");
  EXPECT_EQ(b->key.file, "/abs/c.key");
  EXPECT_EQ(b->space, "default");
  const base::Result<Access> f = config.access("f");
  EXPECT_EQ(f->token.file, "/etc/kube/tokens/t");
  EXPECT_EQ(f->token.data, "");
  const base::Result<Access> x = config.access("x");
  ASSERT_TRUE(x->exec);
  EXPECT_EQ(x->exec->command, "/etc/kube/./helper");
  EXPECT_EQ(x->exec->arguments, (std::vector<std::string>{"get", "token"}));
  EXPECT_EQ(x->exec->environment[0].second, "b");
  EXPECT_TRUE(config.access("nobody"));
  EXPECT_EQ(config.access("absent").error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(config.access("dangling").error().message(), "the kubeconfig has no cluster 'three'");
}

TEST(Kubeconfig, OfSeveralTheFirstToNameAThingWins) {
  Kubeconfig first = parsed(R"({"contexts":[{"name":"a","context":{"cluster":"one","user":"u"}}],
    "users":[{"name":"u","user":{"token":"first"}}]})");
  first.merge(
      parsed(R"({"current-context":"a","clusters":[{"name":"one","cluster":{"server":"https://h"}}],
    "users":[{"name":"u","user":{"token":"second"}}]})"));
  const base::Result<Access> access = first.access("");
  ASSERT_TRUE(access) << access.error().describe();
  EXPECT_EQ(access->token.data, "first");
  EXPECT_EQ(access->server.port, 443);
}

TEST(Kubeconfig, ErrorsNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "a kubeconfig is an object"},
      {"current-context: 1", "kubeconfig.current-context is not a string"},
      {"clusters: {}", "clusters is not a list"},
      {"users: [{name: u, user: {token: 1}}]", "users[u].user.token is not a string"},
      {"clusters: [{name: c, cluster: {certificate-authority-data: '*'}}]",
       "clusters[c].cluster.certificate-authority-data no Base64 at byte 0"},
      {"clusters: [{name: c, cluster: {insecure-skip-tls-verify: 'yes'}}]",
       "clusters[c].cluster.insecure-skip-tls-verify is neither true nor false"},
      {"clusters: [{name: c, cluster: {proxy-url: 'http://p'}}]",
       "clusters[c].cluster.proxy-url is not supported"},
      {"users: [{name: u, user: {client-key: k}}]",
       "users[u].user has one of client certificate and client key without the other"},
      {"users: [{name: u, user: {exec: {apiVersion: v1, command: c}}}]",
       "users[u].user.exec.apiVersion is not client.authentication.k8s.io/v1 or v1beta1"},
      {"users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1}}}]",
       "users[u].user.exec.command is missing"},
      {"users: [{name: u, user: {auth-provider: {name: gcp}}}]",
       "users[u].user.auth-provider is not supported: use an exec plugin"}};
  for (const auto& [text, expected] : cases) {
    const base::Result<Kubeconfig> config = parse_kubeconfig(text, ".");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().message(), expected) << text;
  }
}

struct AccessFiles : testing::Test {
  AccessFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kube_access_XXXXXX").string();
    folder = mkdtemp(pattern.data());
    around.home = folder;
    around.account_folder = folder;
  }
  ~AccessFiles() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, std::string_view text) const {
    const std::string path = folder + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    FILE* file = std::fopen(path.c_str(), "w");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    return path;
  }
  std::string folder;
  Surroundings around;
};

TEST_F(AccessFiles, InsideAClusterTheServiceAccountIsUsed) {
  around.service_host = "fd00::1";
  around.service_port = "443";
  EXPECT_FALSE(find_access({}, around)) << "no token";
  write("token", "t");
  write("namespace", "mine");
  const base::Result<Access> access = find_access({}, around);
  ASSERT_TRUE(access) << access.error().describe();
  EXPECT_EQ(access->server.host, "fd00::1");
  EXPECT_EQ(access->server.scheme, net::Scheme::kHttps);
  EXPECT_EQ(access->token.file, folder + "/token");
  EXPECT_EQ(access->authority.file, folder + "/ca.crt");
  EXPECT_EQ(access->space, "mine");
}

TEST_F(AccessFiles, OutsideTheFilesOfTheEnvironmentThenOfTheHome) {
  const base::Result<Access> nothing = find_access({}, around);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), base::ErrorCode::kNotFound);
  write(".kube/config", kText);
  EXPECT_EQ(find_access({}, around)->token.data, "secret");
  EXPECT_EQ(find_access({.kubeconfig = {}, .context = "b"}, around)->certificate.file,
            folder + "/.kube//c.crt");
  const std::string other = write("other", R"({"current-context":"nobody"})");
  around.kubeconfigs = fmt::format("{}/absent:{}:{}/.kube/config", folder, other, folder);
  EXPECT_EQ(find_access({}, around)->token.data, "");
  EXPECT_FALSE(find_access({.kubeconfig = folder + "/absent", .context = {}}, around));
}

struct CredentialFiles : AccessFiles {
  base::ManualClock clock;
  rt::Loop loop{clock};
  base::Result<std::string> authorization(Credentials& credentials) {
    return loop.block_on(credentials.authorization());
  }
};

TEST_F(CredentialFiles, ATokenFileIsReadAgainAfterAMinuteAndWhenRefused) {
  Access access;
  access.token.file = write("token", "one\n");
  Credentials credentials(access);
  EXPECT_EQ(*authorization(credentials), "Authorization: Bearer one\r\n");
  write("token", "two");
  EXPECT_EQ(*authorization(credentials), "Authorization: Bearer one\r\n");
  loop.run_until_idle(loop.now() + kFileAge);
  EXPECT_EQ(*authorization(credentials), "Authorization: Bearer two\r\n");
  write("token", "three");
  EXPECT_TRUE(credentials.rejected());
  EXPECT_EQ(*authorization(credentials), "Authorization: Bearer three\r\n");
  std::filesystem::remove(access.token.file);
  loop.run_until_idle(loop.now() + kFileAge);
  EXPECT_EQ(*authorization(credentials), "Authorization: Bearer three\r\n");
}

// A cluster gets another authority while a client lives.
TEST_F(CredentialFiles, AnAuthorityThatIsReplacedIsTrustedAMinuteLater) {
  const net::TestAuthority old;
  const net::TestAuthority next;
  net::MemoryNetwork network(loop, {.latency = std::chrono::milliseconds(1)});
  const net::Address address = *net::parse_address("10.0.0.1:443");
  const std::unique_ptr<net::TlsServer> server = *net::TlsServer::make(next.issue("IP:10.0.0.1"));
  const FakeApi api(network, address, server.get());
  Access access;
  access.server = {.host = "10.0.0.1", .port = 443, .scheme = net::Scheme::kHttps};
  access.authority.file = write("ca.crt", old.pem());
  Client client(network, access, {});
  const auto asked = [&] { return loop.block_on(client.get_raw("/api/v1/pods")).ok(); };
  EXPECT_FALSE(asked());
  write("ca.crt", next.pem());
  EXPECT_FALSE(asked());
  loop.run_until_idle(loop.now() + kFileAge);
  EXPECT_TRUE(asked());
  write("ca.crt", next.pem().substr(0, 100));  // half of it is written
  loop.run_until_idle(loop.now() + kFileAge);
  network.reset_streams(address);
  EXPECT_TRUE(asked());
}

TEST_F(CredentialFiles, NoLineEndGetsIntoAHead) {
  Access access;
  access.token.data = "a\r\nHost: b";
  Credentials credentials(access);
  EXPECT_FALSE(authorization(credentials));
  EXPECT_FALSE(credentials.rejected());
}

TEST_F(CredentialFiles, AUserAndAPasswordAreBasicAuthentication) {
  Access access;
  access.user = "u";
  access.password = "p";
  Credentials credentials(access);
  EXPECT_EQ(*authorization(credentials), "Authorization: Basic dTpw\r\n");
}

struct ExecCredentials : CredentialFiles {
  // A plugin that prints `token` and counts how often it ran.
  Access with_plugin(std::string_view expires) {
    Access access;
    access.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                             .command = write("plugin", fmt::format(R"(#!/bin/sh
echo x >> "$COUNT"
case "$KUBERNETES_EXEC_INFO" in *ExecCredential*) ;; *) exit 3;; esac
cat <<END
{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
 "status":{{"token":"$1"{}}}}}
END
)",
                                                                    expires)),
                             .arguments = {"abc"},
                             .environment = {{"COUNT", folder + "/count"}},
                             .install_hint = "ask somebody"};
    std::filesystem::permissions(access.exec->command, std::filesystem::perms::owner_all);
    return access;
  }
  size_t runs() const { return std::filesystem::file_size(folder + "/count") / 2; }
};

TEST_F(ExecCredentials, APluginRunsOnceUntilItsCredentialEnds) {
  // The manual clock begins at 2026-01-01.
  Credentials credentials(with_plugin(R"(,"expirationTimestamp":"2026-01-01T00:10:00Z")"));
  EXPECT_EQ(*authorization(credentials), "Authorization: Bearer abc\r\n");
  EXPECT_EQ(*authorization(credentials), "Authorization: Bearer abc\r\n");
  EXPECT_EQ(runs(), 1u);
  loop.run_until_idle(loop.now() + std::chrono::minutes(10) - kExpiryMargin);
  EXPECT_TRUE(authorization(credentials));
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecCredentials, APluginRunsAgainWhenTheServerRefuses) {
  Credentials credentials(with_plugin(""));
  EXPECT_TRUE(authorization(credentials));
  EXPECT_TRUE(credentials.rejected());
  EXPECT_TRUE(authorization(credentials));
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecCredentials, AFailedPluginIsNamedWithItsHint) {
  Access access = with_plugin("");
  access.exec->command = folder + "/absent";
  Credentials credentials(access);
  const auto failed = authorization(credentials);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), base::ErrorCode::kUnauthenticated);
  EXPECT_NE(failed.error().message().find("absent"), std::string::npos);
  EXPECT_NE(failed.error().message().find("(ask somebody)"), std::string::npos);
}

TEST(ExecCredential, RefusesOutputThatIsNone) {
  const std::string v1 = "client.authentication.k8s.io/v1";
  const std::string head =
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1")";
  EXPECT_TRUE(parse_exec_credential(head + R"(,"status":{"token":"t"}})", v1));
  const auto pair = parse_exec_credential(
      head + R"(,"status":{"clientCertificateData":"c","clientKeyData":"k"}})", v1);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->certificate->key_pem, "k");
  for (const std::string& bad :
       {std::string(), head + "}", head + R"(,"status":{}})",
        head + R"(,"status":{"clientKeyData":"k","token":"t"}})",
        head + R"(,"status":{"token":"t","expirationTimestamp":"soon"}})",
        std::string(R"({"kind":"ExecCredential","apiVersion":"other","status":{"token":"t"}})")}) {
    EXPECT_FALSE(parse_exec_credential(bad, v1)) << bad;
  }
}

}  // namespace
}  // namespace fairlead::kube
