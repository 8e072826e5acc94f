#include "kube/testing/fake_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::kube {

using codec::Json;

namespace {

Json with(const Json& object, const std::string& key, Json value) {
  std::vector<Json::Member> members(object.members().begin(), object.members().end());
  const auto found = std::ranges::find(members, key, &Json::Member::first);
  if (found != members.end()) {
    found->second = std::move(value);
  } else {
    members.emplace_back(key, std::move(value));
  }
  return Json::object(std::move(members));
}

Json without(const Json& object, const std::string& key) {
  std::vector<Json::Member> members(object.members().begin(), object.members().end());
  std::erase_if(members, [&](const Json::Member& member) { return member.first == key; });
  return Json::object(std::move(members));
}

// `object` after one operation of a JSON patch on a member, not of a list; nothing if it fails.
std::optional<Json> operated(const Json& object, const std::string& op, std::string_view path,
                             const Json& value) {
  path.remove_prefix(1);
  const size_t slash = path.find('/');
  const std::string key(path.substr(0, slash));
  const Json* member = object.find(key);
  if (slash != std::string_view::npos) {
    if (member == nullptr) return std::nullopt;
    const std::optional<Json> inner = operated(*member, op, path.substr(slash), value);
    return inner ? std::optional(with(object, key, *inner)) : std::nullopt;
  }
  if (op == "add") return with(object, key, value);
  if (member == nullptr || (op == "test" && *member != value)) return std::nullopt;
  if (op == "replace") return with(object, key, value);
  return op == "remove" ? without(object, key) : object;
}

std::optional<Json> json_patched(const Json& object, const Json& operations) {
  std::optional<Json> result = object;
  for (const Json& each : operations.items()) {
    const Json* value = each.find("value");
    result = operated(*result, each.find("op")->as_string(), each.find("path")->as_string(),
                      value == nullptr ? Json() : *value);
    if (!result) break;
  }
  return result;
}

std::string text_at(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* key : path) {
    at = at->find(key);
    if (at == nullptr) return "";
  }
  return at->as_string();
}

Json member_of(const Json& object, const char* key) {
  const Json* member = object.find(key);
  return member == nullptr ? Json::object({}) : *member;
}

// What its subresource `scale` shows: as many replicas as are wanted, or none where none are named.
Json scale_of(const Json& object) {
  const Json spec = member_of(object, "spec");
  const Json* replicas = spec.find("replicas");
  const Json number =
      Json::object({{"replicas", replicas == nullptr ? Json::integer(0) : *replicas}});
  return Json::object({{"apiVersion", Json::string("autoscaling/v1")},
                       {"kind", Json::string("Scale")},
                       {"metadata", *object.find("metadata")},
                       {"spec", number},
                       {"status", number}});
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Json merged(const Json& target, const Json& patch) {
  if (!patch.is_object()) return patch;
  Json result = target.is_object() ? target : Json::object({});
  for (const auto& [key, value] : patch.members()) {
    if (value.is_null()) {
      result = without(result, key);
    } else {
      const Json* before = result.find(key);
      result = with(result, key, merged(before == nullptr ? Json() : *before, value));
    }
  }
  return result;
}

FakeApi::FakeApi(net::Network& network, const net::Address& address, net::TlsServer* tls)
    : network_(network),
      server_(network, *this, {.idle_timeout = std::chrono::hours(1), .tls = tls}),
      group_(network.loop()) {
  CHECK(server_.listen(address, net::PortSharing::kExclusive).ok(), "the address is free");
  group_.spawn(server_.run());
}

FakeApi::~FakeApi() {
  server_.stop_accepting();
  group_.cancel(rt::CancelReason::kShutdown);
  network_.loop().run_until_idle(network_.loop().now() + std::chrono::seconds(1));
}

void FakeApi::store(const std::string& plural, const std::string& key, Json object,
                    const char* type) {
  ++revision_;
  Json metadata = *object.find("metadata");
  metadata = with(metadata, "resourceVersion", Json::string(std::to_string(revision_)));
  if (metadata.find("uid") == nullptr) {
    metadata = with(metadata, "uid", Json::string(fmt::format("uid-{}", next_uid_++)));
  }
  metadata = with(metadata, "managedFields", Json::array({Json::object({})}));
  object = with(object, "metadata", metadata);
  history_.push_back(
      {revision_, type, plural, text_at(metadata, {"namespace"}), to_string(object)});
  table_.insert_or_assign({plural, key}, std::move(object));
  changed_.notify_all();
}

void FakeApi::remove(const std::string& plural, const std::string& key) {
  const auto found = table_.find({plural, key});
  CHECK(found != table_.end(), "it is there");
  ++revision_;
  const Json metadata = with(*found->second.find("metadata"), "resourceVersion",
                             Json::string(std::to_string(revision_)));
  history_.push_back({revision_, "DELETED", plural, text_at(metadata, {"namespace"}),
                      to_string(with(found->second, "metadata", metadata))});
  table_.erase(found);
  changed_.notify_all();
}

void FakeApi::put(const std::string& space, const std::string& name, const std::string& extra) {
  const std::string key = space + "/" + name;
  const auto found = table_.find({"pods", key});
  Json metadata = Json::object({{"name", Json::string(name)}, {"namespace", Json::string(space)}});
  if (found != table_.end()) {
    metadata = with(metadata, "uid", *found->second.find("metadata")->find("uid"));
  }
  if (!extra.empty()) metadata = merged(metadata, *codec::parse_json(extra));
  store("pods", key, Json::object({{"kind", Json::string("Pod")}, {"metadata", metadata}}),
        found == table_.end() ? "ADDED" : "MODIFIED");
}

void FakeApi::erase(const std::string& space, const std::string& name) {
  remove("pods", space + "/" + name);
}

Json FakeApi::stored(const std::string& plural, const std::string& key) const {
  const auto found = table_.find({plural, key});
  return found == table_.end() ? Json() : found->second;
}

void FakeApi::fail_next(int status, const std::string& fields, const std::string& reason,
                        int count) {
  for (int i = 0; i < count; ++i) faults_.push_back({status, fields, reason});
}

void FakeApi::say_to_watches(std::string line) {
  word_ = std::move(line);
  ++words_;
  changed_.notify_all();
}

void FakeApi::end_watches() { say_to_watches(""); }

void FakeApi::bookmark() {
  say_to_watches(fmt::format(
      R"({{"type":"BOOKMARK","object":{{"kind":"Pod","metadata":{{"resourceVersion":"{}"}}}}}})"
      "\n",
      revision_));
}

FakeApi::Place FakeApi::place_of(std::string_view target) {
  Place place;
  const size_t question = target.find('?');
  std::string_view query =
      question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    place.query.emplace(pair.substr(0, equals), unescaped(pair.substr(equals + 1)));
  }
  std::vector<std::string> parts;
  std::string_view path = target.substr(0, question);
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    parts.push_back(unescaped(part));
    path.remove_prefix(part.size());
  }
  size_t next = parts.at(0) == "api" ? 2 : 3;
  if (parts.size() > next + 1 && parts[next] == "namespaces") {
    place.space = parts[next + 1];
    next += 2;
  }
  if (parts.size() > next) place.plural = parts[next];
  if (parts.size() > next + 1) place.name = parts[next + 1];
  if (parts.size() > next + 2) place.subresource = parts[next + 2];
  return place;
}

