// HttpServer: HTTP/1.1 over any Network, one loop. Keep-alive, pipelining, chunked and counted
// bodies, Expect: 100-continue, limits on every dimension. A handler sees whole requests:
//
//   struct Hello : Handler {
//     rt::Task<void> handle(Exchange& exchange) override {
//       co_await exchange.respond({.status = 200, .content_type = "text/plain"}, "hello\n");
//     }
//   };
//   HttpServer server(network, hello, {});
//   server.listen(address, PortSharing::kExclusive);
//   group.spawn(server.run());        // until stop_accepting() or cancelled
//   ...
//   server.stop_accepting(); server.drain(); co_await server.drained(deadline);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "net/buffer.h"
#include "net/byte_budget.h"
#include "net/http_head.h"
#include "net/network.h"
#include "net/tls.h"
#include "rt/task_group.h"

namespace fairlead::net {

struct ServerOptions {
  HeadLimits head;
  base::Bytes body_bytes_max{64ULL << 20};
  // From the first byte of a head to its last, from one piece of a body to the next, from an answer
  // to the next request, for the client to take what is written.
  base::Nanos head_timeout = std::chrono::seconds(10);
  base::Nanos body_idle_timeout = std::chrono::seconds(30);
  // A second, on average over a body and after a body_idle_timeout of grace; 0: no bound. Else a
  // byte every now and then would keep a connection and what it holds for days.
  base::Bytes body_rate_min{0};
  base::Nanos idle_timeout = std::chrono::seconds(75);
  base::Nanos write_timeout = std::chrono::seconds(60);
  // Shared by the servers of all loops; nullptr: no bound on the bodies held together.
  ByteBudget* held_bodies = nullptr;
  size_t loop = 0;  // which of them this is, to the budget
  // Shared by the servers of all loops; nullptr: plain HTTP. A handshake has head_timeout, too.
  TlsServer* tls = nullptr;
};

// An answer made without reading a body, or an error that the server found itself.
struct Refusal {
  int status = 0;
  std::string body;
  std::string content_type = "application/json";
  std::string extra_fields;  // whole lines, each with CRLF
};

struct Answer {
  int status = 200;
  std::string_view content_type;  // empty: no Content-Type
  std::string_view extra_fields;  // whole lines, each with CRLF
};

// Until when more of a body must have come that began at `began` and has `received` bytes by now.
base::TimePoint body_deadline(const ServerOptions& options, base::TimePoint began,
                              base::TimePoint now, uint64_t received);

class Exchange;

// Who holds the bytes of a request.
class RequestMemory {
 public:
  virtual void drop_request() = 0;

 protected:
  ~RequestMemory() = default;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Before the body is read: refuse by path, method, media type, load.
  virtual std::optional<Refusal> check(const RequestHead&) { return std::nullopt; }
  // Answers the request; runs in a scope that ends when the client goes. Not answering closes.
  virtual rt::Task<void> handle(Exchange& exchange) = 0;
  // Fields (whole lines, each with CRLF) that every answer made by an Exchange gets, the server's
  // own refusals included; of a head that was refused there are no fields to look at.
  virtual void append_fields(std::string&, const RequestHead&) const {}
  // How this service words what the server refuses by itself (400, 408, 413, 431, 503, ...).
  virtual Refusal refusal(int status, std::string_view message) = 0;
};

enum class Framing : uint8_t { kCounted, kChunked, kClose };

// One request and its answer; lives while it is handled.
class Exchange {
 public:
  // What the connection lends to its exchanges.
  struct Connection {
    ByteStream& stream;
    rt::Loop& loop;
    base::Nanos write_timeout;
    std::string& scratch;
    const bool& draining;
    RequestMemory& memory;
    const Handler& handler;
  };
  Exchange(const Connection& connection, const RequestHead& request, std::string_view body)
      : connection_(connection),
        request_(request),
        body_(body),
        out_(connection.scratch),
        keep_alive_(request.keep_alive) {}

  const RequestHead& request() const { return request_; }
  std::string_view body() const { return body_; }
  rt::Loop& loop() const { return connection_.loop; }

  // Gives the memory of the request back while a long answer goes on: body() is empty from now on,
  // and views of request()'s method, target and fields end.
  void drop_request() {
    body_ = {};
    connection_.memory.drop_request();
  }

  // The whole answer at once.
  rt::Task<base::Result<>> respond(Answer answer, std::string_view body);
  // An answer in pieces, each sent as it comes: chunked, or until close for HTTP/1.0.
  rt::Task<base::Result<>> start(Answer answer);
  rt::Task<base::Result<>> write(std::string_view piece);
  rt::Task<base::Result<>> finish();

  // For relays that write their own bytes to stream(): say that the head is out, and at the end
  // whether the connection can serve another request.
  ByteStream& stream() { return connection_.stream; }
  void mark_started() {
    keep_alive_ = keep_alive();
    started_ = true;
  }
  void mark_finished() { finished_ = true; }
  base::TimePoint write_deadline() const {
    return base::after(connection_.loop.now(), connection_.write_timeout);
  }

  void close_after() { keep_alive_ = false; }
  // What the head says, or will say, of the connection: a drain that begins behind the head does
  // not close what a client was told it may use again.
  bool keep_alive() const { return keep_alive_ && (started_ || !connection_.draining); }
  bool started() const { return started_; }
  bool finished() const { return finished_; }

 private:
  void write_head(Answer answer, Framing framing, size_t length);

  Connection connection_;
  const RequestHead& request_;
  std::string_view body_;
  std::string& out_;
  bool keep_alive_;
  bool started_ = false;
  bool finished_ = false;
  bool chunked_ = false;
};

class HttpServer {
 public:
  HttpServer(Network& network, Handler& handler, ServerOptions options);
  ~HttpServer();

  base::Result<> listen(const Address& address, PortSharing sharing);
  // Also there; before run().
  void listen(std::unique_ptr<Listener> listener);
  // Of the first listener, until it is closed.
  Address address() const { return listeners_.front()->address(); }

  // Accepts and serves; ends after stop_accepting() when all connections have ended.
  rt::Task<void> run();
  // Closes the listeners.
  void stop_accepting();
  // Answers say Connection: close from now on, so that each connection ends with the next one.
  void announce_close() { draining_ = true; }
  // Also closes, now, connections that idle.
  void drain();
  bool draining() const { return draining_; }
  // False if connections were left at the deadline; they are then cut off.
  rt::Task<bool> drained(base::TimePoint deadline);

  size_t connections() const { return connections_.running(); }
  size_t requests_active() const { return requests_active_; }

 private:
  class Connection;
  rt::Task<void> accept_loop(size_t listener);
  rt::Task<void> serve(std::unique_ptr<ByteStream> stream);

  Network& network_;
  Handler& handler_;
  ServerOptions options_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  bool draining_ = false;
  bool closing_idle_ = false;
  size_t requests_active_ = 0;
  rt::List<Connection> idle_;
  rt::WaitList ended_;
  rt::TaskGroup accepting_;
  rt::TaskGroup connections_;
};

// "Date: ..." with CRLF for the current second; one loop.
std::string_view date_field(const rt::Loop& loop);

}  // namespace fairlead::net
