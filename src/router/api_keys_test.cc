#include "router/api_keys.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::router {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string hex_of(std::string_view key) {
  std::string text;
  for (const uint8_t byte : net::sha256(key)) text += fmt::format("{:02x}", byte);
  return text;
}

std::string keys_error(std::string_view text) {
  const auto keys = ApiKeys::parse(text);
  return keys ? "" : keys.error().describe();
}

TEST(ApiKeys, AcceptsPlainKeysAndDigestsOfKeys) {
  const auto keys =
      ApiKeys::parse("# clients\n\n  sk-first-1  \r\nsha256:" + hex_of("sk-second") + "\nSK-THIRD");
  ASSERT_TRUE(keys) << keys.error().describe();
  EXPECT_EQ(keys->size(), 3U);
  for (const char* key : {"sk-first-1", "sk-second", "SK-THIRD"}) {
    EXPECT_TRUE(keys->accepts(key)) << key;
  }
  const std::string digest = "sha256:" + hex_of("sk-second");
  for (const std::string_view key :
       {"", "sk-first-", "sk-first-12", "sk-third", "# clients", " sk-second"}) {
    EXPECT_FALSE(keys->accepts(key)) << key;
  }
  EXPECT_FALSE(keys->accepts(digest)) << "who reads a digest has no key";
}

TEST(ApiKeys, ErrorsNameTheLineAndNeverTheKey) {
  EXPECT_THAT(keys_error(""), HasSubstr("no key"));
  EXPECT_THAT(keys_error("# only\n\n"), HasSubstr("no key"));
  for (const std::string bad : {"two words", "sha256:123", "caf\xc3\xa9-secret"}) {
    const std::string message = keys_error("good-key-1\n" + bad + "\n");
    EXPECT_THAT(message, HasSubstr("line 2"));
    EXPECT_THAT(message, Not(HasSubstr(bad)));
  }
  EXPECT_THAT(keys_error("sha256:" + std::string(64, 'g')), HasSubstr("64 hexadecimal digits"));
}

TEST(ApiKeys, LengthAndNumberAreBounded) {
  EXPECT_EQ(keys_error(std::string(ApiKeys::kKeyBytesMin, 'k')), "");
  EXPECT_THAT(keys_error(std::string(ApiKeys::kKeyBytesMin - 1, 'k')), HasSubstr("line 1"));
  const std::string longest(ApiKeys::kKeyBytesMax, 'k');
  EXPECT_TRUE(ApiKeys::parse(longest)->accepts(longest));
  EXPECT_THAT(keys_error(longest + "k"), HasSubstr("line 1"));
  EXPECT_FALSE(ApiKeys::parse(longest)->accepts(longest + "k"));
  std::string many;
  for (size_t i = 0; i < ApiKeys::kKeysMax; ++i) many += fmt::format("key-{:08}\n", i);
  EXPECT_EQ(keys_error(many), "");
  EXPECT_THAT(keys_error(many + "one-too-many"), HasSubstr("line 1001: more than 1000 keys"));
}

std::string presented(const std::string& fields) {
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  net::RequestHead head;
  EXPECT_FALSE(net::parse_request_head(text, {}, head));
  return std::string(presented_key(head));
}

TEST(PresentedKey, IsTheBearerTokenOrTheXApiKey) {
  EXPECT_EQ(presented("Authorization: Bearer sesame\r\n"), "sesame");
  EXPECT_EQ(presented("authorization: bearer   sesame \r\n"), "sesame");
  EXPECT_EQ(presented("X-Api-Key: sesame\r\n"), "sesame");
  EXPECT_EQ(presented("Authorization: Basic c2VzYW1l\r\nx-api-key: sesame\r\n"), "sesame");
  for (const char* fields :
       {"", "Authorization: Bearer\r\n", "Authorization: sesame\r\n", "Authorization: Basic a\r\n",
        "Authorization: Bearersesame\r\n", "Proxy-Authorization: Bearer sesame\r\n"}) {
    EXPECT_EQ(presented(fields), "") << fields;
  }
}

}  // namespace
}  // namespace fairlead::router
