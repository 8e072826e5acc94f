// ApiKeys: which clients may ask, by the keys of --api-key-file. Immutable; any thread.
//
// The file has a key a line, or "sha256:" and the 64 hex digits of a key's SHA-256; empty lines and
// lines that begin with # are skipped. A digest may lie where others can read it (a repository, a
// ConfigMap), a plain key is for a file that is a secret anyhow. Keys are random and long, so a
// plain hash is enough: there is nothing to guess. In memory there are digests only, so that no
// core dump or log has a key. A key is compared with all of them in a time that does not depend on
// it.
//
//   auto keys = ApiKeys::parse(content);
//   if (keys->accepts(presented_key(head))) ...
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/digest.h"
#include "net/http_head.h"

namespace fairlead::router {

class ApiKeys {
 public:
  // Every request looks at all of them: 3 us at most.
  static constexpr size_t kKeysMax = 1'000;
  static constexpr size_t kKeyBytesMin = 8;
  static constexpr size_t kKeyBytesMax = 512;

  // Errors name the line and never a key. Without any key it is an error: nobody could ask.
  static base::Result<ApiKeys> parse(std::string_view text);

  bool accepts(std::string_view key) const;
  size_t size() const { return digests_.size(); }

 private:
  std::vector<net::Sha256> digests_;
};

// What the client shows: of "Authorization: Bearer KEY", or of "x-api-key", as clients of
// Anthropic's API do; empty without either.
std::string_view presented_key(const net::RequestHead& head);

}  // namespace fairlead::router
