// The body scan agrees with the tree parser on every field, and edits give the body one expects.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "codec/body_edit.h"
#include "codec/body_scan.h"
#include "codec/json.h"
#include "codec/prompt_pieces.h"

using namespace fairlead::codec;

namespace {

void check_span(std::string_view body, BodySpan span, const Json& tree, std::string_view key) {
  const Json* value = tree.find(key);
  CHECK(span.present() == (value != nullptr), "a member is seen by one of the two only");
  if (value == nullptr) return;
  const auto parsed = parse_json(span.in(body));
  CHECK(parsed.ok() && *parsed == *value, "a span is not the value of its member");
}

void check_edits(std::string_view body, const BodyScan& scan, const Json& tree) {
  BodyEdits edits(scan);
  edits.set("model", scan.model_span, "\"other\"");
  edits.set("cache_salt", scan.cache_salt, "\"salt\"");
  edits.request_usage(body);
  const auto edited = parse_json(spliced(body, edits.splices()));
  CHECK(edited.ok(), "an edit breaks the body");
  CHECK(edited->find("model")->as_string() == "other", "an edit does not replace");
  CHECK(edited->find("cache_salt")->as_string() == "salt", "an edit does not add");
  const Json* options = edited->find("stream_options");
  CHECK(options != nullptr, "usage is not asked for");
  if (options->is_object()) {
    const Json* usage = options->find("include_usage");
    CHECK(usage != nullptr, "usage is not asked for");
    CHECK(scan.include_usage || usage->as_bool(), "usage is not asked for");
  }
  for (const auto& [key, value] : tree.members()) {
    if (key == "model" || key == "cache_salt" || key == "stream_options") continue;
    CHECK(*edited->find(key) == value, "an edit changes another member");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto scan = scan_body(body);
  const auto tree = parse_json(body);
  if (!scan) {
    CHECK(!tree || !tree->is_object(), "the scan refuses what the parser accepts");
    return 0;
  }
  size_t bytes = 0;
  for_each_prompt_piece(body, *scan, [&](const PromptPiece& piece) {
    bytes += piece.raw.size();
    CHECK(piece.raw.empty() || (piece.raw.data() >= body.data() &&
                                piece.raw.data() + piece.raw.size() <= body.data() + body.size()),
          "a piece lies outside the body");
    return true;
  });
  CHECK(bytes <= body.size(), "pieces overlap");
  if (!tree) return 0;  // numbers and surrogates that the engine is to judge
  CHECK(tree->is_object(), "the scan accepts what is no object");
  const Json* model = tree->find("model");
  CHECK(body_text(body, scan->model_span) == (model == nullptr ? "" : model->as_string()),
        "two models in one request");
  const Json* stream = tree->find("stream");
  if (stream != nullptr && stream->is_bool()) {
    CHECK(scan->streams == stream->as_bool(), "two opinions on streaming");
  }
  const Json* limit = tree->find("max_tokens");
  if (limit != nullptr && limit->is_integer() && limit->as_uint() <= INT64_MAX) {
    CHECK(scan->max_tokens == limit->as_int(), "two opinions on max_tokens");
  }
  check_span(body, scan->messages, *tree, "messages");
  check_span(body, scan->prompt, *tree, "prompt");
  check_span(body, scan->stream_options, *tree, "stream_options");
  check_span(body, scan->cache_salt, *tree, "cache_salt");
  check_span(body, scan->user, *tree, "user");
  check_edits(body, *scan, *tree);
  return 0;
}
