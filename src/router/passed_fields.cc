#include "router/passed_fields.h"

namespace fairlead::router {
namespace {

bool is_named(std::string_view name, std::string_view lower) {
  return net::equals_ignoring_case(name, lower);
}

// Access-Control-Allow-Origin and the like.
bool is_about_pages(std::string_view name) {
  constexpr std::string_view kPrefix = "access-control-";
  return name.size() > kPrefix.size() && is_named(name.substr(0, kPrefix.size()), kPrefix);
}

bool is_replaced(std::string_view name, Authorization authorization, TraceFields trace) {
  switch (name.size()) {
    case 4:
      return is_named(name, "host");
    case 6:
      return is_named(name, "expect") || is_named(name, "origin");
    case 9:
      return authorization == Authorization::kDrop && is_named(name, "x-api-key");
    case 10:
      return trace == TraceFields::kDropAll && is_named(name, "tracestate");
    case 11:
      return trace != TraceFields::kPass && is_named(name, "traceparent");
    case 12:
      return is_named(name, "x-request-id");
    case 13:
      return authorization == Authorization::kDrop && is_named(name, "authorization");
    case 14:
      return is_named(name, "content-length");
    case 15:
      return is_named(name, "accept-encoding") || is_named(name, "x-forwarded-for");
    case 18:
      return is_named(name, "x-fairlead-explain");
    default:
      return false;
  }
}

}  // namespace

void append_passed_fields(std::string& out, const net::Head& head, Authorization authorization,
                          TraceFields trace) {
  // Usually one field; several are one list (RFC 9110 5.3).
  std::string_view connection;
  std::string joined;
  for (const net::Field& field : head.fields) {
    if (field.name.size() != 10 || !is_named(field.name, "connection")) continue;
    if (connection.empty()) {
      connection = field.value;
    } else {
      joined = std::string(connection).append(",").append(field.value);
      connection = joined;
    }
  }
  for (const net::Field& field : head.fields) {
    if (is_replaced(field.name, authorization, trace) || is_about_pages(field.name) ||
        net::is_hop_by_hop(field.name, connection)) {
      continue;
    }
    out.append(field.name).append(": ").append(field.value).append("\r\n");
  }
}

}  // namespace fairlead::router
