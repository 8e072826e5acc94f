#include "net/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/append.h"

namespace fairlead::net {
namespace {

bool parse_port(std::string_view text, uint16_t& port) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
  return ec == std::errc() && end == text.data() + text.size() && port != 0;
}

// Splits at the last colon, with the brackets of a v6 host taken off.
bool split_host_port(std::string_view text, std::string& host, std::string_view& port) {
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (port.empty()) return true;
    if (port[0] != ':') return false;
    port.remove_prefix(1);
    return !port.empty();
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    host = text;
    port = {};
    return true;
  }
  host = text.substr(0, colon);
  port = text.substr(colon + 1);
  return !port.empty() && host.find(':') == std::string::npos;
}

}  // namespace

base::Result<Address> parse_address(std::string_view text) {
  std::string host;
  std::string_view port;
  Address address;
  if (split_host_port(text, host, port)) {
    const bool any_port = port == "0";
    if (any_port || parse_port(port, address.port)) {
      if (inet_pton(AF_INET, host.c_str(), address.bytes.data()) == 1) return address;
      if (inet_pton(AF_INET6, host.c_str(), address.bytes.data()) == 1) {
        address.family = Address::Family::kV6;
        return address;
      }
    }
  }
  return base::invalid_argument(
      fmt::format("'{}' is not an address: IP:PORT, such as 127.0.0.1:8080 or [::1]:8080", text));
}

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.family == Address::Family::kV4) {
    inet_ntop(AF_INET, address.bytes.data(), text, sizeof text);
    return fmt::format("{}:{}", text, address.port);
  }
  inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  return fmt::format("[{}]:{}", text, address.port);
}

std::optional<Address> parse_ip(std::string_view text) {
  char copy[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof copy) return std::nullopt;
  *std::copy(text.begin(), text.end(), copy) = '\0';
  if (std::strlen(copy) != text.size()) return std::nullopt;
  Address address;
  if (inet_pton(AF_INET, copy, address.bytes.data()) == 1) return address;
  if (inet_pton(AF_INET6, copy, address.bytes.data()) != 1) return std::nullopt;
  address.family = Address::Family::kV6;
  return without_mapping(address);
}

void append_ip(std::string& out, const Address& address) {
  if (address.family == Address::Family::kV4) {
    for (size_t i = 0; i < 4; ++i) {
      if (i > 0) out.push_back('.');
      base::append_decimal(out, address.bytes[i]);
    }
    return;
  }
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  out.append(text);
}

Address without_mapping(const Address& address) {
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (address.family == Address::Family::kV4 ||
      !std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) {
    return address;
  }
  Address v4{.port = address.port};
  std::copy(address.bytes.begin() + kMapped.size(), address.bytes.end(), v4.bytes.begin());
  return v4;
}

base::Result<HostPort> parse_backend_url(std::string_view url, Schemes allowed) {
  constexpr uint16_t kHttpPort = 80;
  constexpr uint16_t kHttpsPort = 443;
  std::string_view rest = url;
  HostPort result;
  const bool secure = allowed == Schemes::kHttpAndHttps && rest.starts_with("https://");
  const bool has_scheme = secure || rest.starts_with("http://");
  if (secure) result.scheme = Scheme::kHttps;
  if (has_scheme) rest.remove_prefix(secure ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  std::string_view port;
  const bool plain = rest.find_first_of("/?#@ ") == std::string_view::npos;
  if (plain && split_host_port(rest, result.host, port) && !result.host.empty()) {
    if (port.empty() && has_scheme) {
      result.port = secure ? kHttpsPort : kHttpPort;
      return result;
    }
    if (parse_port(port, result.port)) return result;
  }
  return base::invalid_argument(
      fmt::format("'{}' is not a back end: {}://HOST:PORT or HOST:PORT, without a path", url,
                  allowed == Schemes::kHttpAndHttps ? "http[s]" : "http"));
}

base::Result<std::vector<Address>> resolve_blocking(const HostPort& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int rc = getaddrinfo(host.host.c_str(), nullptr, &hints, &list);
  if (rc != 0) {
    return base::Error(base::ErrorCode::kUnavailable,
                       fmt::format("cannot resolve '{}': {}", host.host, gai_strerror(rc)));
  }
  std::vector<Address> found;
  for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
    Address address;
    address.port = host.port;
    if (info->ai_family == AF_INET) {
      sockaddr_in v4{};
      std::memcpy(&v4, info->ai_addr, sizeof v4);
      std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
    } else if (info->ai_family == AF_INET6) {
      sockaddr_in6 v6{};
      std::memcpy(&v6, info->ai_addr, sizeof v6);
      address.family = Address::Family::kV6;
      std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
    } else {
      continue;
    }
    found.push_back(address);
  }
  freeaddrinfo(list);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace fairlead::net
