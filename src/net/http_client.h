// The client side of HTTP/1.1: one connection that sends requests and reads answers in order
// (pipelining: send again before reading), a pool of idle connections to one address, and fetch()
// for small exchanges. One loop.
//
//   ClientConnection connection(std::move(stream));
//   co_await connection.send(pieces, deadline);
//   co_await connection.read_head(AnswerTo::kOther, deadline);
//   while (...) piece = co_await connection.read_body(deadline);   // empty: the end
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/buffer.h"
#include "net/http_body.h"
#include "net/http_head.h"
#include "net/network.h"

namespace fairlead::net {

class ClientConnection {
 public:
  explicit ClientConnection(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // Bytes of a request, head and body; `pieces` is used up.
  rt::Task<base::Result<>> send(std::span<iovec> pieces, base::TimePoint deadline);

  // The next answer's head; interim 1xx answers are read past. kProtocol: broken; kClosed: the peer
  // closed before the first byte of an answer.
  rt::Task<base::Result<>> read_head(AnswerTo request, base::TimePoint deadline);
  // After a head was sent with Expect: 100-continue: true when the peer asks for the body or has
  // said nothing until the deadline, false if its final answer came instead (its head is then
  // read).
  rt::Task<base::Result<bool>> await_continue(base::TimePoint deadline);
  // Valid until the next read_head().
  const ResponseHead& response() const { return response_; }

  // The next piece of the body, as it comes; empty at its end. Valid until the next call.
  rt::Task<base::Result<std::string_view>> read_body(base::TimePoint deadline);
  bool body_ended() const { return decoder_.ended(); }

  // For relays: what has been read and not consumed, and where more comes from.
  Buffer& input() { return in_; }
  ByteStream& stream() { return *stream_; }
  // A relay has read the body to its end by itself.
  void mark_body_ended() { decoder_ = BodyDecoder(); }

  // The answer is complete, nothing is left over and the peer keeps the connection open.
  bool reusable() const {
    return decoder_.ended() && response_.keep_alive && in_.size() == pending_ &&
           !stream_->hung_up() && !stream_->readable();
  }
  // Gives memory back between exchanges.
  void rest();

 private:
  rt::Task<base::Result<>> read_any_head(AnswerTo request, base::TimePoint deadline);

  std::unique_ptr<ByteStream> stream_;
  Buffer in_;
  size_t pending_ = 0;  // bytes of in_ that the last piece covers
  std::string head_bytes_;
  ResponseHead response_;
  BodyDecoder decoder_;
};

struct PoolOptions {
  size_t idle_max = 256;
  // Under uvicorn's keep-alive of 5 s, so that a request seldom meets a closing connection.
  base::Nanos idle_timeout = std::chrono::seconds(4);
};

// Idle connections to one address; the one used last is taken first.
class ConnectionPool {
 public:
  ConnectionPool(Network& network, const Address& address, PoolOptions options)
      : network_(network), address_(address), options_(options) {}

  // nullptr if none is fit for use.
  std::unique_ptr<ClientConnection> take_idle();
  rt::Task<base::Result<std::unique_ptr<ClientConnection>>> connect(base::TimePoint deadline);
  // Keeps it if it is reusable and there is room.
  void give_back(std::unique_ptr<ClientConnection> connection);
  // Closes what has been idle for too long or was closed by the peer.
  void sweep();
  void close_idle() { idle_.clear(); }
  const Address& address() const { return address_; }
  size_t idle() const { return idle_.size(); }

 private:
  struct Idle {
    std::unique_ptr<ClientConnection> connection;
    base::TimePoint since;
  };
  bool fit(const Idle& idle) const;

  Network& network_;
  Address address_;
  PoolOptions options_;
  std::vector<Idle> idle_;
};

struct FetchRequest {
  std::string_view method = "GET";
  std::string_view target;
  std::string_view host;
  std::string_view extra_fields;  // whole lines, each with CRLF
  std::string_view body;
  size_t answer_bytes_max = 4 * 1024 * 1024;
};

struct FetchAnswer {
  int status = 0;
  std::string content_type;
  std::string body;
};

// One whole exchange; the connection may be used again if reusable().
rt::Task<base::Result<FetchAnswer>> fetch(ClientConnection& connection, FetchRequest request,
                                          base::TimePoint deadline);

}  // namespace fairlead::net
