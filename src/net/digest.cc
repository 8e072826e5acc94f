#include "net/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>

#include "base/check.h"

namespace fairlead::net {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

Sha256 sha256(std::string_view bytes) {
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  Sha256 digest{};
  const bool done = context != nullptr &&
                    EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  CHECK(done, "SHA-256 is there");
  return digest;
}

bool same_secret(const Sha256& a, const Sha256& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace fairlead::net
