#include "router/tls_control.h"

#include <algorithm>

#include "rt/waiter.h"

namespace fairlead::router {
namespace {

constexpr base::Bytes kPemFileBytesMax{1u << 20};
constexpr auto kInterval = std::chrono::seconds(1);

bool may_speak_tls_to_engines(const RouterConfig& config) {
  return !config.backend_ca_file.empty() || !config.backends_file.empty() ||
         std::any_of(config.backend.begin(), config.backend.end(),
                     [](const std::string& url) { return url.starts_with("https://"); });
}

}  // namespace

base::Result<std::unique_ptr<TlsControl>> TlsControl::make(const RouterConfig& config,
                                                           obs::Logger& log) {
  std::unique_ptr<TlsControl> control(new TlsControl(log));
  if (!config.tls_cert.empty()) {
    const base::Result<> loaded = control->load_certificate(config);
    if (!loaded) return loaded.error().wrap("--tls-cert, --tls-key");
  }
  if (may_speak_tls_to_engines(config)) {
    const base::Result<> loaded = control->load_authorities(config.backend_ca_file);
    if (!loaded) return loaded.error().wrap("--backend-ca-file");
  }
  return control;
}

base::Result<> TlsControl::load_certificate(const RouterConfig& config) {
  chain_file_.emplace(config.tls_cert, kPemFileBytesMax);
  key_file_.emplace(config.tls_key, kPemFileBytesMax);
  const base::Result<bool> read = read_files();
  if (!read) return read.error();
  base::Result<std::unique_ptr<net::TlsServer>> server = net::TlsServer::make(certificate_);
  if (!server) return server.error();
  server_ = std::move(*server);
  return {};
}

base::Result<> TlsControl::load_authorities(const std::string& path) {
  std::string authorities;
  if (!path.empty()) {
    base::Result<std::optional<std::string>> content =
        WatchedFile(path, kPemFileBytesMax).changed();
    if (!content) return content.error();
    authorities = std::move(**content);
    if (authorities.empty()) return base::invalid_argument("the file is empty");
  }
  base::Result<std::unique_ptr<net::TlsClient>> client = net::TlsClient::make(authorities);
  if (!client) return client.error();
  client_ = std::move(*client);
  return {};
}

base::Result<bool> TlsControl::read_files() {
  // Both are looked at, so that each error is told once.
  base::Result<std::optional<std::string>> chain = chain_file_->changed();
  base::Result<std::optional<std::string>> key = key_file_->changed();
  const bool changed = (chain && *chain) || (key && *key);
  if (chain && *chain) certificate_.chain_pem = std::move(**chain);
  if (key && *key) certificate_.key_pem = std::move(**key);
  if (!chain) return chain.error();
  if (!key) return key.error();
  return changed;
}

void TlsControl::look() {
  const base::Result<bool> changed = read_files();
  if (changed && !*changed) return;
  base::Result<> replaced;
  if (changed) {
    replaced = server_->replace(certificate_);
  } else {
    replaced = changed.error();
  }
  if (replaced) {
    log_.info("certificate read", {{"file", chain_file_->path()}});
  } else {
    ++errors_;
    log_.error("the certificate stays as it was: its files are not usable",
               {{"cert", chain_file_->path()},
                {"key", key_file_->path()},
                {"error", replaced.error().describe()}});
  }
}

rt::Task<void> TlsControl::run(rt::Loop& loop) {
  while (server_ != nullptr) {
    const rt::WaitStatus status = co_await rt::sleep_until(base::after(loop.now(), kInterval));
    if (status == rt::WaitStatus::kCancelled) co_return;
    look();
  }
}

void TlsControl::register_metrics(obs::Registry& registry) const {
  registry.callback(obs::MetricType::kCounter, "fairlead_tls_handshakes_total",
                    "Handshakes with clients.", {"result"}, [this](obs::Samples& samples) {
                      if (server_ == nullptr) return;
                      samples.add({"ok"}, static_cast<double>(server_->handshakes()));
                      samples.add({"failed"}, static_cast<double>(server_->handshakes_failed()));
                    });
  registry.callback(obs::MetricType::kCounter, "fairlead_tls_certificate_errors_total",
                    "Changes of the certificate's files that were refused.", {},
                    [this](obs::Samples& samples) {
                      if (server_ != nullptr) samples.add({}, static_cast<double>(errors_));
                    });
  registry.callback(obs::MetricType::kGauge, "fairlead_tls_certificate_expires_seconds",
                    "When the certificate that clients see ends, as Unix time.", {},
                    [this](obs::Samples& samples) {
                      if (server_ == nullptr) return;
                      const base::Nanos since_epoch = server_->expires().time_since_epoch();
                      samples.add({}, base::to_seconds(since_epoch));
                    });
}

}  // namespace fairlead::router
