// Connections to one API server: idle ones are used again, a watch takes one for itself. Names are
// resolved for each new connection, since the server may move. One loop.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "kube/credentials.h"
#include "net/http_client.h"
#include "net/network.h"

namespace fairlead::kube {

class Connections {
 public:
  // The TLS context outlives the stream that was made of it.
  struct Connection {
    std::shared_ptr<net::TlsClient> tls;
    net::ClientConnection http;
    bool used = false;  // it has served a request: the server may be about to close it
  };

  static constexpr size_t kIdleMax = 16;
  // Under the 90 s after which API servers close.
  static constexpr std::chrono::seconds kIdleTime{60};

  Connections(net::Network& network, Credentials& credentials)
      : network_(network), credentials_(credentials) {}

  // An idle one, or a new one. kUnavailable, kDeadlineExceeded.
  rt::Task<base::Result<std::unique_ptr<Connection>>> take(base::TimePoint deadline);
  rt::Task<base::Result<std::unique_ptr<Connection>>> connect(base::TimePoint deadline);
  // Keeps it for later if it can serve another request.
  void give_back(std::unique_ptr<Connection> connection);
  void close_idle() { idle_.clear(); }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    base::TimePoint since;
  };
  rt::Task<base::Result<std::unique_ptr<net::ByteStream>>> open(const net::TlsClient* tls,
                                                                base::TimePoint deadline);

  net::Network& network_;
  Credentials& credentials_;
  std::vector<Idle> idle_;
};

}  // namespace fairlead::kube
