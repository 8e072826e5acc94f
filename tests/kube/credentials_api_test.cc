// Credentials that change while a client lives: programs that print them, and files of a pod.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "api/core.h"
#include "control_plane.h"

namespace fairlead::kube {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using codec::Json;

const Resource kServiceAccounts{
    .group = "", .version = "v1", .plural = "serviceaccounts", .kind = "ServiceAccount"};
// A server that knows a token from before takes it for ten seconds more.
constexpr std::chrono::minutes kForgetTime{1};

struct RealApiCredentials : RealApi {
  fs::path folder = fs::path(plane.folder()) / space;

  RealApiCredentials() { fs::create_directory(folder); }

  // As files in volumes are replaced.
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path.string() + ".new") << text;
    fs::rename(path.string() + ".new", path);
  }
  static std::string contents(const fs::path& path) {
    return read_small_file(path.string()).value();
  }

  // The cluster of the plane, and a user whose credentials `command` prints.
  Access access_by_plugin(const std::string& command, const std::string& argument) const {
    const fs::path file = folder / "plugin.yaml";
    std::ofstream(file) << fmt::format(R"(
apiVersion: v1
kind: Config
current-context: plugin
contexts: [{{name: plugin, context: {{cluster: verified, user: plugin}}}}]
users:
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: {}
      args: [{}]
      interactiveMode: Never
)",
                                       command, argument);
    Surroundings around;
    around.kubeconfigs = file.string() + ":" + plane.kubeconfig();
    const base::Result<Access> access = find_access({}, around);
    EXPECT_TRUE(access) << access.error().describe();
    return *access;
  }
  static std::string credential(std::vector<Json::Member> status) {
    return to_string(Json::object({{"apiVersion", Json::string("client.authentication.k8s.io/v1")},
                                   {"kind", Json::string("ExecCredential")},
                                   {"status", Json::object(std::move(status))}}));
  }

  Access access_inside() const {
    Surroundings around;
    around.service_host = "127.0.0.1";
    around.service_port = std::to_string(plane.access("admin").server.port);
    around.account_folder = folder.string();
    const base::Result<Access> access = find_access({}, around);
    EXPECT_TRUE(access) << access.error().describe();
    return *access;
  }
  // A new account and a token of it, as a kubelet asks for one.
  std::string token_of_new_account(const std::string& name) {
    const auto account = run(client.create(
        {kServiceAccounts, space}, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name), {}));
    EXPECT_TRUE(account) << account.error().describe();
    const auto answer =
        run(client.create({kServiceAccounts, space, name, "token"},
                          R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",)"
                          R"("spec":{"expirationSeconds":600}})",
                          {}));
    EXPECT_TRUE(answer) << answer.error().describe();
    return (*answer)->tree()->find("status")->find("token")->as_string();
  }
  // Whom the server takes the client for: accounts may do nothing, and are told so by name.
  static rt::Task<std::string> refusal(Client& asker, std::string in) {
    const base::Result<ObjectPtr> got = co_await asker.get({kConfigMaps, in, "none"});
    co_return got ? "none" : got.error().message();
  }
  static rt::Task<bool> eventually_known_as(Client& asker, std::string in, std::string name) {
    const base::TimePoint deadline = asker.loop().now() + kForgetTime;
    while (asker.loop().now() < deadline) {
      const std::string told = co_await refusal(asker, in);
      if (told.find(name) != std::string::npos) co_return true;
      co_await rt::sleep_until(asker.loop().now() + std::chrono::milliseconds(100));
    }
    co_return false;
  }
};

TEST_F(RealApiCredentials, APluginIsAskedAgainForATokenThatIsRefused) {
  const fs::path printed = folder / "credential";
  write(printed, credential({{"token", Json::string("wrong")}}));
  Client plugged(network, access_by_plugin("cat", printed.string()), {});
  EXPECT_EQ(run(plugged.get({kNamespaces, "", space})).error().code(), ErrorCode::kUnauthenticated);
  write(printed, credential({{"token", Json::string(plane.access("admin").token.data)}}));
  const auto got = run(plugged.get({kNamespaces, "", space}));
  EXPECT_TRUE(got) << got.error().describe();
}

TEST_F(RealApiCredentials, APluginMayGiveACertificate) {
  const fs::path printed = folder / "credential";
  const fs::path plane_folder(plane.folder());
  write(printed,
        credential({{"clientCertificateData", Json::string(contents(plane_folder / "client.crt"))},
                    {"clientKeyData", Json::string(contents(plane_folder / "client.key"))}}));
  Client plugged(network, access_by_plugin("cat", printed.string()), {});
  const auto got = run(plugged.get({kNamespaces, "", space}));
  EXPECT_TRUE(got) << got.error().describe();
}

TEST_F(RealApiCredentials, ATokenInAPodIsReadAgainOnceItIsReplaced) {
  write(folder / "ca.crt", contents(fs::path(plane.folder()) / "ca.crt"));
  write(folder / "namespace", space);
  write(folder / "token", token_of_new_account("old"));
  const Access access = access_inside();
  EXPECT_EQ(access.space, space);
  Client inside(network, access, {});
  EXPECT_THAT(run(refusal(inside, space)),
              testing::HasSubstr(fmt::format("system:serviceaccount:{}:old", space)));
  write(folder / "token", token_of_new_account("new"));
  ASSERT_TRUE(run(client.remove({kServiceAccounts, space, "old"}, {})));
  EXPECT_TRUE(
      run(eventually_known_as(inside, space, fmt::format("system:serviceaccount:{}:new", space))));
}

TEST_F(RealApiCredentials, APodTrustsTheAuthorityItWasGivenAlone) {
  write(folder / "ca.crt", contents(fs::path(plane.folder()) / "client.crt"));
  write(folder / "token", plane.access("admin").token.data);
  Client inside(network, access_inside(), {});
  EXPECT_EQ(run(inside.get_raw("/version")).error().code(), ErrorCode::kUnavailable);
  write(folder / "ca.crt", contents(fs::path(plane.folder()) / "ca.crt"));
  Client other(network, access_inside(), {});
  EXPECT_TRUE(run(other.get_raw("/version")));
}

}  // namespace
}  // namespace fairlead::kube
