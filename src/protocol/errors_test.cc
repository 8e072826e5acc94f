#include "protocol/errors.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::protocol {
namespace {

using base::ErrorCode;

std::string body(const ApiError& error) {
  std::string out;
  append_error(out, error);
  return out;
}

TEST(Errors, MapEveryCodeToAStatus) {
  const std::pair<ErrorCode, int> expected[] = {
      {ErrorCode::kInvalidArgument, 400},  {ErrorCode::kUnauthenticated, 401},
      {ErrorCode::kPermissionDenied, 403}, {ErrorCode::kNotFound, 404},
      {ErrorCode::kConflict, 409},         {ErrorCode::kResourceExhausted, 429},
      {ErrorCode::kUnavailable, 503},      {ErrorCode::kDeadlineExceeded, 504},
      {ErrorCode::kCancelled, 499},        {ErrorCode::kClosed, 502},
      {ErrorCode::kConnectionReset, 502},  {ErrorCode::kProtocol, 502},
      {ErrorCode::kUnimplemented, 501},    {ErrorCode::kInternal, 500}};
  for (const auto& [code, status] : expected) {
    EXPECT_EQ(http_status(code).status, status) << base::to_string(code);
    EXPECT_EQ(http_error(base::Error(code, "x")).status, status);
  }
}

TEST(Errors, PrintTheRoutersWithItsCauseAndACodeInWords) {
  const base::Error error = base::Error(ErrorCode::kUnavailable, "connection \"refused\"");
  EXPECT_EQ(body(http_error(error.wrap("no replica answered"))),
            "{\"error\":{\"message\":\"no replica answered: connection \\\"refused\\\"\","
            "\"type\":\"service_unavailable_error\",\"param\":null,\"code\":\"unavailable\"}}");
  EXPECT_EQ(
      body(model_not_found("a\"b")),
      "{\"error\":{\"message\":\"The model `a\\\"b` does not exist (route not found).\","
      "\"type\":\"invalid_request_error\",\"param\":\"model\",\"code\":\"model_not_found\"}}");
}

TEST(Errors, PrintAnEnginesWithItsStatusAndAsAnEvent) {
  std::string out;
  append_error_event(out, engine_error(500, "Internal server error"));
  EXPECT_EQ(out,
            "data: {\"error\":{\"message\":\"Internal server error\","
            "\"type\":\"InternalServerError\",\"param\":null,\"code\":500}}\n\n");
  EXPECT_EQ(engine_error(501, "").type, "NotImplementedError");
  EXPECT_EQ(engine_error(422, "").type, "UnprocessableEntityError");
}

}  // namespace
}  // namespace fairlead::protocol
