#include "kube/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "codec/json.h"
#include "kube/status.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;

constexpr std::string_view kJson = "application/json";
constexpr size_t kReserveMax = 8u << 20;

// The part of a target after '?'.
class Query {
 public:
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += text_.empty() ? '?' : '&';
    text_ += name;
    text_ += '=';
    append_escaped(text_, value);
  }
  void add(const Selection& selection) {
    add("labelSelector", selection.labels);
    add("fieldSelector", selection.fields);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string_view content_type_of(PatchKind kind) {
  switch (kind) {
    case PatchKind::kJson:
      return "application/json-patch+json";
    case PatchKind::kMerge:
      return "application/merge-patch+json";
    case PatchKind::kStrategicMerge:
      return "application/strategic-merge-patch+json";
    case PatchKind::kApply:
      return "application/apply-patch+yaml";  // of which JSON is a part
  }
  return kJson;
}

std::string_view text_of(Propagation propagation) {
  switch (propagation) {
    case Propagation::kDefault:
      return "";
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

std::string delete_body(const DeleteOptions& options) {
  std::string body;
  codec::JsonWriter json(body);
  json.begin_object().key("apiVersion").string("v1").key("kind").string("DeleteOptions");
  if (!options.uid.empty() || !options.resource_version.empty()) {
    json.key("preconditions").begin_object();
    if (!options.uid.empty()) json.key("uid").string(options.uid);
    if (!options.resource_version.empty()) {
      json.key("resourceVersion").string(options.resource_version);
    }
    json.end_object();
  }
  const std::string_view propagation = text_of(options.propagation);
  if (!propagation.empty()) json.key("propagationPolicy").string(propagation);
  if (options.grace_seconds) json.key("gracePeriodSeconds").integer(*options.grace_seconds);
  json.end_object();
  return body;
}

// The server asked to wait, and has not carried the request out.
bool may_repeat(const base::Error& error, int status, bool writes) {
  if (!error.retry_after()) return false;
  return status == 429 || status == 503 || (!writes && status >= 500);
}

bool connection_was_stale(const base::Error& error) {
  return error.code() == ErrorCode::kClosed || error.code() == ErrorCode::kConnectionReset;
}

}  // namespace

Client::Client(net::Network& network, Access access, ClientOptions options, const WriteGuard* guard)
    : network_(network),
      credentials_(std::move(access)),
      connections_(network, credentials_),
      options_(std::move(options)),
      guard_(guard) {}

rt::Task<Client::ConnectionResult> Client::begin_on(
    std::unique_ptr<Connections::Connection> connection, const Request& request,
    base::TimePoint deadline) {
  const base::Result<std::string> authorization = co_await credentials_.authorization();
  if (!authorization) co_return authorization.error();
  const Access& access = credentials_.access();
  std::string head = fmt::format(
      "{} {}{} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: {}\r\nAccept: application/json\r\n{}",
      request.method, access.path_prefix, request.path, access.server.host, access.server.port,
      options_.user_agent, *authorization);
  if (request.writes()) {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", request.body.size());
    if (!request.content_type.empty()) {
      fmt::format_to(std::back_inserter(head), "Content-Type: {}\r\n", request.content_type);
    }
  }
  head += "\r\n";
  if (request.writes() && guard_ != nullptr && !guard_->may_write(network_.loop().clock().now())) {
    co_return base::Error(ErrorCode::kCancelled, "the lease is lost: nothing is written");
  }
  ++stats_.requests;
  std::array<iovec, 2> pieces = {{{head.data(), head.size()}, net::iovec_of(request.body)}};
  base::Result<> done = co_await connection->http.send(
      std::span(pieces).first(request.body.empty() ? 1 : 2), deadline);
  if (!done) co_return done.error();
  done = co_await connection->http.read_head(net::AnswerTo::kOther, deadline);
  if (!done) co_return done.error();
  co_return std::move(connection);
}

rt::Task<Client::ConnectionResult> Client::begin(const Request& request, base::TimePoint deadline) {
  ConnectionResult connection = co_await connections_.take(deadline);
  if (!connection) co_return connection.error();
  const bool used = (*connection)->used;
  ConnectionResult begun = co_await begin_on(std::move(*connection), request, deadline);
  if (begun || !used || request.writes() || !connection_was_stale(begun.error())) {
    co_return std::move(begun);
  }
  connection = co_await connections_.connect(deadline);
  if (!connection) co_return connection.error();
  co_return co_await begin_on(std::move(*connection), request, deadline);
}

void Client::count(const Request& request, int status, base::TimePoint sent) const {
  if (options_.metrics == nullptr) return;
  options_.metrics->answered(request.method, status == 0 ? "<error>" : std::to_string(status),
                             network_.loop().now() - sent);
}

rt::Task<base::Result<Client::Answer>> Client::attempt(const Request& request) {
  const base::TimePoint sent = network_.loop().now();
  base::Result<Answer> answer = co_await attempt_uncounted(request);
  count(request, answer ? answer->status : 0, sent);
  co_return std::move(answer);
}

rt::Task<base::Result<Client::Answer>> Client::attempt_uncounted(const Request& request) {
  const base::TimePoint deadline = base::after(network_.loop().now(), options_.request_timeout);
  ConnectionResult begun = co_await begin(request, deadline);
  if (!begun) co_return begun.error();
  net::ClientConnection& http = (*begun)->http;
  Answer answer;
  answer.status = http.response().status;
  answer.retry_after = parse_retry_after(http.response().value("retry-after"));
  ListReader* const list = answer.status == 200 ? request.list : nullptr;
  if (list == nullptr && http.response().body == net::BodyKind::kLength) {
    answer.body.reserve(std::min<uint64_t>(http.response().content_length, kReserveMax));
  }
  size_t size = 0;
  while (true) {
    const base::Result<std::string_view> piece = co_await http.read_body(deadline);
    if (!piece) co_return piece.error();
    if (piece->empty()) break;
    size += piece->size();
    if (size > options_.answer_bytes_max.count) {
      co_return base::Error(ErrorCode::kProtocol,
                            fmt::format("{}: an answer of more than {}", request.path,
                                        to_string(options_.answer_bytes_max)));
    }
    if (list != nullptr) {
      list->feed(*piece);
    } else {
      answer.body += *piece;
    }
  }
  connections_.give_back(std::move(*begun));
  co_return answer;
}

rt::Task<base::Result<std::string>> Client::call(Request request) {
  for (int attempts = 1;; ++attempts) {
    base::Result<Answer> answer = co_await attempt(request);
    if (!answer) co_return answer.error();
    if (answer->status >= 200 && answer->status < 300) co_return std::move(answer->body);
    if (answer->status == 401 && attempts == 1 && credentials_.rejected()) continue;
    const base::Error error = status_error(answer->status, answer->body, answer->retry_after);
    if (!may_repeat(error, answer->status, request.writes()) || attempts >= options_.attempts_max) {
      co_return error;
    }
    ++stats_.throttled;
    if (options_.metrics != nullptr) {
      options_.metrics->repeated(request.method, std::to_string(answer->status));
    }
    const base::TimePoint at = base::after(network_.loop().now(), *error.retry_after());
    const rt::WaitStatus waited = co_await rt::sleep_until(at);
    if (waited == rt::WaitStatus::kCancelled) co_return error;
  }
}

rt::Task<base::Result<ObjectPtr>> Client::call_for_object(Request request) {
  const base::Result<std::string> body = co_await call(std::move(request));
  if (!body) co_return body.error();
  base::Result<ObjectPtr> object = Object::parse(*body);
  if (!object) co_return base::Error(ErrorCode::kProtocol, object.error().message());
  co_return object;
}

rt::Task<base::Result<ObjectPtr>> Client::get(Target target) {
  base::Result<std::string> path = path_of(target);
  if (!path) co_return path.error();
  co_return co_await call_for_object({.method = "GET", .path = std::move(*path)});
}

rt::Task<base::Result<std::string>> Client::get_raw(std::string path) {
  co_return co_await call({.method = "GET", .path = std::move(path)});
}

rt::Task<base::Result<ListPage>> Client::list(Target target, ListOptions options) {
  base::Result<std::string> path = path_of(target);
  if (!path) co_return path.error();
  Query query;
  query.add(options.selection);
  if (options.limit > 0) query.add("limit", std::to_string(options.limit));
  query.add("continue", options.continue_token);
  ++stats_.lists;
  ListReader reader;
  const base::Result<std::string> rest =
      co_await call({.method = "GET", .path = *path + query.text(), .list = &reader});
  if (!rest) co_return rest.error();
  co_return reader.finish();
}

rt::Task<base::Result<ListPage>> Client::list_all(Target target, ListOptions options) {
  ListPage all;
  while (true) {
    base::Result<ListPage> page = co_await list(target, options);
    if (!page) {
      const bool expired =
          page.error().code() == ErrorCode::kExpired && !options.continue_token.empty();
      if (!expired) co_return page.error();
      all.items.clear();
      options.continue_token.clear();
      options.limit = 0;
      continue;
    }
    if (all.items.empty()) {
      all.items = std::move(page->items);
    } else {
      all.items.insert(all.items.end(), std::make_move_iterator(page->items.begin()),
                       std::make_move_iterator(page->items.end()));
    }
    all.resource_version = std::move(page->resource_version);
    if (page->continue_token.empty()) co_return all;
    options.continue_token = std::move(page->continue_token);
  }
}

rt::Task<base::Result<std::unique_ptr<WatchStream>>> Client::watch(Target target,
                                                                   WatchOptions options) {
  const base::Result<std::string> path = path_of(target);
  if (!path) co_return path.error();
  Query query;
  query.add("watch", "1");
  query.add("allowWatchBookmarks", "true");
  query.add(options.selection);
  query.add("resourceVersion", options.resource_version);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.timeout);
  query.add("timeoutSeconds", std::to_string(seconds.count()));
  const Request request{.method = "GET", .path = *path + query.text()};
  ++stats_.watches;
  for (int attempts = 1;; ++attempts) {
    const base::TimePoint sent = network_.loop().now();
    const base::TimePoint deadline = base::after(sent, options_.request_timeout);
    ConnectionResult begun = co_await begin(request, deadline);
    count(request, begun ? (*begun)->http.response().status : 0, sent);
    if (!begun) co_return begun.error();
    net::ClientConnection& http = (*begun)->http;
    const int status = http.response().status;
    if (status == 200) co_return std::make_unique<WatchStream>(std::move(*begun));
    if (status == 401 && attempts == 1 && credentials_.rejected()) continue;
    const auto retry_after = parse_retry_after(http.response().value("retry-after"));
    std::string body;
    while (body.size() < kFrameBytesMax.count) {
      const base::Result<std::string_view> piece = co_await http.read_body(deadline);
      if (!piece || piece->empty()) break;
      body += *piece;
    }
    co_return status_error(status, body, retry_after);
  }
}

rt::Task<base::Result<std::optional<WatchEvent>>> WatchStream::next(base::TimePoint deadline) {
  while (true) {
    const base::Result<std::optional<std::string_view>> frame = frames_.next();
    if (!frame) co_return frame.error();
    if (*frame) {
      base::Result<WatchEvent> event = parse_frame(**frame);
      if (!event) co_return event.error();
      co_return std::optional(std::move(*event));
    }
    const base::Result<std::string_view> piece = co_await connection_->http.read_body(deadline);
    if (!piece) co_return piece.error();
    if (piece->empty()) {
      if (frames_.pending() > 0) co_return net::reset_error("a watch that ended within an event");
      co_return std::optional<WatchEvent>();
    }
    frames_.feed(*piece);
  }
}

rt::Task<base::Result<ObjectPtr>> Client::write(std::string_view method, Target target,
                                                std::string_view content_type, std::string json,
                                                WriteOptions options) {
  const base::Result<std::string> path = path_of(target);
  if (!path) co_return path.error();
  Query query;
  query.add("fieldManager", options.field_manager);
  if (options.force == WriteOptions::Force::kYes) query.add("force", "true");
  if (options.effect == WriteOptions::Effect::kDryRun) query.add("dryRun", "All");
  co_return co_await call_for_object({.method = method,
                                      .path = *path + query.text(),
                                      .content_type = content_type,
                                      .body = std::move(json)});
}

rt::Task<base::Result<ObjectPtr>> Client::create(Target target, std::string json,
                                                 WriteOptions options) {
  return write("POST", std::move(target), kJson, std::move(json), std::move(options));
}

rt::Task<base::Result<ObjectPtr>> Client::update(Target target, std::string json,
                                                 WriteOptions options) {
  return write("PUT", std::move(target), kJson, std::move(json), std::move(options));
}

rt::Task<base::Result<ObjectPtr>> Client::patch(Target target, PatchKind kind, std::string json,
                                                WriteOptions options) {
  return write("PATCH", std::move(target), content_type_of(kind), std::move(json),
               std::move(options));
}

rt::Task<base::Result<>> Client::remove(Target target, DeleteOptions options) {
  if (target.name.empty()) {
    co_return base::invalid_argument(
        fmt::format("a {} without a name is not deleted", target.resource.kind));
  }
  const base::Result<std::string> path = path_of(target);
  if (!path) co_return path.error();
  const base::Result<std::string> body = co_await call(
      {.method = "DELETE", .path = *path, .content_type = kJson, .body = delete_body(options)});
  if (!body) co_return body.error();
  co_return base::Result<>();
}

}  // namespace fairlead::kube
