// Credentials: what a request proves itself with, kept current. Files are read again after
// kFileAge, an exec plugin runs again when what it gave ends or was refused, and a changed CA or
// client certificate makes a new TLS context for new connections. One loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "kube/access.h"
#include "kube/exec_plugin.h"
#include "net/tls.h"
#include "rt/task.h"
#include "rt/waiter.h"

namespace fairlead::kube {

// Kubelets replace a token when a fifth of its time is left; a minute later we have it.
inline constexpr std::chrono::seconds kFileAge{60};
// Before its end, an exec plugin's credential is replaced.
inline constexpr std::chrono::seconds kExpiryMargin{10};

class Credentials {
 public:
  explicit Credentials(Access access) : access_(std::move(access)) {}

  // "Authorization: Bearer ...\r\n", or nothing where the certificate says who we are.
  rt::Task<base::Result<std::string>> authorization();
  // nullptr for a plain HTTP server. Another object than before when what it is made of has
  // changed.
  rt::Task<base::Result<std::shared_ptr<net::TlsClient>>> tls();
  // The server did not accept what authorization() gave: the next call asks anew. False if there is
  // nothing that could change.
  bool rejected();

  const Access& access() const { return access_; }

 private:
  // One piece of material and when it was read.
  struct Cached {
    std::string text;
    base::TimePoint read_at = base::TimePoint::min();
  };
  base::Result<std::string> read(const Material& material, Cached& cached, base::TimePoint now);
  base::Result<net::TlsClientOptions> tls_options(base::TimePoint now);
  rt::Task<base::Result<>> refresh_exec();

  Access access_;
  Cached token_;
  Cached authority_;
  Cached certificate_;
  Cached key_;
  std::optional<ExecCredential> from_plugin_;
  bool plugin_runs_ = false;
  rt::WaitList plugin_ended_;
  net::TlsClientOptions tls_made_of_;
  std::shared_ptr<net::TlsClient> tls_;
};

}  // namespace fairlead::kube
