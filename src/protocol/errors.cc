#include "protocol/errors.h"

#include <fmt/format.h>

#include "codec/json.h"

namespace fairlead::protocol {
namespace {

std::string_view engine_type(int status) {
  switch (status) {
    case 400:
      return "BadRequestError";
    case 404:
      return "NotFoundError";
    case 422:
      return "UnprocessableEntityError";
    case 501:
      return "NotImplementedError";
    default:
      return "InternalServerError";
  }
}

}  // namespace

ApiError engine_error(int status, std::string message, std::optional<std::string> param) {
  return {.status = status,
          .message = std::move(message),
          .type = std::string(engine_type(status)),
          .param = std::move(param),
          .code = status};
}

HttpStatus http_status(base::ErrorCode code) {
  using base::ErrorCode;
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return {400, "invalid_request_error"};
    case ErrorCode::kUnauthenticated:
      return {401, "authentication_error"};
    case ErrorCode::kPermissionDenied:
      return {403, "permission_error"};
    case ErrorCode::kNotFound:
      return {404, "invalid_request_error"};
    case ErrorCode::kConflict:
    case ErrorCode::kAlreadyExists:
      return {409, "conflict_error"};
    case ErrorCode::kExpired:
      return {410, "invalid_request_error"};
    case ErrorCode::kResourceExhausted:
      return {429, "rate_limit_error"};
    case ErrorCode::kUnavailable:
      return {503, "service_unavailable_error"};
    case ErrorCode::kDeadlineExceeded:
      return {504, "timeout_error"};
    case ErrorCode::kCancelled:
      return {499, "client_closed_request"};
    case ErrorCode::kClosed:
    case ErrorCode::kConnectionReset:
    case ErrorCode::kProtocol:
      return {502, "upstream_error"};
    case ErrorCode::kUnimplemented:
      return {501, "not_implemented_error"};
    case ErrorCode::kInternal:
      return {500, "server_error"};
  }
  return {500, "server_error"};
}

ApiError http_error(const base::Error& error) {
  const HttpStatus status = http_status(error.code());
  return {.status = status.status,
          .message = error.describe(),
          .type = std::string(status.type),
          .code = std::string(base::to_string(error.code()))};
}

ApiError model_not_found(std::string_view model) {
  ApiError error = http_error(
      base::Error(base::ErrorCode::kNotFound,
                  fmt::format("The model `{}` does not exist (route not found).", model)));
  error.param = "model";
  error.code = "model_not_found";
  return error;
}

void append_error(std::string& out, const ApiError& error) {
  out.append("{\"error\":{\"message\":");
  codec::append_json_string(out, error.message);
  out.append(",\"type\":");
  codec::append_json_string(out, error.type);
  out.append(",\"param\":");
  error.param ? codec::append_json_string(out, *error.param) : void(out.append("null"));
  out.append(",\"code\":");
  if (const int* number = std::get_if<int>(&error.code)) {
    out.append(std::to_string(*number));
  } else {
    codec::append_json_string(out, std::get<std::string>(error.code));
  }
  out.append("}}");
}

void append_error_event(std::string& out, const ApiError& error) {
  out.append("data: ");
  append_error(out, error);
  out.append("\n\n");
}

void append_detail(std::string& out, std::string_view detail) {
  out.append("{\"detail\":");
  codec::append_json_string(out, detail);
  out.push_back('}');
}

}  // namespace fairlead::protocol
