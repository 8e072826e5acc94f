// Kubeconfig files: reading, merging, choosing a context.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "kube/access.h"

namespace fairlead::kube {
namespace {

using codec::Json;

// Reads the fields of one object; the first thing that is wrong stays.
class Reader {
 public:
  Reader(const Json& object, std::string path, std::string_view folder)
      : object_(object), path_(std::move(path)), folder_(folder) {
    if (!object_.is_object() && !object_.is_null()) wrong("", "is not an object");
  }

  std::string text(std::string_view key) {
    const Json* value = object_.find(key);
    if (value == nullptr || value->is_null()) return {};
    if (!value->is_string()) wrong(key, "is not a string");
    return value->as_string();
  }
  bool flag(std::string_view key) {
    const Json* value = object_.find(key);
    if (value == nullptr || value->is_null()) return false;
    if (!value->is_bool()) wrong(key, "is neither true nor false");
    return value->as_bool();
  }
  std::string path(std::string_view key) {
    std::string file = text(key);
    return file.empty() || file.starts_with('/') ? file : fmt::format("{}/{}", folder_, file);
  }
  Material material(std::string_view data_key, std::string_view file_key) {
    Material material{.data = {}, .file = path(file_key)};
    const std::string encoded = text(data_key);
    if (encoded.empty()) return material;
    base::Result<std::string> data = base::decode_base64(encoded);
    if (!data) {
      wrong(data_key, data.error().message());
    } else {
      material.data = std::move(*data);
    }
    return material;
  }
  const Json& child(std::string_view key) {
    static const Json nothing;
    const Json* value = object_.find(key);
    return value == nullptr ? nothing : *value;
  }
  std::string path_of(std::string_view key) const { return fmt::format("{}.{}", path_, key); }
  void wrong(std::string_view key, std::string_view why) {
    if (error_) return;
    error_ = base::invalid_argument(key.empty() ? fmt::format("{} {}", path_, why)
                                                : fmt::format("{}.{} {}", path_, key, why));
  }
  void wrong(const std::optional<base::Error>& inner) {
    if (!error_) error_ = inner;
  }
  std::string_view folder() const { return folder_; }
  const std::optional<base::Error>& error() const { return error_; }

 private:
  const Json& object_;
  std::string path_;
  std::string_view folder_;
  std::optional<base::Error> error_;
};

Kubeconfig::Cluster read_cluster(Reader& in) {
  Kubeconfig::Cluster cluster;
  cluster.server = in.text("server");
  cluster.server_name = in.text("tls-server-name");
  cluster.authority = in.material("certificate-authority-data", "certificate-authority");
  if (in.flag("insecure-skip-tls-verify")) cluster.verification = net::PeerVerification::kNone;
  if (!in.text("proxy-url").empty()) in.wrong("proxy-url", "is not supported");
  return cluster;
}

ExecPlugin read_exec(Reader& in) {
  ExecPlugin exec{.api_version = in.text("apiVersion"),
                  .command = in.text("command"),
                  .arguments = {},
                  .environment = {},
                  .install_hint = in.text("installHint")};
  if (exec.command.empty()) in.wrong("command", "is missing");
  if (exec.api_version != "client.authentication.k8s.io/v1" &&
      exec.api_version != "client.authentication.k8s.io/v1beta1") {
    in.wrong("apiVersion", "is not client.authentication.k8s.io/v1 or v1beta1");
  }
  for (const Json& argument : in.child("args").items()) {
    if (!argument.is_string()) in.wrong("args", "holds something that is not a string");
    exec.arguments.push_back(argument.as_string());
  }
  for (const Json& variable : in.child("env").items()) {
    Reader pair(variable, in.path_of("env[]"), in.folder());
    exec.environment.emplace_back(pair.text("name"), pair.text("value"));
    in.wrong(pair.error());
  }
  // A command with a slash is a file beside the kubeconfig; any other is looked up in PATH.
  if (exec.command.find('/') != std::string::npos) exec.command = in.path("command");
  return exec;
}

Kubeconfig::User read_user(Reader& in) {
  Kubeconfig::User user;
  user.certificate = in.material("client-certificate-data", "client-certificate");
  user.key = in.material("client-key-data", "client-key");
  user.token = {.data = in.text("token"), .file = in.path("tokenFile")};
  if (!user.token.file.empty()) user.token.data.clear();  // the file is the newer one
  user.name = in.text("username");
  user.password = in.text("password");
  if (in.child("exec").is_object()) {
    Reader exec(in.child("exec"), in.path_of("exec"), in.folder());
    user.exec = read_exec(exec);
    in.wrong(exec.error());
  }
  if (in.child("auth-provider").is_object()) {
    in.wrong("auth-provider", "is not supported: use an exec plugin");
  }
  if (user.certificate.given() != user.key.given()) {
    in.wrong("", "has one of client certificate and client key without the other");
  }
  return user;
}

Kubeconfig::Context read_context(Reader& in) {
  return {.cluster = in.text("cluster"), .user = in.text("user"), .space = in.text("namespace")};
}

// A list of {name: ..., <kind>: {...}}.
template <class T>
std::optional<base::Error> read_named(const Json& root, std::string_view list,
                                      std::string_view kind, std::string_view folder,
                                      T (*read)(Reader&), Kubeconfig::Named<T>& out) {
  const Json* found = root.find(list);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_array()) return base::invalid_argument(fmt::format("{} is not a list", list));
  for (const Json& entry : found->items()) {
    Reader outer(entry, fmt::format("{}[{}]", list, out.size()), folder);
    const std::string name = outer.text("name");
    Reader inner(outer.child(kind), fmt::format("{}[{}].{}", list, name, kind), folder);
    T value = read(inner);
    outer.wrong(inner.error());
    if (outer.error()) return outer.error();
    out.emplace_back(name, std::move(value));
  }
  return std::nullopt;
}

template <class T>
const T* find_named(const Kubeconfig::Named<T>& list, std::string_view name) {
  const auto found = std::ranges::find(
      list, name, [](const auto& entry) { return std::string_view(entry.first); });
  return found == list.end() ? nullptr : &found->second;
}

template <class T>
void merge_named(Kubeconfig::Named<T>& into, Kubeconfig::Named<T>&& from) {
  for (auto& entry : from) {
    if (find_named(into, entry.first) == nullptr) into.push_back(std::move(entry));
  }
}

template <class T>
base::Result<const T*> named(const Kubeconfig::Named<T>& list, std::string_view what,
                             std::string_view name) {
  const T* found = find_named(list, name);
  if (found != nullptr) return found;
  return base::Error(base::ErrorCode::kNotFound,
                     fmt::format("the kubeconfig has no {} '{}'", what, name));
}

base::Result<> set_server(Access& access, std::string_view url) {
  std::string_view authority = url;
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos)
    return base::invalid_argument(fmt::format("server '{}' has no scheme", url));
  const size_t slash = url.find('/', scheme + 3);
  if (slash != std::string_view::npos) {
    authority = url.substr(0, slash);
    access.path_prefix = url.substr(slash);
    while (access.path_prefix.ends_with('/')) access.path_prefix.pop_back();
    if (access.path_prefix.find_first_of("?# \r\n") != std::string::npos) {
      return base::invalid_argument(fmt::format("server '{}' is not a URL", url));
    }
  }
  base::Result<net::HostPort> server =
      net::parse_backend_url(authority, net::Schemes::kHttpAndHttps);
  if (!server) return server.error().wrap("server");
  access.server = *server;
  return {};
}

}  // namespace

