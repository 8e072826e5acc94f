// Which header fields pass through the router, in either direction. Pure.
#pragma once

#include <string>

#include "net/http_head.h"

namespace fairlead::router {

enum class Authorization : uint8_t { kDrop, kPass };
// traceparent and tracestate: the second passes only beside a first that is continued.
enum class TraceFields : uint8_t { kPass, kDropParent, kDropAll };

// Appends, as lines, all fields of `head` but those about one hop, those the router sets by itself
// (Host, Content-Length, x-request-id, X-Forwarded-For, ...), Accept-Encoding (answers are read for
// their usage, so they must not be compressed), those about web pages (Origin, Access-Control-*:
// the router alone decides) and, unless they pass, a client's keys (Authorization, x-api-key) and
// those of a trace.
void append_passed_fields(std::string& out, const net::Head& head, Authorization authorization,
                          TraceFields trace = TraceFields::kPass);

}  // namespace fairlead::router