net::Refusal FakeApi::refusal(int status, std::string_view message) {
  return {.status = status, .body = std::string(message)};
}

rt::Task<void> FakeApi::answer(net::Exchange& exchange, int status, std::string body,
                               std::string fields) {
  static_cast<void>(co_await exchange.respond(
      {.status = status, .content_type = "application/json", .extra_fields = fields}, body));
}

rt::Task<void> FakeApi::fail(net::Exchange& exchange, int status, std::string reason,
                             std::string fields) {
  std::string body = fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{0}","reason":"{0}","code":{1}}})",
      reason, status);
  co_await answer(exchange, status, std::move(body), std::move(fields));
}

rt::Task<void> FakeApi::handle(net::Exchange& exchange) {
  const net::RequestHead& request = exchange.request();
  requests.push_back(fmt::format("{} {}", request.method, request.target));
  last_authorization = request.value("authorization");
  last_content_type = request.value("content-type");
  last_body = exchange.body();
  Place place = place_of(request.target);
  const bool reads = request.method == "GET";
  const bool watches = place.query.contains("watch");
  if (watches) {
    ++counts.watches;
  } else if (reads && place.name.empty()) {
    ++counts.lists;
  } else if (!reads) {
    ++counts.writes;
  }
  if (!expected_authorization.empty() && last_authorization != expected_authorization) {
    co_await fail(exchange, 401, "Unauthorized");
    co_return;
  }
  if (!faults_.empty()) {
    const Fault fault = faults_.front();
    faults_.pop_front();
    co_await fail(exchange, fault.status, fault.reason, fault.fields);
    co_return;
  }
  if (watches) {
    co_await watch(exchange, std::move(place));
  } else if (!reads) {
    co_await write(exchange, std::move(place));
  } else if (place.name.empty()) {
    co_await list(exchange, std::move(place));
  } else {
    const auto found = table_.find({place.plural, place.space + "/" + place.name});
    if (found == table_.end()) {
      co_await fail(exchange, 404, "NotFound");
    } else {
      const bool scale = place.subresource == "scale";
      co_await answer(exchange, 200, to_string(scale ? scale_of(found->second) : found->second));
    }
  }
}

