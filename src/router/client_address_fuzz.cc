// Any lines as X-Forwarded-For fields: every hop but the last is a trusted proxy, there are not too
// many, and what engines are told reads as the same hops.
#include "router/client_address.h"

#include <cstdint>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;  // NOLINT: a fuzz target is one function
  using router::ClientChain;
  static const router::TrustedProxies proxies =
      *router::TrustedProxies::parse("10.0.0.0/8,fd00::/8,192.0.2.7");
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  net::RequestHead head;
  head.peer = *net::parse_ip("10.0.0.1");
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    head.fields.push_back({"X-Forwarded-For", line});
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  const ClientChain chain = client_chain(proxies, head);
  CHECK(chain.count >= 1 && chain.count <= ClientChain::kHopsMax, "a bound is not kept");
  for (size_t i = 0; i + 1 < chain.count; ++i) {
    CHECK(proxies.trusts(chain.hops[i]), "a hop that is not trusted was believed");
  }
  std::string text;
  router::append_chain(text, chain);
  // The next router sees the same client behind the same proxies.
  const std::string client = text.substr(0, text.find(", "));
  const auto parsed = net::parse_ip(client);
  CHECK(parsed && parsed->bytes == chain.client().bytes, "the client was written wrong");
  return 0;
}
