#include "protocol/adapter_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::protocol {
namespace {

using ::testing::HasSubstr;

ApiError load_refusal(std::string_view body) {
  LoadAdapterRequest request;
  const Refusal refusal = parse_load_adapter(body, request);
  EXPECT_TRUE(refusal.has_value()) << body;
  return refusal.value_or(ApiError{});
}

ApiError unload_refusal(std::string_view body) {
  UnloadAdapterRequest request;
  const Refusal refusal = parse_unload_adapter(body, request);
  EXPECT_TRUE(refusal.has_value()) << body;
  return refusal.value_or(ApiError{});
}

TEST(AdapterRequest, IsReadWithItsDefaults) {
  LoadAdapterRequest load;
  EXPECT_FALSE(parse_load_adapter(R"({"lora_name":"sql","lora_path":"/a","more":1})", load));
  EXPECT_EQ(load.name, "sql");
  EXPECT_EQ(load.path, "/a");
  EXPECT_FALSE(load.load_inplace);
  EXPECT_FALSE(
      parse_load_adapter(R"({"lora_name":"sql","lora_path":"/a","load_inplace":true})", load));
  EXPECT_TRUE(load.load_inplace);
  UnloadAdapterRequest unload;
  EXPECT_FALSE(parse_unload_adapter(R"({"lora_name":"sql","lora_int_id":3})", unload));
  EXPECT_EQ(unload.name, "sql");
}

TEST(AdapterRequest, MissingFieldsAreAllNamed) {
  const ApiError error = load_refusal("{}");
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.type, "Bad Request");
  EXPECT_THAT(error.message, HasSubstr("2 validation errors:"));
  EXPECT_THAT(error.message, HasSubstr("'loc': ('body', 'lora_name'), 'msg': 'Field required'"));
  EXPECT_THAT(error.message, HasSubstr("'loc': ('body', 'lora_path'), 'msg': 'Field required'"));
  EXPECT_THAT(unload_refusal("{}").message, HasSubstr("POST /v1/unload_lora_adapter"));
  EXPECT_THAT(load_refusal(R"({"lora_name":1,"lora_path":"/a"})").message,
              HasSubstr("Input should be a valid string"));
}

TEST(AdapterRequest, EmptyNamesAreInvalidInput) {
  for (const char* body :
       {R"({"lora_name":"","lora_path":"/a"})", R"({"lora_name":"sql","lora_path":""})"}) {
    const ApiError error = load_refusal(body);
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.type, "InvalidUserInput");
    EXPECT_EQ(error.message, "Both 'lora_name' and 'lora_path' must be provided.");
  }
  EXPECT_EQ(unload_refusal(R"({"lora_name":""})").message,
            "'lora_name' needs to be provided to unload a LoRA adapter.");
}

TEST(AdapterRequest, ErrorsSayWhatVllmSays) {
  std::string body;
  append_error(body, adapter_already_loaded("sql"));
  EXPECT_EQ(
      body,
      R"({"error":{"message":"The lora adapter 'sql' has already been loaded. If you want to )"
      R"(load the adapter in place, set 'load_inplace' to True.","type":"InvalidUserInput",)"
      R"("param":null,"code":400}})");
  body.clear();
  append_error(body, adapter_not_found("sql"));
  EXPECT_EQ(body, R"({"error":{"message":"The lora adapter 'sql' cannot be found.","type":)"
                  R"("NotFoundError","param":null,"code":404}})");
}

}  // namespace
}  // namespace fairlead::protocol
