#include "net/digest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace fairlead::net {
namespace {

std::string hex(const Sha256& digest) {
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

// The examples of FIPS 180.
TEST(Sha256, IsWhatTheStandardSays) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abc")), hex(sha256("abc"))) << "nothing is left of the one before";
}

TEST(SameSecret, ComparesEveryByte) {
  const Sha256 digest = sha256("abc");
  EXPECT_TRUE(same_secret(digest, sha256("abc")));
  for (size_t i = 0; i < digest.size(); ++i) {
    Sha256 other = digest;
    other[i] ^= 1;
    EXPECT_FALSE(same_secret(digest, other)) << i;
  }
}

}  // namespace
}  // namespace fairlead::net
