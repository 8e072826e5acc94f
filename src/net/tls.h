// TLS 1.2 and 1.3 over any ByteStream, so that it runs over TCP and, in virtual time, over memory.
// OpenSSL reads from and writes to the stream below through a BIO that never blocks; a TLS stream
// advances by itself, inside the events of the stream below, without a task of its own.
//
//   auto server = TlsServer::make({chain_pem, key_pem});
//   listener = listen_tls(std::move(listener), **server, loop, {});      // accepts ByteStreams
//
//   auto client = TlsClient::make("");                                   // the system's CAs
//   auto stream = co_await connect_tls(network, **client, address, "engine.example", deadline);
//
// The end of a stream is an end only after the peer's close_notify: a connection that just closes
// reads as kReset, so that a truncated message is never taken for a whole one. abort() sends no
// close_notify. After a short write the bytes that follow are to be the same ones: their record may
// be under way; other bytes fail the stream.
//
// TlsServer and TlsClient are shared by all loops and outlive their streams; what they make belongs
// to one loop. A server asks no client for a certificate.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/network.h"

// OpenSSL's own names, so that its headers stay in net/*.cc.
struct ssl_st;
struct ssl_ctx_st;

namespace fairlead::net {

struct TlsContextDeleter {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, TlsContextDeleter>;

// PEM texts: the certificate with those that lead to its CA, and its private key.
struct Certificate {
  std::string chain_pem;
  std::string key_pem;
};

class TlsServer {
 public:
  // kInvalidArgument, saying which of the two is wrong and how.
  static base::Result<std::unique_ptr<TlsServer>> make(const Certificate& certificate);

  // Any thread. New handshakes use it, connections go on; after an error all is as before.
  base::Result<> replace(const Certificate& certificate);
  // When the certificate in use ends.
  base::WallTime expires() const;

  // Any thread.
  uint64_t handshakes() const { return handshakes_.load(std::memory_order_relaxed); }
  uint64_t handshakes_failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  friend class TlsStream;
  TlsServer() = default;
  ssl_st* new_session() const;

  mutable std::mutex mutex_;  // of the two below it
  TlsContext context_;
  base::WallTime expires_{};
  std::atomic<uint64_t> handshakes_{0};
  std::atomic<uint64_t> failed_{0};
};

enum class PeerVerification : uint8_t {
  kRequired,
  kNone,  // any certificate will do: whoever is on the way may read and change all
};

struct TlsClientOptions {
  std::string ca_pem{};                      // empty: the system's CAs
  std::optional<Certificate> certificate{};  // shown to servers that ask for one
  PeerVerification verification = PeerVerification::kRequired;
};

class TlsClient {
 public:
  static base::Result<std::unique_ptr<TlsClient>> make(const TlsClientOptions& options);
  // Trusts the CAs of `ca_pem`, or the system's if it is empty.
  static base::Result<std::unique_ptr<TlsClient>> make(std::string_view ca_pem) {
    return make(TlsClientOptions{.ca_pem = std::string(ca_pem)});
  }

 private:
  friend class TlsStream;
  TlsClient() = default;
  // A session that insists on a certificate for `host`, a name or an IP address.
  ssl_st* new_session(const std::string& host, base::WallTime now) const;

  TlsContext context_;
};

struct TlsListenOptions {
  base::Nanos handshake_timeout = std::chrono::seconds(10);
  // Under way at one time; the oldest is given up for one more.
  size_t handshakes_max = 1024;
};

// Accepts what `below` accepts, before its handshake, so that a slow one holds nobody up.
std::unique_ptr<Listener> listen_tls(std::unique_ptr<Listener> below, TlsServer& server,
                                     rt::Loop& loop, TlsListenOptions options);

// The handshake on a stream that is connected. kUnavailable, saying why, if the peer is not `host`
// or breaks off; kDeadlineExceeded, kCancelled.
rt::Task<base::Result<std::unique_ptr<ByteStream>>> start_tls(std::unique_ptr<ByteStream> below,
                                                              const TlsClient& client,
                                                              std::string host,
                                                              base::TimePoint deadline);
rt::Task<base::Result<std::unique_ptr<ByteStream>>> connect_tls(Network& network,
                                                                const TlsClient& client,
                                                                Address address, std::string host,
                                                                base::TimePoint deadline);

}  // namespace fairlead::net
