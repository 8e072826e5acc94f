#include "router/testing/fake_engine.h"

#include <fmt/format.h>

#include "codec/json.h"

namespace fairlead::router {
namespace {

// Large writes go out in slices, so that `bytes_sent` follows what the router has taken.
constexpr size_t kSliceBytes = 16 * 1024;

constexpr std::string_view kEventStream =
    "Content-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n";

}  // namespace

std::string chunk(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}
std::string event(std::string_view data) { return fmt::format("data: {}\n\n", data); }
std::string token_event(std::string_view text) {
  return event(
      fmt::format(R"({{"id":"c","choices":[{{"index":0,"delta":{{"content":"{}"}}}}]}})", text));
}

std::string answer_head(int status, std::string_view fields) {
  return fmt::format("HTTP/1.1 {} {}\r\nServer: fake\r\n{}\r\n", status, net::reason_phrase(status),
                     fields);
}

Script answer(int status, std::string_view body, std::string_view fields) {
  const std::string head = fmt::format("Content-Type: application/json\r\n{}Content-Length: {}\r\n",
                                       fields, body.size());
  return {.steps = {{.bytes = answer_head(status, head) + std::string(body)}}};
}

Script broken_events(const std::vector<std::string>& events, base::Nanos gap, Script::Then then) {
  Script script{.then = then};
  script.steps.push_back({.bytes = answer_head(200, kEventStream)});
  for (const std::string& text : events) script.steps.push_back({gap, chunk(text)});
  return script;
}

Script events(const std::vector<std::string>& events, base::Nanos gap) {
  Script script = broken_events(events, gap, Script::Then::kKeep);
  script.steps.push_back({gap, chunk(event("[DONE]")) + "0\r\n\r\n"});
  return script;
}

Script raw(std::string bytes, Script::Then then) {
  return {.steps = {{.bytes = std::move(bytes)}}, .then = then};
}

std::string FakeEngine::Seen::field(std::string_view name) const {
  net::RequestHead parsed;
  const net::HeadError error = net::parse_request_head(head, {}, parsed);
  CHECK(!error, "a head that was served parses");
  return std::string(parsed.value(name));
}

FakeEngine::FakeEngine(net::MemoryNetwork& network, const net::Address& address,
                       std::vector<std::string> listed)
    : script(answer(200, R"({"id":"c","choices":[]})")),
      models(std::move(listed)),
      network_(network),
      address_(address) {
  start();
}

void FakeEngine::start() {
  CHECK(!group_ || group_->running() == 0, "an engine starts once it has ended");
  group_.emplace(network_.loop());
  auto listener = network_.listen(address_, net::PortSharing::kExclusive);
  CHECK(listener.ok(), "the address of a fake engine is free");
  listener_ = std::move(*listener);
  group_->spawn(accept_loop());
}

void FakeEngine::kill() {
  network_.reset_streams(address_);
  stop();
}

rt::Task<void> FakeEngine::accept_loop() {
  for (;;) {
    auto stream = co_await listener_->accept();
    if (!stream) break;
    ++connections;
    group_->spawn(serve(std::move(*stream)));
  }
  listener_.reset();
}

rt::Task<void> FakeEngine::serve(std::unique_ptr<net::ByteStream> stream) {
  net::Buffer in;
  for (;;) {
    Seen request;
    const bool read = co_await read_request(*stream, in, request);
    if (!read) co_return;
    const bool keep = co_await answer_request(*stream, request);
    if (!keep) co_return;
  }
}

rt::Task<bool> FakeEngine::read_request(net::ByteStream& stream, net::Buffer& in, Seen& request) {
  net::HeadScanner scanner;
  net::RequestHead head;
  size_t wanted = 0;
  while (wanted == 0 || in.size() < wanted) {
    if (wanted == 0 && scanner.scan(in.data(), {}) == net::HeadScanner::Status::kComplete) {
      request.head = in.data().substr(0, scanner.head_bytes());
      const net::HeadError error = net::parse_request_head(request.head, {}, head);
      CHECK(!error, "the router sends heads that parse");
      wanted = request.head.size() + head.content_length;
      continue;
    }
    const base::Result<size_t> n = co_await net::read_some(stream, in.room(4096));
    if (!n || *n == 0) co_return false;
    in.commit(*n);
  }
  request.body = in.data().substr(request.head.size(), head.content_length);
  request.at = network_.loop().now();
  in.consume(wanted);
  co_return true;
}

rt::Task<bool> FakeEngine::answer_request(net::ByteStream& stream, const Seen& request) {
  const std::string line = request.request_line();
  if (line.starts_with("GET ")) {
    probe_heads.push_back(request.head);
    const std::string path = line.substr(4, line.rfind(' ') - 4);
    co_return co_await answer_probe(stream, path);
  }
  Seen& noted = seen.emplace_back(request);
  Script played = script;
  if (!next.empty()) {
    played = std::move(next.front());
    next.pop_front();
  } else if (make) {
    played = make(request);
  }
  ++active_;
  bool keep = false;
  {
    rt::Scope scope(co_await rt::current_scope());
    stream.cancel_on_hangup(&scope);
    keep = co_await play(stream, played).in(scope);
    stream.cancel_on_hangup(nullptr);
    if (scope.cancelled()) noted.left_at = network_.loop().now();
    noted.played = !scope.cancelled();
  }
  --active_;
  co_return keep;
}

rt::Task<bool> FakeEngine::play(net::ByteStream& stream, const Script& played) {
  for (const Script::Step& step : played.steps) {
    if (step.wait > base::Nanos(0)) {
      const base::TimePoint until = base::after(network_.loop().now(), step.wait);
      if (co_await rt::sleep_until(until) == rt::WaitStatus::kCancelled) co_return false;
    }
    std::string_view rest = step.bytes;
    while (!rest.empty()) {
      const std::string_view slice = rest.substr(0, kSliceBytes);
      const base::Result<> sent = co_await net::write_all(stream, slice);
      if (!sent) co_return false;
      bytes_sent += slice.size();
      rest.remove_prefix(slice.size());
    }
  }
  switch (played.then) {
    case Script::Then::kKeep:
      co_return true;
    case Script::Then::kClose:
      break;
    case Script::Then::kReset:
      stream.abort();
      break;
    case Script::Then::kHang:
      co_await rt::sleep_until(base::kNever);
      break;
  }
  co_return false;
}

rt::Task<bool> FakeEngine::answer_probe(net::ByteStream& stream, std::string_view path) {
  if (probe_delay > base::Nanos(0)) {
    co_await rt::sleep_until(base::after(network_.loop().now(), probe_delay));
  }
  Script script_of_probe = answer(404, "{}");
  if (path == "/health") {
    script_of_probe = answer(health_status, "");
  } else if (path == "/metrics") {
    script_of_probe =
        answer(200, fmt::format("vllm:num_requests_running{{engine=\"0\"}} {}\n"
                                "vllm:num_requests_waiting{{engine=\"0\"}} {}\nserial {}\n",
                                active_, waiting, probe_heads.size()));
  } else if (path == "/v1/models" && serves_models) {
    std::string list;
    for (const std::string& model : models) {
      list += list.empty() ? "{\"id\":" : ",{\"id\":";
      codec::append_json_string(list, model);
      list += ",\"object\":\"model\"}";
    }
    script_of_probe = answer(200, fmt::format(R"({{"object":"list","data":[{}]}})", list));
  }
  co_return co_await play(stream, script_of_probe);
}

}  // namespace fairlead::router
