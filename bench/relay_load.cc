// A client that costs next to nothing: closed loop over keep-alive connections. One thread, plain
// epoll. Prints one JSON line.
//
//   relay_load PORT MODE CONNECTIONS SECONDS [MODEL [MAX_TOKENS]]
//
// MODE request: bodies of 4 KiB, answers not streamed. MODE stream: the same, streamed. MODE idle:
// opens a stream on every connection, waits for its first event, prints "ready" and holds them
// until standard input ends; SECONDS is then the limit for becoming ready.
//
// 64 system prompts take turns, and every question is new. Requests that are under way when the
// time is over are finished, so that events and requests are whole.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sockets.h"

namespace {

using relay::die;
using relay::now_ns;

constexpr size_t kBodyBytes = 4096;
constexpr int kPrompts = 64;
constexpr int64_t kStuckNs = 10'000'000'000;  // nothing for so long: the peer hangs

struct Options {
  int port;
  std::string mode;
  int connections;
  double seconds;
  std::string model = "bench";
  std::string max_tokens = "128";

  bool stream() const { return mode != "request"; }
  bool idle() const { return mode == "idle"; }
};

// Everything of a request but its number: one text a system prompt.
std::vector<std::string> requests_of(const Options& options) {
  std::vector<std::string> requests;
  for (int i = 0; i < kPrompts; ++i) {
    const std::string head = fmt::format(
        R"({{"model":"{}","max_tokens":{},"ignore_eos":true,"stream":{}{},"messages":[{{"role":"system","content":"Manual {:04} )",
        options.model, options.max_tokens, options.stream(),
        options.idle() ? R"(,"user":"idle")" : "", i);
    const std::string tail =
        R"("},{"role":"user","content":"Question 0000000000: what is a canary release?"}]})";
    std::string text;
    while (head.size() + text.size() + tail.size() < kBodyBytes) text += "limits rates and ";
    text.resize(kBodyBytes - head.size() - tail.size());
    requests.push_back(fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nuser-agent: relay-load\r\n"
        "accept: */*\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}{}{}",
        options.port, kBodyBytes, head, text, tail));
  }
  return requests;
}

struct Connection {
  int fd = -1;
  int64_t started = 0;
  std::string head;  // until it is complete
  bool in_body = false;
  bool chunked = false;
  int status = 0;
  size_t left = 0;        // of the body, or of the chunk
  std::string size_line;  // chunked: while a size is read
  bool last = false;      // chunked: the size was 0
  bool newline = false;   // the last byte of an event stream was one
  uint64_t events = 0;    // in this answer
};

class Load {
 public:
  explicit Load(Options options)
      : options_(std::move(options)), epoll_(epoll_create1(0)), requests_(requests_of(options_)) {
    for (int i = 0; i < options_.connections; ++i) connections_.push_back({.fd = connect_one()});
  }

