#include "net/http_head.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::net {
namespace {

HeadError parse(std::string_view head, RequestHead& out) {
  HeadScanner scanner;
  const HeadLimits limits;
  if (scanner.scan(head, limits) != HeadScanner::Status::kComplete) return {400, "not complete"};
  return parse_request_head(head.substr(0, scanner.head_bytes()), limits, out);
}

TEST(RequestHead, ReadsMethodTargetFieldsAndFraming) {
  RequestHead head;
  ASSERT_FALSE(
      parse("POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n"
            "Expect: 100-continue\r\nX-Y:  z \t\r\n\r\n",
            head));
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path, "/v1/chat/completions");
  EXPECT_EQ(head.target, "/v1/chat/completions?x=1");
  EXPECT_EQ(head.value("x-y"), "z");
  EXPECT_EQ(head.body, BodyKind::kLength);
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.expect_continue);
  EXPECT_TRUE(head.keep_alive);
}

TEST(RequestHead, TakesThePathOfTheAbsoluteForm) {
  RequestHead head;
  ASSERT_FALSE(parse("GET http://h:1/a?b HTTP/1.1\r\nHost: h\r\n\r\n", head));
  EXPECT_EQ(head.path, "/a");
  ASSERT_FALSE(parse("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", head));
  EXPECT_EQ(head.path, "/");
}

