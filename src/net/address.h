// Address: an IP address and port; what a name resolves to and what a stream connects to.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fairlead::net {

struct Address {
  enum class Family : uint8_t { kV4, kV6 };
  Family family = Family::kV4;
  std::array<uint8_t, 16> bytes{};  // network order; v4 uses the first four
  uint16_t port = 0;

  auto operator<=>(const Address&) const = default;
};

// "127.0.0.1:80" or "[::1]:80": numeric only.
base::Result<Address> parse_address(std::string_view text);
std::string to_string(const Address& address);

// An address alone, without port and brackets; a v4 address in v6 form (::ffff:10.0.0.1) is that v4
// address.
std::optional<Address> parse_ip(std::string_view text);
void append_ip(std::string& out, const Address& address);
// The same for one that came from a socket.
Address without_mapping(const Address& address);

// Of "host:port", "[v6]:port" or "http://host[:port][/]"; with kHttpAndHttps also of "https://...".
// No other scheme, no path.
enum class Scheme : uint8_t { kHttp, kHttps };
enum class Schemes : uint8_t { kHttpOnly, kHttpAndHttps };
struct HostPort {
  std::string host;
  uint16_t port = 0;
  Scheme scheme = Scheme::kHttp;
  auto operator<=>(const HostPort&) const = default;
};
base::Result<HostPort> parse_backend_url(std::string_view url,
                                         Schemes allowed = Schemes::kHttpOnly);

// Blocking getaddrinfo; sorted, without repeats. Numeric hosts do not block.
base::Result<std::vector<Address>> resolve_blocking(const HostPort& host);

}  // namespace fairlead::net
