#include "net/http_body.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::net {
namespace {

struct Decoded {
  std::string data;
  size_t consumed = 0;
  BodyDecoder::Status status = BodyDecoder::Status::kInput;
  bool plain = true;
};

// Feeds the bytes as a connection would: first `split` of them, then the rest.
Decoded decode(std::string_view bytes, size_t split, BodyKind kind = BodyKind::kChunked,
               uint64_t length = 0) {
  BodyDecoder decoder(kind, length);
  Decoded result;
  for (const size_t available : {split, bytes.size()}) {
    for (;;) {
      const auto step = decoder.step(bytes.substr(result.consumed, available - result.consumed));
      result.consumed += step.consumed;
      result.data += step.data;
      result.status = step.status;
      if (step.status != BodyDecoder::Status::kMore) break;
    }
    if (result.status != BodyDecoder::Status::kInput) break;
  }
  result.plain = decoder.plain();
  return result;
}

TEST(BodyDecoder, DecodesChunksSplitAnywhere) {
  const std::string bytes = "5\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\nNEXT";
  for (size_t split = 0; split <= bytes.size(); ++split) {
    const Decoded result = decode(bytes, split);
    EXPECT_EQ(result.status, BodyDecoder::Status::kEnd) << split;
    EXPECT_EQ(result.data, "helloabcdefghijklmnopqrstuvwxyz") << split;
    EXPECT_EQ(result.consumed, bytes.size() - 4) << split;
    EXPECT_TRUE(result.plain);
  }
}

TEST(BodyDecoder, ReadsPastExtensionsAndTrailersAndSaysSo) {
  const std::string bytes = "5;a=b;c\r\nhello\r\n0\r\nX: y\r\n\r\n";
  for (size_t split = 0; split <= bytes.size(); ++split) {
    const Decoded result = decode(bytes, split);
    EXPECT_EQ(result.status, BodyDecoder::Status::kEnd) << split;
    EXPECT_EQ(result.data, "hello");
    EXPECT_FALSE(result.plain);
  }
}

TEST(BodyDecoder, RefusesBrokenChunks) {
  for (const char* bytes :
       {"5\nhello\r\n0\r\n\r\n", "\r\nhello", "g\r\n", "-1\r\n", "0x5\r\nhello\r\n",
        "5 \r\nhello\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\rhello",
        "1234567890abcdef\r\n", "5;\x01\r\nhello\r\n", " 5\r\nhello\r\n", "0\r\nX: y\n\r\n"}) {
    EXPECT_EQ(decode(bytes, 0).status, BodyDecoder::Status::kError) << bytes;
  }
}

TEST(BodyDecoder, BoundsSizeLinesAndTrailers) {
  EXPECT_EQ(decode("5;" + std::string(300, 'a'), 0).status, BodyDecoder::Status::kError);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 1000; ++i) trailers += "X: yyyyyyyyyyyy\r\n";
  EXPECT_EQ(decode(trailers + "\r\n", 0).status, BodyDecoder::Status::kError);
}

TEST(BodyDecoder, CountsALengthAndLeavesTheRest) {
  for (size_t split = 0; split <= 7; ++split) {
    const Decoded result = decode("helloXX", split, BodyKind::kLength, 5);
    EXPECT_EQ(result.data, "hello");
    EXPECT_EQ(result.consumed, 5u);
    EXPECT_EQ(result.status, BodyDecoder::Status::kEnd);
  }
}

TEST(BodyDecoder, KnowsWhereACloseIsAnEnd) {
  EXPECT_TRUE(BodyDecoder(BodyKind::kUntilClose, 0).may_end_by_close());
  EXPECT_TRUE(BodyDecoder(BodyKind::kNone, 0).may_end_by_close());
  EXPECT_FALSE(BodyDecoder(BodyKind::kLength, 1).may_end_by_close());
  EXPECT_FALSE(BodyDecoder(BodyKind::kChunked, 0).may_end_by_close());
}

}  // namespace
}  // namespace fairlead::net
