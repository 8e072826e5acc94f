#include "router/api_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fairlead::router {
namespace {

constexpr std::string_view kDigestPrefix = "sha256:";

std::string_view without_space(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

std::optional<uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<net::Sha256> read_digest(std::string_view hex) {
  net::Sha256 digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const auto high = hex_digit(hex[2 * i]);
    const auto low = hex_digit(hex[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<uint8_t>(*high << 4 | *low);
  }
  return digest;
}

base::Result<net::Sha256> read_line(std::string_view line) {
  if (line.starts_with(kDigestPrefix)) {
    const auto digest = read_digest(line.substr(kDigestPrefix.size()));
    if (!digest) return base::invalid_argument("behind sha256: come 64 hexadecimal digits");
    return *digest;
  }
  const bool visible =
      std::all_of(line.begin(), line.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!visible || line.size() < ApiKeys::kKeyBytesMin || line.size() > ApiKeys::kKeyBytesMax) {
    return base::invalid_argument(fmt::format("a key has {} to {} visible ASCII characters",
                                              ApiKeys::kKeyBytesMin, ApiKeys::kKeyBytesMax));
  }
  return net::sha256(line);
}

}  // namespace

base::Result<ApiKeys> ApiKeys::parse(std::string_view text) {
  ApiKeys keys;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_space(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const base::Result<net::Sha256> digest = read_line(line);
    if (!digest) return digest.error().wrap(fmt::format("line {}", number));
    if (keys.digests_.size() == kKeysMax) {
      return base::invalid_argument(fmt::format("line {}: more than {} keys", number, kKeysMax));
    }
    keys.digests_.push_back(*digest);
  }
  if (keys.digests_.empty()) return base::invalid_argument("there is no key in it");
  return keys;
}

bool ApiKeys::accepts(std::string_view key) const {
  if (key.empty() || key.size() > kKeyBytesMax) return false;
  const net::Sha256 digest = net::sha256(key);
  bool found = false;
  for (const net::Sha256& known : digests_) {
    const bool same = net::same_secret(digest, known);
    found = found || same;
  }
  return found;
}

std::string_view presented_key(const net::RequestHead& head) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view value = head.value("authorization");
  if (value.size() > kScheme.size() &&
      net::equals_ignoring_case(value.substr(0, kScheme.size()), kScheme)) {
    return without_space(value.substr(kScheme.size()));
  }
  return head.value("x-api-key");
}

}  // namespace fairlead::router
