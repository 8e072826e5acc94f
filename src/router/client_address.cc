#include "router/client_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/ascii.h"

namespace fairlead::router {
namespace {

constexpr std::string_view kField = "x-forwarded-for";

int bits_of(net::Address::Family family) { return family == net::Address::Family::kV4 ? 32 : 128; }

// The address with all bits behind the first `bits` cleared.
net::Address masked(net::Address address, int bits) {
  for (int i = 0; i < bits_of(address.family) / 8; ++i) {
    const int kept = std::clamp(bits - 8 * i, 0, 8);
    address.bytes[static_cast<size_t>(i)] &= static_cast<uint8_t>(0xff00 >> kept);
  }
  return address;
}

// As proxies write it: an address, perhaps with a port, v6 perhaps in brackets.
std::optional<net::Address> parse_hop(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return std::nullopt;
    return net::parse_ip(text.substr(1, close - 1));
  }
  const size_t colon = text.find(':');
  const bool has_port = colon != std::string_view::npos && text.rfind(':') == colon;
  return net::parse_ip(has_port ? text.substr(0, colon) : text);
}

// From the right end of all fields of that name, which are one list.
class EntriesFromTheRight {
 public:
  explicit EntriesFromTheRight(const net::RequestHead& head)
      : fields_(head.fields), next_field_(head.fields.size()) {}

  std::optional<std::string_view> next() {
    while (!has_rest_) {
      if (next_field_ == 0) return std::nullopt;
      const net::Field& field = fields_[--next_field_];
      if (field.name.size() != kField.size() || !net::equals_ignoring_case(field.name, kField)) {
        continue;
      }
      rest_ = field.value;
      has_rest_ = true;
    }
    const size_t comma = rest_.rfind(',');
    has_rest_ = comma != std::string_view::npos;
    const std::string_view entry = has_rest_ ? rest_.substr(comma + 1) : rest_;
    rest_ = has_rest_ ? rest_.substr(0, comma) : std::string_view();
    return base::trimmed(entry);
  }

 private:
  const std::vector<net::Field>& fields_;
  size_t next_field_;
  std::string_view rest_;
  bool has_rest_ = false;
};

}  // namespace

base::Result<TrustedProxies> TrustedProxies::parse(std::string_view list) {
  TrustedProxies proxies;
  for (bool more = !list.empty(); more;) {
    const size_t end = list.find(',');
    const std::string_view entry = base::trimmed(list.substr(0, end));
    more = end != std::string_view::npos;
    if (more) list.remove_prefix(end + 1);
    const size_t slash = std::min(entry.find('/'), entry.size());
    const std::optional<net::Address> address = net::parse_ip(entry.substr(0, slash));
    const auto refused = [&entry](std::string_view what) {
      return base::invalid_argument(fmt::format("'{}' {}", entry, what));
    };
    if (!address) return refused("is no network, such as 10.0.0.0/8 or fd00::/8");
    int bits = bits_of(address->family);
    if (slash < entry.size()) {
      const std::string_view text = entry.substr(slash + 1);
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
      const bool whole = error == std::errc() && stop == text.data() + text.size();
      if (!whole || bits < 0 || bits > bits_of(address->family)) {
        return refused(
            fmt::format("has no prefix from 0 to {} behind its /", bits_of(address->family)));
      }
    }
    const net::Address network = masked(*address, bits);
    if (network != *address) {
      std::string meant;
      net::append_ip(meant, network);
      return refused(fmt::format("has address bits behind its prefix: {}/{}?", meant, bits));
    }
    proxies.networks_.push_back({network, bits});
  }
  return proxies;
}

bool TrustedProxies::trusts(const net::Address& address) const {
  return std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
    if (network.address.family != address.family) return false;
    return masked(address, network.bits).bytes == network.address.bytes;
  });
}

ClientChain client_chain(const TrustedProxies& proxies, const net::RequestHead& head) {
  ClientChain chain;
  chain.hops[0] = head.peer;
  EntriesFromTheRight entries(head);
  while (chain.count < ClientChain::kHopsMax && proxies.trusts(chain.client())) {
    const std::optional<std::string_view> entry = entries.next();
    if (!entry) break;
    const std::optional<net::Address> hop = parse_hop(*entry);
    if (!hop) break;
    chain.hops[chain.count++] = *hop;
  }
  return chain;
}

void append_chain(std::string& out, const ClientChain& chain) {
  for (size_t i = chain.count; i-- > 0;) {
    net::append_ip(out, chain.hops[i]);
    if (i > 0) out.append(", ");
  }
}

}  // namespace fairlead::router
