// One pass over the bytes of a request body for what routing needs. No tree is built and nothing is
// written back: unknown fields, key order and number text reach the engine as they were sent, and
// edits are spliced into the original bytes.
//
//   auto scan = scan_body(body);
//   if (!scan) return scan.error();              // not exactly one strict JSON object
//   BodyEdits edits(*scan);
//   if (scan->streams) edits.request_usage(body);
//   send(spliced(body, edits.splices()));
//
// Of a repeated key the last one wins, and an escaped key is the key it spells, as in the engines,
// so that router and engine never see two requests in one. Scalars are read as leniently as vLLM's
// pydantic reads them ("stream": 1 streams). Spans are offsets, so a scan outlives a move of the
// body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fairlead::codec {

// The bytes of one JSON value in the body.
struct BodySpan {
  size_t offset = 0;
  size_t length = 0;

  bool present() const { return length != 0; }  // null is present
  std::string_view in(std::string_view body) const { return body.substr(offset, length); }
};

struct BodyScan {
  bool streams = false;
  bool include_usage = false;  // stream_options.include_usage
  std::optional<int64_t> max_tokens;
  std::optional<int64_t> max_completion_tokens;
  std::optional<int64_t> n;
  std::optional<int64_t> priority;

  BodySpan model_span;
  BodySpan stream;
  BodySpan stream_options;
  BodySpan include_usage_span;
  BodySpan messages;
  BodySpan prompt;
  BodySpan input;
  BodySpan system;
  BodySpan instructions;
  BodySpan tools;
  BodySpan user;
  BodySpan cache_salt;
  BodySpan max_tokens_span;
  BodySpan max_completion_tokens_span;
  BodySpan n_span;
  BodySpan priority_span;

  size_t after_brace = 0;  // where a new first member goes
  bool has_members = false;
};

// Fails with kInvalidArgument on anything but one JSON object: grammar, UTF-8, depth
// (kJsonDepthMax), bytes behind it.
base::Result<BodyScan> scan_body(std::string_view body);

// The text of a span that holds a string; empty otherwise. A view of `body`, or of `decoded` where
// the string has escapes.
std::string_view body_text(std::string_view body, BodySpan span, std::string& decoded);
std::string body_text(std::string_view body, BodySpan span);

}  // namespace fairlead::codec
