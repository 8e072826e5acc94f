// kube_candidate KUBECONFIG NAMESPACE NAME: stands for election and, while it leads, counts in the
// ConfigMap "fenced" there, every write against the resourceVersion of the one before. Prints a
// line for each term and each write, and "conflict" where another has written meanwhile.
#include <fmt/format.h>
#include <unistd.h>

#include "kube/leader_election.h"
#include "net/tcp.h"
#include "rt/loop.h"
#include "rt/task_group.h"

namespace {

using namespace fairlead;
using namespace fairlead::kube;
using std::chrono::milliseconds;

void say(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(!write(STDOUT_FILENO, text.data(), text.size()));
}

class Counter final : public LeaderWork {
 public:
  Counter(Client& client, const LeaderElection& election, Target target)
      : client_(client), election_(election), target_(std::move(target)) {}

  rt::Task<void> lead() override {
    rt::Scope& scope = co_await rt::current_scope();
    const base::Result<ObjectPtr> found = co_await client_.get(target_);
    if (!found) co_return;
    std::string version((*found)->resource_version());
    const uint64_t term = election_.terms();
    say(fmt::format("term {}", term));
    for (int n = 0; !scope.cancelled(); ++n) {
      const base::Result<ObjectPtr> written = co_await client_.update(
          target_,
          fmt::format(
              R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}},"data":{{"n":"{}"}}}})",
              target_.name, version, n),
          {});
      if (written) {
        version = (*written)->resource_version();
        say(fmt::format("wrote {}", term));
      } else if (written.error().code() == base::ErrorCode::kConflict) {
        say("conflict");
        co_return;
      }
      co_await rt::sleep_until(client_.loop().now() + milliseconds(20));
    }
    say(fmt::format("ended {}", rt::to_string(scope.reason())));
  }

 private:
  Client& client_;
  const LeaderElection& election_;
  Target target_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto access = find_access({.kubeconfig = argv[1], .context = {}}, {});
  if (!access) {
    say(access.error().describe());
    return 1;
  }
  rt::Loop loop;
  net::TcpNetwork network(loop);
  Client plain(network, *access, {});
  LeaderElection election(plain, {.space = argv[2],
                                  .name = "leader",
                                  .identity = argv[3],
                                  .duration = std::chrono::seconds(4),
                                  .renew_within = std::chrono::seconds(3),
                                  .retry = milliseconds(300)});
  Client writer(network, *access, {}, &election);
  const Resource maps{.group = "", .version = "v1", .plural = "configmaps", .kind = "ConfigMap"};
  Counter counter(writer, election, {maps, argv[2], "fenced"});
  loop.block_on(election.run(counter));
  return 0;
}
