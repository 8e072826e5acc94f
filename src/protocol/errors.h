// Errors as clients of the OpenAI API see them: {"error":{"message","type","param","code"}}.
//
// Engines and the router share the shape and differ in the words: an engine says what vLLM 0.20
// says (type "BadRequestError", code 400), the router has types and codes that tell a client what
// to do. http_error() is the one place where a base::Error becomes a status.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace fairlead::protocol {

struct ApiError {
  int status = 500;
  std::string message;
  std::string type;
  std::optional<std::string> param{};
  std::variant<int, std::string> code = 500;
};

// What checks of a request return: why it is refused, or nothing.
using Refusal = std::optional<ApiError>;

// An engine's: type and code follow from the status (400, 404, 422, 500, 501).
ApiError engine_error(int status, std::string message, std::optional<std::string> param = {});

// The router's.
struct HttpStatus {
  int status;
  std::string_view type;  // "invalid_request_error", "rate_limit_error", "server_error", ...
};
HttpStatus http_status(base::ErrorCode code);
ApiError http_error(const base::Error& error);
// "The model `NAME` does not exist (route not found).", 404 with code "model_not_found".
ApiError model_not_found(std::string_view model);

// The body, and the same as an event of a stream that has already begun.
void append_error(std::string& out, const ApiError& error);
void append_error_event(std::string& out, const ApiError& error);

// Starlette's own answers: {"detail":"Not Found"}.
void append_detail(std::string& out, std::string_view detail);

}  // namespace fairlead::protocol
