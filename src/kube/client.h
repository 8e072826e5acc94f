// Client: requests to one Kubernetes API server, on one loop.
//
//   Client client(network, access, {.user_agent = "fairlead-controller"});
//   auto pod = co_await client.get({kPods, "default", "web-0"});
//   auto made = co_await client.create({kPods, "default"}, pod_json);
//   co_await client.patch({kPods, "default", "web-0", "status"}, PatchKind::kMerge, patch_json,
//   {}); co_await client.remove({kPods, "default", "web-0"}, {.uid = uid});
//
// Objects are JSON text; kind.h has the same for typed ones. Errors are those of status.h. An
// answer that asks to wait (429, or 5xx with Retry-After) is waited for and asked again, up to
// `attempts_max` times; so is a read whose idle connection turned out to be closed. A write is
// never sent twice unless the server said that it did not carry it out. Each attempt has
// `request_timeout`; the caller's scope may end all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/connections.h"
#include "kube/frames.h"
#include "kube/list_page.h"
#include "kube/metrics.h"
#include "kube/resource.h"

namespace fairlead::kube {

// Asked right before a write leaves, at the real time: who has lost a lease must not write.
class WriteGuard {
 public:
  virtual bool may_write(base::TimePoint now) const = 0;

 protected:
  ~WriteGuard() = default;
};

struct ClientOptions {
  std::string user_agent = "fairlead";
  base::Nanos request_timeout = std::chrono::seconds(32);
  int attempts_max = 10;
  base::Bytes answer_bytes_max{256u << 20};
  const ClientMetrics* metrics = nullptr;  // outlives the client
};

struct Selection {
  std::string labels{};  // "app=web,tier!=db"
  std::string fields{};  // "spec.nodeName=n1"
};

enum class PatchKind : uint8_t { kJson, kMerge, kStrategicMerge, kApply };

struct WriteOptions {
  std::string field_manager{};
  // Of an apply: takes fields over from other managers instead of kConflict.
  enum class Force : uint8_t { kNo, kYes } force = Force::kNo;
  enum class Effect : uint8_t { kWrite, kDryRun } effect = Effect::kWrite;
};

enum class Propagation : uint8_t { kDefault, kBackground, kForeground, kOrphan };

struct DeleteOptions {
  // Preconditions: kConflict if the object is another or has changed.
  std::string uid{};
  std::string resource_version{};
  Propagation propagation = Propagation::kDefault;
  std::optional<int64_t> grace_seconds{};
};

struct ListOptions {
  Selection selection{};
  uint32_t limit = 500;  // of a page; 0: all at once
  std::string continue_token{};
};

struct WatchOptions {
  Selection selection{};
  std::string resource_version{};                 // of a list, or of the last event or bookmark
  base::Nanos timeout = std::chrono::minutes(8);  // after which the server ends it
};

// One watch; ends when it is destroyed.
class WatchStream {
 public:
  explicit WatchStream(std::unique_ptr<Connections::Connection> connection)
      : connection_(std::move(connection)) {}

  // The next event; nothing when the server ended the stream in order. kDeadlineExceeded: none came
  // until `deadline`, the stream goes on. An ERROR event is the error of its Status.
  rt::Task<base::Result<std::optional<WatchEvent>>> next(base::TimePoint deadline);

 private:
  std::unique_ptr<Connections::Connection> connection_;
  FrameSplitter frames_;
};

// What the client has done, for metrics.
struct ClientStats {
  uint64_t requests = 0;   // sent, repeated ones included
  uint64_t throttled = 0;  // answers that asked to wait
  uint64_t lists = 0;
  uint64_t watches = 0;
};

class Client {
 public:
  // `network` and `guard` outlive the client.
  Client(net::Network& network, Access access, ClientOptions options = {},
         const WriteGuard* guard = nullptr);

  rt::Task<base::Result<ObjectPtr>> get(Target target);
  // One page.
  rt::Task<base::Result<ListPage>> list(Target target, ListOptions options);
  // All pages: the state at one resourceVersion. A token that expires on the way makes it one large
  // request.
  rt::Task<base::Result<ListPage>> list_all(Target target, ListOptions options);
  rt::Task<base::Result<std::unique_ptr<WatchStream>>> watch(Target target, WatchOptions options);
  rt::Task<base::Result<ObjectPtr>> create(Target target, std::string json, WriteOptions options);
  // A PUT: `json` carries the resourceVersion it was read at. kConflict: read again.
  rt::Task<base::Result<ObjectPtr>> update(Target target, std::string json, WriteOptions options);
  rt::Task<base::Result<ObjectPtr>> patch(Target target, PatchKind kind, std::string json,
                                          WriteOptions options);
  // Of one object: without a name it would be all of a namespace, and nothing is asked.
  rt::Task<base::Result<>> remove(Target target, DeleteOptions options);

  // Any other GET, such as "/version".
  rt::Task<base::Result<std::string>> get_raw(std::string path);

  const Access& access() const { return credentials_.access(); }
  const ClientStats& stats() const { return stats_; }
  rt::Loop& loop() { return network_.loop(); }

 private:
  struct Request {
    std::string_view method;
    std::string path;
    std::string_view content_type{};
    std::string body{};
    ListReader* list = nullptr;  // takes the body of a 200 instead of the answer
    bool writes() const { return method != "GET"; }
  };
  struct Answer {
    int status = 0;
    std::optional<std::chrono::milliseconds> retry_after;
    std::string body;
  };
  rt::Task<base::Result<std::string>> call(Request request);
  rt::Task<base::Result<Answer>> attempt(const Request& request);
  rt::Task<base::Result<Answer>> attempt_uncounted(const Request& request);
  // Counts a request that begins at `sent` and has been answered, or has not (0).
  void count(const Request& request, int status, base::TimePoint sent) const;
  using ConnectionResult = base::Result<std::unique_ptr<Connections::Connection>>;
  // A connection on which the request is under way and its answer's head has come.
  rt::Task<ConnectionResult> begin(const Request& request, base::TimePoint deadline);
  rt::Task<ConnectionResult> begin_on(std::unique_ptr<Connections::Connection> connection,
                                      const Request& request, base::TimePoint deadline);
  rt::Task<base::Result<ObjectPtr>> call_for_object(Request request);
  rt::Task<base::Result<ObjectPtr>> write(std::string_view method, Target target,
                                          std::string_view content_type, std::string json,
                                          WriteOptions options);

  net::Network& network_;
  Credentials credentials_;
  Connections connections_;
  ClientOptions options_;
  const WriteGuard* guard_;
  ClientStats stats_;
};

}  // namespace fairlead::kube
