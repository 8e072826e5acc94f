// Network: where streams come from. TcpNetwork (tcp.h) is the machine's; MemoryNetwork (memory.h)
// runs a whole system in one process with modelled delay. A Network belongs to one loop.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/stream.h"
#include "rt/loop.h"

namespace fairlead::net {

class Listener {
 public:
  virtual ~Listener() = default;
  // The next connection; kCancelled when the scope ends. Does not fail for one bad connection.
  virtual rt::Task<base::Result<std::unique_ptr<ByteStream>>> accept() = 0;
  // What it is bound to: the real port where 0 was asked for.
  virtual Address address() const = 0;
  // Of its socket, to pass it to another process; -1 where there is none.
  virtual int descriptor() const { return -1; }
};

enum class PortSharing : uint8_t {
  kExclusive,  // the port must be free
  kShared,     // other listeners of this process share it (SO_REUSEPORT), one a loop
};

class Network {
 public:
  virtual ~Network() = default;
  virtual rt::Loop& loop() = 0;
  // kUnavailable, naming the address and what to do, if the port is taken.
  virtual base::Result<std::unique_ptr<Listener>> listen(const Address& address,
                                                         PortSharing sharing) = 0;
  // kUnavailable when refused or unreachable, kDeadlineExceeded, kCancelled.
  virtual rt::Task<base::Result<std::unique_ptr<ByteStream>>> connect(const Address& address,
                                                                      base::TimePoint deadline) = 0;
  virtual rt::Task<base::Result<std::vector<Address>>> resolve(const HostPort& host,
                                                               base::TimePoint deadline) = 0;
};

}  // namespace fairlead::net
