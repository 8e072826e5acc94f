// Reads the fields of a request body as vLLM's request classes do: the same conversions ("5" is an
// integer, 1 is true), and for what does not fit the same words, gathered over the whole body into
// one 400 whose message quotes the input as Python prints it.
//
//   std::vector<FieldError> errors;
//   BodyReader body(json, errors);
//   const auto n = body.integer("n");             // nullopt: absent, null or wrong
//   return refusal_of(errors, kChatEndpoint);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "protocol/errors.h"

namespace fairlead::protocol {

// Where a request came in; validation errors name vLLM's handler and the line it begins on.
struct Endpoint {
  std::string_view path, handler;
  int line;
};
inline constexpr Endpoint kChatEndpoint{"/v1/chat/completions", "create_chat_completion", 40};
inline constexpr Endpoint kCompletionEndpoint{"/v1/completions", "create_completion", 34};
inline constexpr Endpoint kTokenizeEndpoint{"/tokenize", "tokenize", 35};
inline constexpr Endpoint kDetokenizeEndpoint{"/detokenize", "detokenize", 62};
inline constexpr Endpoint kEmbeddingEndpoint{"/v1/embeddings", "create_embedding", 30};
inline constexpr Endpoint kLoadAdapterEndpoint{"/v1/load_lora_adapter", "load_lora_adapter", 32};
inline constexpr Endpoint kUnloadAdapterEndpoint{"/v1/unload_lora_adapter", "unload_lora_adapter",
                                                 45};

// A validation error of one field.
struct FieldError {
  std::string type;     // "int_parsing"
  std::string where{};  // the location after "body" as Python prints it: ", 'messages', 0"
  std::string message;
  std::string input;      // repr() of what was found
  std::string context{};  // repr() of what else is known, empty if nothing
};
ApiError validation_error(const Endpoint& endpoint, std::span<const FieldError> errors,
                          std::optional<std::string> param = {});

// The body as a JSON object, or the 400 that says what json.loads says.
Refusal parse_body(std::string_view body, const Endpoint& endpoint, codec::Json& out);

// nullopt if there are no errors.
Refusal refusal_of(std::span<const FieldError> errors, const Endpoint& endpoint);

enum class Null { kAllowed, kRefused };

class BodyReader {
 public:
  // Errors are appended to `errors`; `where` is the place of `object` in the body, as in
  // FieldError.
  BodyReader(const codec::Json& object, std::vector<FieldError>& errors, std::string where = {})
      : object_(object), errors_(errors), where_(std::move(where)) {}
  // A reader of the object that is this one's field `key`.
  BodyReader inside(std::string_view key, const codec::Json& object) const;

  // Each is empty where the field is absent, null, or wrong (which adds an error).
  std::optional<int64_t> integer(std::string_view key, Null null = Null::kAllowed);
  std::optional<double> number(std::string_view key, Null null = Null::kAllowed);
  std::optional<bool> boolean(std::string_view key, Null null = Null::kAllowed);
  std::optional<std::string> string(std::string_view key, Null null = Null::kAllowed);
  std::vector<int64_t> integers(std::string_view key, Null null = Null::kAllowed);
  // A string counts as a list of one.
  std::vector<std::string> string_or_strings(std::string_view key);
  const codec::Json* object(std::string_view key);
  const codec::Json* array(std::string_view key, Null null = Null::kAllowed);

  // "Field required", with the whole object as input.
  void missing(std::string_view key);
  // `path`: the place within this object; `context`: repr() of what else is known.
  void wrong(std::string_view type, std::string_view path, std::string_view message,
             const codec::Json& input, std::string context = {});

 private:
  // nullptr if absent, or null where that is allowed.
  const codec::Json* find(std::string_view key, Null null) const;

  const codec::Json& object_;
  std::vector<FieldError>& errors_;
  const std::string where_;
};

// Python's bool(): false, 0, "", [], {} and None are not true.
bool is_true(const codec::Json* value);

}  // namespace fairlead::protocol