TEST(RequestHead, KeepAliveFollowsVersionAndConnection) {
  RequestHead head;
  ASSERT_FALSE(parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n", head));
  EXPECT_FALSE(head.keep_alive);
  ASSERT_FALSE(parse("GET / HTTP/1.0\r\n\r\n", head));
  EXPECT_FALSE(head.keep_alive);
  ASSERT_FALSE(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", head));
  EXPECT_TRUE(head.keep_alive);
}

TEST(RequestHead, SeveralConnectionFieldsAreOneList) {
  RequestHead head;
  for (const char* fields :
       {"Connection: close\r\nConnection: foo\r\n", "Connection: foo\r\nConnection: close\r\n",
        "Connection: keep-alive\r\nConnection: close\r\n"}) {
    ASSERT_FALSE(parse(std::string("GET / HTTP/1.1\r\nHost: a\r\n") + fields + "\r\n", head));
    EXPECT_FALSE(head.keep_alive) << fields;
  }
  ASSERT_FALSE(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: foo\r\n\r\n", head));
  EXPECT_TRUE(head.keep_alive);
}

struct Refused {
  const char* why;
  std::string head;
  int status;
};

TEST(RequestHead, RefusesWhatIsAmbiguous) {
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::vector<Refused> cases = {
      {"repeated length", post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
      {"conflicting lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"listed length", post + "Content-Length: 1, 1\r\n\r\n", 400},
      {"signed length", post + "Content-Length: +1\r\n\r\n", 400},
      {"empty length", post + "Content-Length:\r\n\r\n", 400},
      {"hex length", post + "Content-Length: 0x1\r\n\r\n", 400},
      {"overlong length", post + "Content-Length: 9999999999999999999\r\n\r\n", 400},
      {"length and coding", post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"repeated coding", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"two codings", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"identity", post + "Transfer-Encoding: identity\r\n\r\n", 501},
      {"quoted chunked", post + "Transfer-Encoding: \"chunked\"\r\n\r\n", 501},
      {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"folding", get + "X: a\r\n b\r\n\r\n", 400},
      {"folding of the first line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
      {"space before colon", get + "X : a\r\n\r\n", 400},
      {"no colon", get + "X\r\n\r\n", 400},
      {"empty name", get + ": a\r\n\r\n", 400},
      {"control in value", get + "X: a\x01\r\n\r\n", 400},
      {"NUL in value", get + std::string("X: a\0b\r\n\r\n", 10), 400},
      {"CR in value", get + "X: a\rb\r\n\r\n", 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", get + "Host: b\r\n\r\n", 400},
      {"listed hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
      {"path in host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"user in host", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
      {"space in target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"tab in request line", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"relative target", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"bytes past ASCII in target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"no version", "GET /\r\nHost: a\r\n\r\n", 400},
      {"version 2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"version 1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400},
      {"lower case version", "GET / http/1.1\r\nHost: a\r\n\r\n", 400},
      {"bad method", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"unknown expectation", get + "Expect: 200-ok\r\n\r\n", 417},
      {"target too long", "GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
  };
  for (const Refused& c : cases) {
    RequestHead head;
    EXPECT_EQ(parse(c.head, head).status, c.status) << c.why;
  }
}

TEST(RequestHead, CountsFieldsToTheLimit) {
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 99; ++i) head += "X: y\r\n";
  RequestHead out;
  EXPECT_FALSE(parse(head + "\r\n", out));
  EXPECT_EQ(parse(head + "X: y\r\n\r\n", out).status, 431);
}

TEST(HeadScanner, FindsTheEndWhereverTheBytesAreSplit) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\nBODY";
  for (size_t split = 0; split <= bytes.size(); ++split) {
    HeadScanner scanner;
    const HeadLimits limits;
    HeadScanner::Status status = scanner.scan(std::string_view(bytes).substr(0, split), limits);
    if (status == HeadScanner::Status::kMore) status = scanner.scan(bytes, limits);
    EXPECT_EQ(status, HeadScanner::Status::kComplete) << split;
    EXPECT_EQ(scanner.head_bytes(), bytes.size() - 4) << split;
  }
}

TEST(HeadScanner, RefusesBareLfAndTooManyBytes) {
  const HeadLimits limits;
  for (const char* bytes : {"GET / HTTP/1.1\nHost: a\n\n", "\n", "GET / HTTP/1.1\r\n\n"}) {
    HeadScanner scanner;
    EXPECT_EQ(scanner.scan(bytes, limits), HeadScanner::Status::kBareLf);
  }
  HeadScanner at_limit;
  EXPECT_EQ(at_limit.scan(std::string(limits.head_bytes_max - 1, 'a'), limits),
            HeadScanner::Status::kMore);
  HeadScanner past_limit;
  EXPECT_EQ(past_limit.scan(std::string(limits.head_bytes_max, 'a'), limits),
            HeadScanner::Status::kTooLarge);
}

HeadError parse_answer(std::string_view head, AnswerTo request, ResponseHead& out) {
  return parse_response_head(head, {}, request, out);
}

TEST(ResponseHead, FramesByStatusMethodAndFields) {
  ResponseHead head;
  ASSERT_FALSE(
      parse_answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", AnswerTo::kOther, head));
  EXPECT_EQ(head.body, BodyKind::kLength);
  ASSERT_FALSE(parse_answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", AnswerTo::kHead, head));
  EXPECT_EQ(head.body, BodyKind::kNone);
  ASSERT_FALSE(parse_answer("HTTP/1.1 204\r\n\r\n", AnswerTo::kOther, head));
  EXPECT_EQ(head.body, BodyKind::kNone);
  ASSERT_FALSE(parse_answer("HTTP/1.1 200 \r\n\r\n", AnswerTo::kOther, head));
  EXPECT_EQ(head.body, BodyKind::kUntilClose);
  EXPECT_FALSE(head.keep_alive);
  ASSERT_FALSE(parse_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n",
                            AnswerTo::kOther, head));
  EXPECT_EQ(head.body, BodyKind::kChunked);
}

TEST(ResponseHead, RefusesBrokenOnes) {
  ResponseHead head;
  for (const char* bytes :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 999 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
        "200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    EXPECT_TRUE(parse_answer(bytes, AnswerTo::kOther, head)) << bytes;
  }
}

TEST(Fields, KnowsWhatIsNotForTheNextHop) {
  EXPECT_TRUE(is_hop_by_hop("Connection", ""));
  EXPECT_TRUE(is_hop_by_hop("x-secret", "close, X-Secret"));
  EXPECT_TRUE(is_hop_by_hop("transfer-encoding", ""));
  EXPECT_FALSE(is_hop_by_hop("content-type", "close"));
}

}  // namespace
}  // namespace fairlead::net
