// Who asks: the address of the client behind the proxies that --trusted-proxies names. Pure.
//
// X-Forwarded-For is written by whoever had the request before, the client included. So it is read
// from the right, where the nearest hop wrote, and only as long as whoever wrote is trusted: the
// client is the rightmost address that is no trusted proxy. An entry that is no address ends the
// walk; then the proxy that passed it on is as far as is known. Without a trusted proxy it is the
// peer, whatever the field says.
//
//   const ClientChain chain = client_chain(proxies, head);
//   net::append_ip(line, chain.client());
//   append_chain(head_out, chain);           // "client, proxy, peer": what an engine may believe
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/http_head.h"

namespace fairlead::router {

class TrustedProxies {
 public:
  // "10.0.0.0/8, fd00::/8, 192.0.2.7": networks or addresses, comma separated; "" trusts nobody.
  // Errors name the entry and what it should be.
  static base::Result<TrustedProxies> parse(std::string_view list);

  bool trusts(const net::Address& address) const;

 private:
  struct Network {
    net::Address address;
    int bits = 0;
  };
  std::vector<Network> networks_;
};

// The hops of a request that are believed, from the peer on.
struct ClientChain {
  // More proxies than anybody has: the last one counts as the client.
  static constexpr size_t kHopsMax = 16;
  std::array<net::Address, kHopsMax> hops{};
  size_t count = 1;

  const net::Address& client() const { return hops[count - 1]; }
};

ClientChain client_chain(const TrustedProxies& proxies, const net::RequestHead& head);

// The value of an X-Forwarded-For field: from the client to the peer.
void append_chain(std::string& out, const ClientChain& chain);

}  // namespace fairlead::router
