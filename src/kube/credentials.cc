#include "kube/credentials.h"

#include <fmt/format.h>

#include <utility>

#include "base/base64.h"
#include "rt/blocking.h"
#include "rt/loop.h"

namespace fairlead::kube {
namespace {

bool same(const std::optional<net::Certificate>& a, const std::optional<net::Certificate>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->chain_pem == b->chain_pem && a->key_pem == b->key_pem);
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

bool fits_in_field(std::string_view value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7f) return false;
  }
  return true;
}

base::Result<std::string> bearer(std::string token) {
  token = trimmed(std::move(token));
  if (token.empty() || !fits_in_field(token)) {
    return base::Error(base::ErrorCode::kUnauthenticated,
                       "the token is empty or has bytes that no token has");
  }
  return fmt::format("Authorization: Bearer {}\r\n", token);
}

}  // namespace

base::Result<std::string> Credentials::read(const Material& material, Cached& cached,
                                            base::TimePoint now) {
  if (!material.data.empty()) return material.data;
  if (!cached.text.empty() && now - cached.read_at < kFileAge) return cached.text;
  base::Result<std::string> text = read_small_file(material.file);
  // While a volume is being replaced, what was read before is still good.
  if (!text && cached.text.empty()) return text;
  if (text) cached.text = std::move(*text);
  cached.read_at = now;
  return cached.text;
}

bool Credentials::rejected() {
  if (access_.exec) {
    from_plugin_.reset();
    return true;
  }
  if (access_.token.data.empty() && !access_.token.file.empty()) {
    token_.read_at = base::TimePoint::min();
    token_.text.clear();
    return true;
  }
  return false;
}

rt::Task<base::Result<>> Credentials::refresh_exec() {
  rt::Scope& scope = co_await rt::current_scope();
  const base::WallTime wall = scope.loop().clock().wall();
  while (plugin_runs_) {
    const rt::WaitStatus waited = co_await plugin_ended_.wait();
    if (waited != rt::WaitStatus::kReady) co_return scope.error();
  }
  const bool current =
      from_plugin_ && (!from_plugin_->expires || wall + kExpiryMargin < *from_plugin_->expires);
  if (current) co_return base::Result<>();
  plugin_runs_ = true;
  std::optional<base::Result<ExecCredential>> got =
      co_await rt::run_blocking<base::Result<ExecCredential>>(
          [plugin = *access_.exec] { return run_exec_plugin(plugin); });
  plugin_runs_ = false;
  plugin_ended_.notify_all();
  if (!got) co_return scope.error();
  if (!*got) co_return got->error();
  from_plugin_ = std::move(**got);
  co_return base::Result<>();
}

rt::Task<base::Result<std::string>> Credentials::authorization() {
  rt::Scope& scope = co_await rt::current_scope();
  const base::TimePoint now = scope.loop().now();
  if (access_.exec) {
    const base::Result<> refreshed = co_await refresh_exec();
    if (!refreshed) co_return refreshed.error();
    if (!from_plugin_ || from_plugin_->token.empty()) co_return std::string();
    co_return bearer(from_plugin_->token);
  }
  if (access_.token.given()) {
    base::Result<std::string> token = read(access_.token, token_, now);
    if (!token) co_return token.error().wrap("the token");
    co_return bearer(std::move(*token));
  }
  if (access_.user.empty()) co_return std::string();
  const std::string pair = fmt::format("{}:{}", access_.user, access_.password);
  std::string field = "Authorization: Basic ";
  base::append_base64(field, std::as_bytes(std::span(pair)));
  co_return field + "\r\n";
}

base::Result<net::TlsClientOptions> Credentials::tls_options(base::TimePoint now) {
  net::TlsClientOptions options{.verification = access_.verification};
  if (access_.authority.given()) {
    base::Result<std::string> authority = read(access_.authority, authority_, now);
    if (!authority) return authority.error().wrap("the certificate authority");
    options.ca_pem = std::move(*authority);
  }
  if (access_.certificate.given()) {
    base::Result<std::string> chain = read(access_.certificate, certificate_, now);
    base::Result<std::string> key = read(access_.key, key_, now);
    if (!chain || !key) return (chain ? key : chain).error().wrap("the client certificate");
    options.certificate = net::Certificate{std::move(*chain), std::move(*key)};
  } else if (from_plugin_ && from_plugin_->certificate) {
    options.certificate = from_plugin_->certificate;
  }
  return options;
}

rt::Task<base::Result<std::shared_ptr<net::TlsClient>>> Credentials::tls() {
  if (access_.server.scheme == net::Scheme::kHttp) co_return std::shared_ptr<net::TlsClient>();
  rt::Scope& scope = co_await rt::current_scope();
  if (access_.exec) {
    const base::Result<> refreshed = co_await refresh_exec();
    if (!refreshed) co_return refreshed.error();
  }
  base::Result<net::TlsClientOptions> options = tls_options(scope.loop().now());
  if (!options) co_return options.error();
  if (tls_ != nullptr && tls_made_of_.ca_pem == options->ca_pem &&
      same(tls_made_of_.certificate, options->certificate)) {
    co_return tls_;
  }
  base::Result<std::unique_ptr<net::TlsClient>> made = net::TlsClient::make(*options);
  if (!made) {
    // A certificate and its key are two files: between their replacements they do not fit.
    if (tls_ != nullptr) co_return tls_;
    co_return made.error().wrap("TLS to the API server");
  }
  tls_ = std::move(*made);
  tls_made_of_ = std::move(*options);
  co_return tls_;
}

}  // namespace fairlead::kube
