// A back end that costs next to nothing, for measuring what stands before it. One thread, plain
// epoll.
//
//   relay_mock PORT [all]
//
// It listens on 127.0.0.1, with "all" on each address of 127.0.0.0/8: a thousand replicas in one.
//
// GET /health and /v1/models answer like an engine that serves the model "bench"; other GETs are
// 404. A POST is answered by a fixed completion; with "stream":true in its body by 128 chunks of
// about 190 bytes, each written by itself 2 ms after the one before; with "user":"idle" too, by one
// chunk and then silence.
#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>

#include "sockets.h"

namespace {

using relay::die;
using relay::now_ns;

constexpr int kChunks = 128;
constexpr int64_t kGapNs = 2'000'000;

std::string answer_of(std::string_view status, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nserver: relay-mock\r\ncontent-type: application/json\r\ncontent-length: {}"
      "\r\n\r\n{}",
      status, body.size(), body);
}

std::string chunk_of(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

const std::string kHealth = answer_of("200 OK", "");
const std::string kNotFound = answer_of("404 Not Found", R"({"detail":"Not Found"})");
const std::string kModels = answer_of(
    "200 OK",
    R"({"object":"list","data":[{"id":"bench","object":"model","created":1,"owned_by":"vllm","max_model_len":32768}]})");
const std::string kCompletion = answer_of(
    "200 OK",
    R"({"id":"chatcmpl-80404a94a063c861","object":"chat.completion","created":1795973890,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"A canary release sends a small share of traffic to the new version."},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1024,"total_tokens":1040,"completion_tokens":16}})");
const std::string kStreamHead =
    "HTTP/1.1 200 OK\r\nserver: relay-mock\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    "transfer-encoding: chunked\r\n\r\n";
const std::string kChunk = chunk_of(
    "data: {\"id\":\"chatcmpl-80404a94a063c861\",\"object\":\"chat.completion.chunk\",\"created\":"
    "1795973890,\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" canary\"},"
    "\"finish_reason\":null}]}\n\n");
const std::string kLastChunk = chunk_of("data: [DONE]\n\n") + "0\r\n\r\n";

struct Connection {
  int fd;
  std::string in;
  std::string out;
  int chunks_left = 0;
};

class Mock {
 public:
  enum class Listen { kOne, kAll };
  Mock(int port, Listen where)
      : epoll_(epoll_create1(0)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int one = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    auto address = relay::loopback(port);
    if (where == Listen::kAll) address.sin_addr.s_addr = htonl(INADDR_ANY);
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, 4096) != 0) {
      die(fmt::format("cannot listen on 127.0.0.1:{}", port));
    }
    epoll_event event{.events = EPOLLIN, .data = {.fd = listener_}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
  }

  void run() {
    epoll_event events[256];
    for (;;) {
      const int n = relay::wait_until(epoll_, events, 256, due_.empty() ? -1 : due_.front().at_ns);
      for (int i = 0; i < n; ++i) {
        if (events[i].data.fd == listener_) {
          accept_one();
        } else if (const auto it = connections_.find(events[i].data.fd); it != connections_.end()) {
          serve(*it->second, events[i].events);
        }
      }
      send_due_chunks();
    }
  }

 private:
  // Every gap is the same, so dues come in order and a queue is enough.
  struct Due {
    int64_t at_ns;
    std::weak_ptr<Connection> connection;
  };

  void accept_one() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    if (fd < 0) return;
    if (!relay::came_to_loopback(fd)) {
      close(fd);
      return;
    }
    relay::set_nodelay(fd);
    connections_[fd] = std::make_shared<Connection>(Connection{.fd = fd});
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.fd = fd}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  void drop(Connection& connection) {
    const int fd = connection.fd;
    close(fd);
    connections_.erase(fd);
  }

  void serve(Connection& connection, uint32_t events) {
    if ((events & EPOLLOUT) != 0 && !connection.out.empty()) write_out(connection);
    if ((events & EPOLLIN) == 0) return;
    char buffer[65536];
    for (;;) {
      const ssize_t n = recv(connection.fd, buffer, sizeof buffer, 0);
      if (n == 0 || (n < 0 && errno != EAGAIN)) return drop(connection);
      if (n < 0) break;
      connection.in.append(buffer, static_cast<size_t>(n));
      if (static_cast<size_t>(n) < sizeof buffer) break;
    }
    answer(connection);
  }

  void answer(Connection& connection) {
    const std::string_view in = connection.in;
    const size_t head_end = in.find("\r\n\r\n");
    if (head_end == std::string_view::npos) return;
    const auto head = in.substr(0, head_end + 2);
    const auto length = std::strtoul(relay::header(head, "content-length").data(), nullptr, 10);
    if (in.size() < head_end + 4 + length) return;
    const auto body = in.substr(head_end + 4, length);
    if (head.starts_with("GET /health ")) {
      connection.out += kHealth;
    } else if (head.starts_with("GET /v1/models ")) {
      connection.out += kModels;
    } else if (!head.starts_with("POST ")) {
      connection.out += kNotFound;
    } else if (body.find("\"stream\":true") == std::string_view::npos) {
      connection.out += kCompletion;
    } else {
      connection.out += kStreamHead + kChunk;
      if (body.find("\"user\":\"idle\"") == std::string_view::npos) {
        connection.chunks_left = kChunks - 1;
        schedule(connection.fd);
      }
    }
    connection.in.erase(0, head_end + 4 + length);
    write_out(connection);
  }

  // From now, not from the last due: a late mock never sends two chunks at once.
  void schedule(int fd) { due_.push_back({now_ns() + kGapNs, connections_.at(fd)}); }

  void send_due_chunks() {
    const int64_t now = now_ns();
    while (!due_.empty() && due_.front().at_ns <= now) {
      const auto connection = due_.front().connection.lock();
      due_.pop_front();
      if (!connection) continue;
      connection->out += connection->chunks_left > 0 ? kChunk : kLastChunk;
      if (connection->chunks_left-- > 0) schedule(connection->fd);
      write_out(*connection);
    }
  }

  void write_out(Connection& connection) {
    const ssize_t n =
        send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (n > 0) connection.out.erase(0, static_cast<size_t>(n));
  }

  int epoll_;
  int listener_;
  std::unordered_map<int, std::shared_ptr<Connection>> connections_;
  std::deque<Due> due_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool all = argc == 3 && std::string_view(argv[2]) == "all";
  if (argc != 2 && !all) {
    fmt::print(stderr, "usage: relay_mock PORT [all]\n");
    return 2;
  }
  relay::allow_many_files();
  Mock(std::atoi(argv[1]), all ? Mock::Listen::kAll : Mock::Listen::kOne).run();
}