  void run() {
    begin_ = now_ns();
    stop_ = begin_ + static_cast<int64_t>(options_.seconds * 1e9);
    for (size_t i = 0; i < connections_.size(); ++i) {
      epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = i}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i].fd, &event);
      send_request(connections_[i]);
    }
    epoll_event events[256];
    while (active_ > 0) {
      if (options_.idle() && events_ >= connections_.size()) return hold();
      const int n = relay::wait_until(epoll_, events, 256, now_ns() + kStuckNs);
      if (n == 0) {
        fmt::print(stderr, "relay_load: {} requests hang\n", active_);
        std::exit(1);
      }
      for (int i = 0; i < n; ++i) receive(connections_[events[i].data.u64]);
    }
    report();
  }

 private:
  int connect_one() const {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const auto address = relay::loopback(options_.port);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      die(fmt::format("cannot connect to 127.0.0.1:{}", options_.port));
    }
    relay::set_nodelay(fd);
    return fd;
  }

  void send_request(Connection& connection) {
    std::string& text = requests_[sent_ % kPrompts];
    const size_t number = text.rfind("Question ") + 9;
    fmt::format_to_n(text.begin() + static_cast<std::ptrdiff_t>(number), 10, "{:010}", sent_++);
    connection = {.fd = connection.fd, .started = now_ns()};
    if (send(connection.fd, text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size())) {
      die("cannot send");
    }
    ++active_;
  }

  void receive(Connection& connection) {
    char buffer[65536];
    for (;;) {
      const ssize_t n = recv(connection.fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) die("the peer closed a connection");
      if (take({buffer, static_cast<size_t>(n)}, connection)) finish(connection);
      if (static_cast<size_t>(n) < sizeof buffer) return;
    }
  }

  // Takes what was read; true once the answer is whole.
  bool take(std::string_view data, Connection& connection) {
    if (!connection.in_body) {
      connection.head += data;
      const size_t end = connection.head.find("\r\n\r\n");
      if (end == std::string::npos) return false;
      const std::string head = connection.head.substr(0, end + 2);
      const std::string rest = connection.head.substr(end + 4);
      connection.in_body = true;
      connection.status = std::atoi(head.c_str() + sizeof "HTTP/1.1");
      connection.chunked = relay::header(head, "transfer-encoding").starts_with("chunked");
      connection.left = std::strtoul(relay::header(head, "content-length").data(), nullptr, 10);
      return take_body(rest, connection);
    }
    return take_body(data, connection);
  }

  bool take_body(std::string_view data, Connection& connection) {
    if (!connection.chunked) {
      connection.left -= std::min(connection.left, data.size());
      return connection.left == 0;
    }
    while (!data.empty()) {
      if (connection.left > 0) {
        const auto piece = data.substr(0, connection.left);
        count_events(piece, connection);
        connection.left -= piece.size();
        data.remove_prefix(piece.size());
        continue;
      }
      const size_t end = data.find('\n');
      connection.size_line += data.substr(0, end);
      if (end == std::string_view::npos) return false;
      data.remove_prefix(end + 1);
      if (connection.last) return true;
      if (connection.size_line == "\r") {  // ends the chunk before
        connection.size_line.clear();
        continue;
      }
      connection.left = std::strtoul(connection.size_line.c_str(), nullptr, 16);
      connection.last = connection.left == 0;
      connection.size_line.clear();
    }
    return false;
  }

  // An event ends with an empty line.
  void count_events(std::string_view data, Connection& connection) {
    for (size_t at = data.find('\n'); at != std::string_view::npos; at = data.find('\n', at + 1)) {
      const bool before = at == 0 ? connection.newline : data[at - 1] == '\n';
      if (before) {
        ++connection.events;
        ++events_;
      }
    }
    connection.newline = data.back() == '\n';
  }

  void finish(Connection& connection) {
    const int64_t now = now_ns();
    latencies_.push_back(now - connection.started);
    if (connection.status != 200) ++errors_;
    if (options_.idle()) {
      fmt::print(stderr, "relay_load: a stream to be held ended with status {}\n",
                 connection.status);
      std::exit(1);
    }
    --active_;
    if (now < stop_) send_request(connection);
  }

  void hold() const {
    fmt::print("ready\n");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
  }

  void report() {
    std::sort(latencies_.begin(), latencies_.end());
    const auto quantile_us = [&](double q) {
      if (latencies_.empty()) return 0.0;
      const auto last = static_cast<double>(latencies_.size() - 1);
      return static_cast<double>(latencies_[static_cast<size_t>(q * last)]) / 1000;
    };
    fmt::print(
        R"({{"requests":{},"events":{},"errors":{},"seconds":{:.4f},"p50_us":{:.1f},"p99_us":{:.1f}}})"
        "\n",
        latencies_.size(), events_, errors_, static_cast<double>(now_ns() - begin_) / 1e9,
        quantile_us(0.5), quantile_us(0.99));
  }

  Options options_;
  int epoll_;
  std::vector<std::string> requests_;
  std::vector<Connection> connections_;
  std::vector<int64_t> latencies_;
  int64_t begin_ = 0;
  int64_t stop_ = 0;
  uint64_t sent_ = 0;
  uint64_t active_ = 0;
  uint64_t events_ = 0;
  uint64_t errors_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 7) {
    fmt::print(stderr,
               "usage: relay_load PORT request|stream|idle CONNECTIONS SECONDS [MODEL "
               "[MAX_TOKENS]]\n");
    return 2;
  }
  relay::allow_many_files();
  Options options{.port = std::atoi(argv[1]),
                  .mode = argv[2],
                  .connections = std::atoi(argv[3]),
                  .seconds = std::atof(argv[4])};
  if (argc > 5) options.model = argv[5];
  if (argc > 6) options.max_tokens = argv[6];
  Load(std::move(options)).run();
}
