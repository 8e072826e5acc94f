#include "router/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::router {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

net::RequestHead head_of(std::string_view text) {
  net::RequestHead head;
  EXPECT_FALSE(net::parse_request_head(text, {}, head)) << text;
  return head;
}

std::string answer_fields(const std::string& list, const std::string& fields) {
  const std::string text = "POST /v1/completions HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  std::string out;
  Cors::parse(list)->append_answer_fields(out, head_of(text));
  return out;
}

TEST(Cors, IsOffByDefault) {
  EXPECT_FALSE(Cors::parse("")->on());
  EXPECT_EQ(answer_fields("", "Origin: https://chat.example\r\n"), "");
}

TEST(Cors, LetsPagesOfTheListReadAnswersAndNoOthers) {
  const std::string list = "https://chat.example, http://localhost:5173";
  const std::string good = answer_fields(list, "Origin: http://localhost:5173\r\n");
  EXPECT_THAT(good, HasSubstr("Access-Control-Allow-Origin: http://localhost:5173\r\n"));
  EXPECT_THAT(good, HasSubstr("Access-Control-Expose-Headers: x-request-id, retry-after"));
  EXPECT_THAT(good, HasSubstr("Vary: Origin\r\n"));
  EXPECT_THAT(good, Not(HasSubstr("Credentials")));
  for (const char* other :
       {"Origin: http://localhost:5174\r\n", "Origin: https://chat.example.evil\r\n",
        "Origin: null\r\n", "Origin: HTTPS://CHAT.EXAMPLE\r\n", ""}) {
    EXPECT_EQ(answer_fields(list, other), "Vary: Origin\r\n") << other;
  }
}

TEST(Cors, AStarLetsEveryPageRead) {
  const std::string fields = answer_fields("*", "Origin: https://any.example\r\n");
  EXPECT_THAT(fields, HasSubstr("Access-Control-Allow-Origin: *\r\n"));
  EXPECT_EQ(answer_fields("*", ""), "") << "no page has asked";
  EXPECT_TRUE(Cors::parse("*")->allows("null"));
}

TEST(Cors, APreflightIsToldTheMethodAndTheFieldsItAskedFor) {
  const net::RequestHead head = head_of(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: a\r\nOrigin: https://chat.example\r\n"
      "Access-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: authorization,content-type,x-stainless-os\r\n\r\n");
  EXPECT_TRUE(Cors::is_preflight(head));
  const std::string fields = Cors::preflight_fields(head, "POST");
  EXPECT_THAT(fields, HasSubstr("Access-Control-Allow-Methods: POST\r\n"));
  EXPECT_THAT(fields, HasSubstr("Access-Control-Allow-Headers: "
                                "authorization,content-type,x-stainless-os\r\n"));
  EXPECT_FALSE(Cors::is_preflight(head_of("OPTIONS /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")));
  EXPECT_FALSE(Cors::is_preflight(
      head_of("POST /v1/models HTTP/1.1\r\nHost: a\r\nOrigin: https://chat.example\r\n"
              "Access-Control-Request-Method: POST\r\n\r\n")));
}

TEST(Cors, ErrorsSayWhatAnOriginIs) {
  const auto why = [](std::string_view list) {
    const auto cors = Cors::parse(list);
    return cors ? "" : cors.error().describe();
  };
  EXPECT_EQ(why("app://desktop,https://[::1]:8443,http://10.0.0.1"), "");
  for (const char* bad : {"chat.example", "https://chat.example/", "https://", "://x",
                          "https://Chat.example", "https://a b", "null", ",", "https://a,"}) {
    EXPECT_THAT(why(bad), HasSubstr("is no origin")) << bad;
  }
  EXPECT_THAT(why("*,https://chat.example"), HasSubstr("give it alone"));
  std::string many = "https://a0.example";
  for (size_t i = 1; i < Cors::kOriginsMax; ++i) many += ",https://a" + std::to_string(i);
  EXPECT_EQ(why(many), "");
  EXPECT_THAT(why(many + ",https://more"), HasSubstr("more than 1000 origins"));
}

}  // namespace
}  // namespace fairlead::router
