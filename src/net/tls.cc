#include "net/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <utility>
#include <vector>

#include "net/address.h"

namespace fairlead::net {
namespace {

constexpr std::string_view kProtocol = "\x08http/1.1";
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr size_t kChainMax = 16;

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
struct StackDeleter {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_pop_free(stack, X509_free); }
};
using Chain = std::unique_ptr<STACK_OF(X509), StackDeleter>;

// The first reason that OpenSSL has left, and none of them afterwards.
std::string take_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

Bio read_only(std::string_view pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// A key with a passphrase is an error; OpenSSL would ask on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

bool at_end_of_pem() {
  const unsigned long code = ERR_peek_last_error();
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

base::Result<std::vector<X509Ptr>> read_certificates(std::string_view pem) {
  ERR_clear_error();
  std::vector<X509Ptr> certificates;
  const Bio bio = read_only(pem);
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) {
    certificates.emplace_back(next);
  }
  if (!at_end_of_pem()) return base::invalid_argument(take_reason());
  ERR_clear_error();
  if (certificates.empty()) return base::invalid_argument("holds no certificate in PEM form");
  return certificates;
}

int select_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(
      &chosen, out_size, reinterpret_cast<const unsigned char*>(kProtocol.data()),
      static_cast<unsigned int>(kProtocol.size()), offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// What both sides have in common.
TlsContext new_context(const SSL_METHOD* method) {
  TlsContext context(SSL_CTX_new(method));
  CHECK(context != nullptr, "out of memory");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Idle connections hold no buffers; a record at a time; a retried write may lie elsewhere.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  CHECK(SSL_CTX_set_cipher_list(context.get(), kTls12Ciphers) == 1, "the ciphers exist");
  return context;
}

base::WallTime end_of(const X509* certificate) {
  std::tm utc{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &utc) != 1) return {};
  return base::WallTime(std::chrono::seconds(timegm(&utc)));
}

// Makes `context` show `certificate`; when it ends.
base::Result<base::WallTime> use_certificate(SSL_CTX* context, const Certificate& certificate) {
  base::Result<std::vector<X509Ptr>> read = read_certificates(certificate.chain_pem);
  if (!read) return read.error().wrap("the certificate");
  std::vector<X509Ptr>& certificates = *read;
  if (certificates.size() > kChainMax) {
    return base::invalid_argument(
        fmt::format("the certificate: a chain of more than {}", kChainMax));
  }
  const Bio bio = read_only(certificate.key_pem);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    return base::invalid_argument("the key: holds no private key in PEM form without a passphrase");
  }
  const X509Ptr leaf = std::move(certificates.front());
  const Chain chain(sk_X509_new_null());
  for (size_t i = 1; i < certificates.size(); ++i) {
    sk_X509_push(chain.get(), certificates[i].release());
  }
  if (SSL_CTX_use_cert_and_key(context, leaf.get(), key.get(), chain.get(), 1) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return base::invalid_argument(
        fmt::format("certificate and key do not go together: {}", take_reason()));
  }
  return end_of(leaf.get());
}

}  // namespace

void TlsContextDeleter::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

base::Result<std::unique_ptr<TlsServer>> TlsServer::make(const Certificate& certificate) {
  std::unique_ptr<TlsServer> server(new TlsServer);
  const base::Result<> loaded = server->replace(certificate);
  if (!loaded) return loaded.error();
  return server;
}

base::Result<> TlsServer::replace(const Certificate& certificate) {
  TlsContext context = new_context(TLS_server_method());
  SSL_CTX_set_alpn_select_cb(context.get(), select_protocol, nullptr);
  const base::Result<base::WallTime> expires = use_certificate(context.get(), certificate);
  if (!expires) return expires.error();
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
  expires_ = *expires;
  return {};
}

base::WallTime TlsServer::expires() const {
  const std::lock_guard lock(mutex_);
  return expires_;
}

ssl_st* TlsServer::new_session() const {
  const std::lock_guard lock(mutex_);
  SSL* session = SSL_new(context_.get());
  CHECK(session != nullptr, "out of memory");
  SSL_set_accept_state(session);
  return session;
}

base::Result<std::unique_ptr<TlsClient>> TlsClient::make(const TlsClientOptions& options) {
  std::unique_ptr<TlsClient> client(new TlsClient);
  client->context_ = new_context(TLS_client_method());
  SSL_CTX* context = client->context_.get();
  const bool verify = options.verification == PeerVerification::kRequired;
  SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  CHECK(SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(kProtocol.data()),
                                static_cast<unsigned int>(kProtocol.size())) == 0,
        "a protocol's name fits");
  if (options.certificate) {
    const base::Result<base::WallTime> used = use_certificate(context, *options.certificate);
    if (!used) return used.error();
  }
  if (options.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    ERR_clear_error();
    return client;
  }
  base::Result<std::vector<X509Ptr>> authorities = read_certificates(options.ca_pem);
  if (!authorities) return authorities.error();
  for (const X509Ptr& authority : *authorities) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
  }
  ERR_clear_error();
  return client;
}

ssl_st* TlsClient::new_session(const std::string& host, base::WallTime now) const {
  SSL* session = SSL_new(context_.get());
  CHECK(session != nullptr, "out of memory");
  SSL_set_connect_state(session);
  X509_VERIFY_PARAM* verify = SSL_get0_param(session);
  X509_VERIFY_PARAM_set_hostflags(verify, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  X509_VERIFY_PARAM_set_time(
      verify, std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  // An address is verified as such and not sent as a server's name.
  if (X509_VERIFY_PARAM_set1_ip_asc(verify, host.c_str()) != 1) {
    ERR_clear_error();
    const bool named = SSL_set1_host(session, host.c_str()) == 1 &&
                       SSL_set_tlsext_host_name(session, host.c_str()) == 1;
    CHECK(named, "out of memory");
  }
  return session;
}

}  // namespace fairlead::net
