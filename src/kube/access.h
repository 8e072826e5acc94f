// Access: where an API server is and how to prove who we are, as found in a kubeconfig or given to
// a pod. Files that it names are read by Credentials (credentials.h), again and again, since they
// rotate.
//
//   Result<Access> access = find_access({.kubeconfig = flag}, surroundings_of_process());
//
// Parsing is pure; find_access reads files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/tls.h"

namespace fairlead::kube {

// Given in the text itself, or as a file to be read whenever it is needed; data wins.
struct Material {
  std::string data;
  std::string file;
  bool given() const { return !data.empty() || !file.empty(); }
};

// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string install_hint;
};

struct Access {
  net::HostPort server;
  std::string path_prefix;  // of every request: "" or "/k8s/clusters/c1"
  std::string server_name;  // in the certificate, where it is not the host
  net::PeerVerification verification = net::PeerVerification::kRequired;
  Material authority;  // none: the system's
  Material certificate;
  Material key;
  Material token;
  std::string user;  // with `password`: basic authentication
  std::string password;
  std::optional<ExecPlugin> exec;
  std::string space = "default";
};

struct Kubeconfig {
  struct Cluster {
    std::string server;
    std::string server_name;
    net::PeerVerification verification = net::PeerVerification::kRequired;
    Material authority;
  };
  struct User {
    Material certificate;
    Material key;
    Material token;
    std::string name;
    std::string password;
    std::optional<ExecPlugin> exec;
  };
  struct Context {
    std::string cluster;
    std::string user;
    std::string space;
  };
  template <class T>
  using Named = std::vector<std::pair<std::string, T>>;

  std::string current_context;
  Named<Cluster> clusters;
  Named<User> users;
  Named<Context> contexts;

  // Adds what this one does not have: of several files the first to name a thing wins.
  void merge(Kubeconfig later);
  // Of a context by name, or of the current one if `context` is empty.
  base::Result<Access> access(std::string_view context) const;
};

// One kubeconfig file, in YAML or JSON; relative paths in it are taken from `folder`. The error
// names the field.
base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, std::string_view folder);

struct AccessOptions {
  std::string
      kubeconfig;  // a file; empty: inside a cluster that one, else KUBECONFIG, else ~/.kube/config
  std::string context;  // empty: the file's current one
};

// What of a process's environment says where the API server is.
struct Surroundings {
  std::string service_host;  // KUBERNETES_SERVICE_HOST
  std::string service_port;
  std::string kubeconfigs;  // KUBECONFIG: files, separated by colons
  std::string home;
  std::string account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};
Surroundings surroundings_of_process();

base::Result<Access> find_access(const AccessOptions& options, const Surroundings& surroundings);

// At most 1 MiB of a regular file, whole.
base::Result<std::string> read_small_file(const std::string& path);

}  // namespace fairlead::kube