base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, std::string_view folder) {
  const base::Result<Json> root = codec::parse_yaml(text);
  if (!root) return root.error();
  if (!root->is_object()) return base::invalid_argument("a kubeconfig is an object");
  Kubeconfig config;
  Reader in(*root, "kubeconfig", folder);
  config.current_context = in.text("current-context");
  if (in.error()) return *in.error();
  std::optional<base::Error> error =
      read_named(*root, "clusters", "cluster", folder, &read_cluster, config.clusters);
  if (!error) error = read_named(*root, "users", "user", folder, &read_user, config.users);
  if (!error) {
    error = read_named(*root, "contexts", "context", folder, &read_context, config.contexts);
  }
  if (error) return *error;
  return config;
}

void Kubeconfig::merge(Kubeconfig later) {
  if (current_context.empty()) current_context = std::move(later.current_context);
  merge_named(clusters, std::move(later.clusters));
  merge_named(users, std::move(later.users));
  merge_named(contexts, std::move(later.contexts));
}

base::Result<Access> Kubeconfig::access(std::string_view context) const {
  const std::string_view name = context.empty() ? std::string_view(current_context) : context;
  if (name.empty()) {
    return base::Error(base::ErrorCode::kNotFound, "the kubeconfig has no current context");
  }
  const base::Result<const Context*> chosen = named(contexts, "context", name);
  if (!chosen) return chosen.error();
  const base::Result<const Cluster*> cluster = named(clusters, "cluster", (*chosen)->cluster);
  if (!cluster) return cluster.error();
  Access access;
  const base::Result<> server = set_server(access, (*cluster)->server);
  if (!server) return server.error();
  access.server_name = (*cluster)->server_name;
  access.verification = (*cluster)->verification;
  access.authority = (*cluster)->authority;
  if (!(*chosen)->user.empty()) {
    const base::Result<const User*> user = named(users, "user", (*chosen)->user);
    if (!user) return user.error();
    access.certificate = (*user)->certificate;
    access.key = (*user)->key;
    access.token = (*user)->token;
    access.user = (*user)->name;
    access.password = (*user)->password;
    access.exec = (*user)->exec;
  }
  if (!(*chosen)->space.empty()) access.space = (*chosen)->space;
  return access;
}

}  // namespace fairlead::kube
