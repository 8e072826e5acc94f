// Streams over TCP, edge-triggered, with TCP_NODELAY.
#pragma once

#include "net/fd.h"
#include "net/network.h"

namespace fairlead::net {

// Where a listening socket of TCP is bound.
base::Result<Address> bound_address(const Fd& listening);

class TcpNetwork final : public Network {
 public:
  explicit TcpNetwork(rt::Loop& loop) : loop_(loop) {}
  rt::Loop& loop() override { return loop_; }
  base::Result<std::unique_ptr<Listener>> listen(const Address& address,
                                                 PortSharing sharing) override;
  // A socket that listens already, as another process bound it.
  base::Result<std::unique_ptr<Listener>> adopt(Fd fd);
  rt::Task<base::Result<std::unique_ptr<ByteStream>>> connect(const Address& address,
                                                              base::TimePoint deadline) override;
  rt::Task<base::Result<std::vector<Address>>> resolve(const HostPort& host,
                                                       base::TimePoint deadline) override;

 private:
  rt::Loop& loop_;
};

}  // namespace fairlead::net
