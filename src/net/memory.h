// MemoryNetwork: streams within one process, with delay, a bounded window and faults, on one loop
// (virtual or real). Deterministic: it draws nothing.
//
//   MemoryNetwork network(loop, {.latency = 50us});
//   network.freeze(engine_address);   // as SIGSTOP: connects and takes bytes, answers nothing
#pragma once

#include <map>
#include <set>

#include "net/network.h"

namespace fairlead::net {

class MemoryListener;
struct MemoryPipe;

struct MemoryOptions {
  base::Nanos latency{0};            // one way
  size_t window_bytes = 256 * 1024;  // a direction, unread and under way
  size_t read_bytes_max = 0;         // 0: no limit; 1 delivers byte by byte
};

class MemoryNetwork final : public Network {
 public:
  MemoryNetwork(rt::Loop& loop, MemoryOptions options) : loop_(loop), options_(options) {}
  ~MemoryNetwork() override;

  rt::Loop& loop() override { return loop_; }
  base::Result<std::unique_ptr<Listener>> listen(const Address& address,
                                                 PortSharing sharing) override;
  rt::Task<base::Result<std::unique_ptr<ByteStream>>> connect(const Address& address,
                                                              base::TimePoint deadline) override;
  // A name registered with name(), else a numeric host.
  rt::Task<base::Result<std::vector<Address>>> resolve(const HostPort& host,
                                                       base::TimePoint deadline) override;
  void name(const std::string& host, std::vector<Address> addresses);

  // Nothing that `address` sends arrives until thaw(); what was sent in between arrives then.
  void freeze(const Address& address);
  void thaw(const Address& address);
  // Connections to `address` are neither taken nor refused, as behind a firewall.
  void swallow_connects(const Address& address) { swallowing_.insert(address); }
  // Resets every stream to and from `address`.
  void reset_streams(const Address& address);
  size_t open_streams() const { return pipes_.size() / 2; }

 private:
  friend class MemoryListener;
  friend class MemoryStream;
  rt::Loop& loop_;
  MemoryOptions options_;
  uint16_t next_port_ = 40000;
  std::map<Address, MemoryListener*> listeners_;
  std::map<std::string, std::vector<Address>> names_;
  std::set<Address> frozen_;
  std::set<Address> swallowing_;
  std::set<MemoryPipe*> pipes_;
};

}  // namespace fairlead::net