rt::Task<void> FakeApi::list(net::Exchange& exchange, Place place) {
  std::vector<std::string> items;
  int64_t at = revision_;
  const auto token = place.query.find("continue");
  if (token != place.query.end()) {
    const auto rest = tokens_.find(token->second);
    if (rest == tokens_.end()) {
      co_await fail(exchange, 410, "Expired");
      co_return;
    }
    items = rest->second;
    at = std::stoll(token->second);
    tokens_.erase(rest);
  } else {
    for (const auto& [key, object] : table_) {
      const bool inside = place.space.empty() || key.second.starts_with(place.space + "/");
      if (key.first == place.plural && inside) items.push_back(to_string(object));
    }
  }
  size_t limit = items.size();
  if (place.query.contains("limit"))
    limit = std::min(limit, size_t(std::stoul(place.query["limit"])));
  std::string next;
  if (limit < items.size()) {
    next = fmt::format("{}-{}", at, tokens_.size());
    tokens_[next].assign(items.begin() + static_cast<std::ptrdiff_t>(limit), items.end());
    items.resize(limit);
  }
  co_await answer(
      exchange, 200,
      fmt::format(
          R"({{"kind":"List","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
          at, next, fmt::join(items, ",")));
}

rt::Task<void> FakeApi::watch(net::Exchange& exchange, Place place) {
  const int64_t from = std::stoll(place.query["resourceVersion"]);
  if (from < oldest_) {
    co_await fail(exchange, 410, "Expired");
    co_return;
  }
  const base::TimePoint end =
      exchange.loop().now() + std::chrono::seconds(std::stoll(place.query["timeoutSeconds"]));
  base::Result<> sent =
      co_await exchange.start({.status = 200, .content_type = "application/json"});
  ++watching_;
  size_t next = 0;
  uint64_t words = words_;
  while (sent) {
    std::string out;
    for (; next < history_.size() && !muted_; ++next) {
      const Event& event = history_[next];
      const bool inside = place.space.empty() || event.space == place.space;
      if (event.revision <= from || event.plural != place.plural || !inside) continue;
      out += fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", event.type, event.object);
    }
    const bool spoken_to = words != words_;
    words = words_;
    if (spoken_to) out += word_;
    if (!out.empty()) sent = co_await exchange.write(out);
    if ((spoken_to && word_.empty()) || exchange.loop().now() >= end) break;
    if (!out.empty()) continue;
    const rt::WaitStatus waited = co_await changed_.wait(end);
    if (waited == rt::WaitStatus::kCancelled) break;
  }
  --watching_;
  if (sent) static_cast<void>(co_await exchange.finish());
}

rt::Task<void> FakeApi::write(net::Exchange& exchange, Place place) {
  const std::string method(exchange.request().method);
  const base::Result<Json> body = codec::parse_json(exchange.body());
  if (!body) {
    co_await fail(exchange, 400, "BadRequest");
    co_return;
  }
  if (method == "POST") place.name = text_at(*body, {"metadata", "name"});
  const std::string key = place.space + "/" + place.name;
  const auto found = table_.find({place.plural, key});
  if (method == "POST") {
    if (found != table_.end()) {
      co_await fail(exchange, 409, "AlreadyExists");
      co_return;
    }
    store(place.plural, key, *body, "ADDED");
    co_await answer(exchange, 201, to_string(stored(place.plural, key)));
    co_return;
  }
  if (found == table_.end()) {
    co_await fail(exchange, 404, "NotFound");
    co_return;
  }
  const Json now = found->second;
  const bool deletes = method == "DELETE";
  const std::string version = deletes ? text_at(*body, {"preconditions", "resourceVersion"})
                                      : text_at(*body, {"metadata", "resourceVersion"});
  const std::string uid = deletes ? text_at(*body, {"preconditions", "uid"}) : "";
  if ((!version.empty() && version != text_at(now, {"metadata", "resourceVersion"})) ||
      (!uid.empty() && uid != text_at(now, {"metadata", "uid"}))) {
    co_await fail(exchange, 409, "Conflict");
    co_return;
  }
  if (deletes) {
    remove(place.plural, key);
    co_await answer(exchange, 200, R"({"kind":"Status","status":"Success"})");
    co_return;
  }
  co_await change(exchange, place, now, *body);
}

rt::Task<void> FakeApi::change(net::Exchange& exchange, const Place& place, const Json& now,
                               const Json& body) {
  const bool scale = place.subresource == "scale";
  std::optional<Json> next = body;
  if (scale) {
    next = with(now, "spec", merged(member_of(now, "spec"), member_of(body, "spec")));
  } else if (last_content_type == "application/json-patch+json") {
    next = json_patched(now, body);
  } else if (exchange.request().method == "PATCH") {
    next = merged(now, body);
  }
  if (!next) {
    co_await fail(exchange, 422, "Invalid");
    co_return;
  }
  const std::string key = place.space + "/" + place.name;
  store(place.plural, key, std::move(*next), "MODIFIED");
  const Json after = stored(place.plural, key);
  co_await answer(exchange, 200, to_string(scale ? scale_of(after) : after));
}

}  // namespace fairlead::kube
