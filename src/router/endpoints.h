// What the router serves, by path and method. Pure.
#pragma once

#include <string_view>

namespace fairlead::router {

enum class EndpointKind : uint8_t {
  kUnknown,
  kHealthz,
  kReadyz,
  kModels,
  kJson,       // relayed; the body is JSON and names the model
  kMultipart,  // relayed; the body is a form with a field `model`
};

struct Endpoint {
  std::string_view path;
  EndpointKind kind = EndpointKind::kUnknown;
  std::string_view method = {};   // the one that is allowed
  bool has_usage_option = false;  // streams have stream_options.include_usage
};

// kUnknown for anything else.
const Endpoint& find_endpoint(std::string_view path);

}  // namespace fairlead::router
