// An API server for tests: one resource table in memory, with resourceVersions, chunked lists,
// watches, conflicts and preconditions, JSON and merge patches (an apply is one), scales, and
// faults on demand. Runs on any Network, in virtual time.
//
//   FakeApi api(network, address);
//   api.put("default", "web-0");                    // as another client would
//   api.fail_next(503, "Retry-After: 2\r\n");
//   api.compact();                                  // versions until now are gone
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"
#include "net/http_server.h"
#include "net/network.h"
#include "rt/task_group.h"

namespace fairlead::kube {

// RFC 7386.
codec::Json merged(const codec::Json& target, const codec::Json& patch);

class FakeApi final : private net::Handler {
 public:
  FakeApi(net::Network& network, const net::Address& address, net::TlsServer* tls = nullptr);
  ~FakeApi() override;

  // Changes the table as another client would; `plural` is "pods" where none is given.
  void put(const std::string& space, const std::string& name, const std::string& extra = "");
  void erase(const std::string& space, const std::string& name);
  // What a client would read; null if there is none.
  codec::Json stored(const std::string& plural, const std::string& key) const;

  // The next `count` requests are answered with this status.
  void fail_next(int status, const std::string& fields = "", const std::string& reason = "",
                 int count = 1);
  // Watches and continue tokens from before now are told 410.
  void compact() {
    oldest_ = revision_;
    tokens_.clear();
  }
  // Sends every watch this line; nothing: ends them in order.
  void say_to_watches(std::string line);
  void bookmark();
  void end_watches();
  // Watches go on without a word.
  void mute(bool muted) { muted_ = muted; }

  struct Counts {
    int lists = 0;  // requests
    int watches = 0;
    int writes = 0;
  };
  Counts counts;
  std::vector<std::string> requests;  // "GET /api/v1/pods?limit=2"
  std::string last_body;
  std::string last_content_type;
  std::string last_authorization;
  std::string expected_authorization;  // else 401; empty: any
  size_t watching() const { return watching_; }
  int64_t revision() const { return revision_; }

 private:
  struct Item {
    std::string plural;
    std::string key;
    codec::Json object;
  };
  struct Event {
    int64_t revision;
    std::string type;
    std::string plural;
    std::string space;
    std::string object;
  };
  struct Fault {
    int status;
    std::string fields;
    std::string reason;
  };
  struct Place {
    std::string plural;
    std::string space;
    std::string name;
    std::string subresource;
    std::map<std::string, std::string> query;
  };
  static Place place_of(std::string_view target);

  rt::Task<void> handle(net::Exchange& exchange) override;
  net::Refusal refusal(int status, std::string_view message) override;
  rt::Task<void> answer(net::Exchange& exchange, int status, std::string body,
                        std::string fields = "");
  rt::Task<void> fail(net::Exchange& exchange, int status, std::string reason,
                      std::string fields = "");
  rt::Task<void> list(net::Exchange& exchange, Place place);
  rt::Task<void> watch(net::Exchange& exchange, Place place);
  rt::Task<void> write(net::Exchange& exchange, Place place);
  rt::Task<void> change(net::Exchange& exchange, const Place& place, const codec::Json& now,
                        const codec::Json& body);
  void store(const std::string& plural, const std::string& key, codec::Json object,
             const char* type);
  void remove(const std::string& plural, const std::string& key);

  net::Network& network_;
  std::map<std::pair<std::string, std::string>, codec::Json> table_;  // by plural and key
  std::map<std::string, std::vector<std::string>> tokens_;            // what is left of a list
  std::vector<Event> history_;
  std::deque<Fault> faults_;
  int64_t revision_ = 100;
  int64_t oldest_ = 0;
  int64_t next_uid_ = 1;
  size_t watching_ = 0;
  bool muted_ = false;
  uint64_t words_ = 0;  // said to watches so far
  std::string word_;
  rt::WaitList changed_;
  net::HttpServer server_;
  rt::TaskGroup group_;
};

}  // namespace fairlead::kube
