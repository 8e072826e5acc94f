// TlsControl: what the router shows to clients (--tls-cert, --tls-key) and whom it believes among
// engines (--backend-ca-file). The certificate is read again when one of its files changes; one
// that is no good is logged and counted, and the one in use stays. Control loop; what server() and
// client() give is for all loops and outlived by this.
//
//   auto tls = TlsControl::make(config, log);
//   group.spawn((*tls)->run(loop));
#pragma once

#include <memory>
#include <optional>

#include "net/tls.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "router/config.h"
#include "router/watched_file.h"
#include "rt/loop.h"

namespace fairlead::router {

class TlsControl {
 public:
  // Errors name the flag and the file.
  static base::Result<std::unique_ptr<TlsControl>> make(const RouterConfig& config,
                                                        obs::Logger& log);

  net::TlsServer* server() const { return server_.get(); }        // nullptr: plain HTTP
  const net::TlsClient* client() const { return client_.get(); }  // nullptr: none is needed

  // Looks at the files again and again; until its scope is cancelled, or at once without any.
  rt::Task<void> run(rt::Loop& loop);
  void register_metrics(obs::Registry& registry) const;

 private:
  explicit TlsControl(obs::Logger& log) : log_(log) {}
  base::Result<> load_certificate(const RouterConfig& config);
  base::Result<> load_authorities(const std::string& path);
  // True if one of the files was another one.
  base::Result<bool> read_files();
  void look();

  obs::Logger& log_;
  std::optional<WatchedFile> chain_file_;
  std::optional<WatchedFile> key_file_;
  net::Certificate certificate_;  // what the files held last
  std::unique_ptr<net::TlsServer> server_;
  std::unique_ptr<net::TlsClient> client_;
  uint64_t errors_ = 0;
};

}  // namespace fairlead::router
