#include "base/base64.h"

#include <string_view>

#include <gtest/gtest.h>

namespace fairlead::base {
namespace {

std::string encoded(std::string_view text) {
  std::string out;
  append_base64(out, std::as_bytes(std::span(text)));
  return out;
}

TEST(Base64, EncodesTheVectorsOfRfc4648) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Base64, EncodesEveryBit) { EXPECT_EQ(encoded("\xff\xef\xbe"), "/+++"); }

TEST(Base64, DecodesWhatItEncodes) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const Result<std::string> decoded = decode_base64(encoded(text));
    ASSERT_TRUE(decoded) << i;
    EXPECT_EQ(*decoded, text);
    text.push_back(static_cast<char>(i * 7));
  }
}

TEST(Base64, DecodesOverLinesAndRefusesTheRest) {
  const Result<std::string> decoded = decode_base64(" Zm9v\r\nYmE=\n");
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, "fooba");
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "Zm9v====", "=", "Zm=v", "Zm-v", "Zg==Zg=="}) {
    EXPECT_FALSE(decode_base64(bad)) << bad;
  }
}

TEST(Base64, Appends) {
  std::string out = "x";
  append_base64(out, {});
  EXPECT_EQ(out, "x");
}

}  // namespace
}  // namespace fairlead::base
