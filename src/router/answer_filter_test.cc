#include "router/answer_filter.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

namespace fairlead::router {
namespace {

using Client = AnswerFilter::Client;
using Status = AnswerFilter::Status;

std::string chunked(std::initializer_list<std::string_view> chunks) {
  std::string bytes;
  for (const std::string_view chunk : chunks)
    bytes += fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk);
  return bytes + "0\r\n\r\n";
}

// What the client reads, out of its own framing.
std::string body_of(std::string_view bytes, Client client, bool* ended = nullptr) {
  if (client == Client::kPlain) return std::string(bytes);
  net::BodyDecoder decoder(net::BodyKind::kChunked, 0);
  std::string data;
  for (;;) {
    const auto step = decoder.step(bytes);
    data += step.data;
    bytes.remove_prefix(step.consumed);
    if (step.status == net::BodyDecoder::Status::kMore) continue;
    EXPECT_NE(step.status, net::BodyDecoder::Status::kError) << bytes;
    if (ended != nullptr) *ended = step.status == net::BodyDecoder::Status::kEnd;
    EXPECT_EQ(bytes, "") << "bytes left over";
    return data;
  }
}

struct Relayed {
  std::string wire;
  Status status = Status::kMore;
  std::optional<codec::Usage> usage;
};

// Feeds the bytes split at the given places, as a relay does.
Relayed run(const AnswerFilter::Options& options, std::string_view bytes,
            std::vector<size_t> splits = {}) {
  AnswerFilter filter(options);
  Relayed result;
  Pieces out;
  size_t consumed = 0;
  splits.push_back(bytes.size());
  for (const size_t end : splits) {
    if (result.status != Status::kMore) break;
    out.clear();
    const auto taken = filter.take(bytes.substr(consumed, end - consumed), out);
    consumed += taken.consumed;
    result.status = taken.status;
    for (const iovec& piece : out) {
      result.wire.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
  }
  result.usage = filter.usage();
  return result;
}

const std::string kRole = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n";
const std::string kHello =
    "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}],\"usage\":null}\n\n";
const std::string kUsageChunk =
    "data: "
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"total_tokens\":9,\"completion_tokens\":2,"
    "\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n";
const std::string kDoneEvent = "data: [DONE]\n\n";
const codec::Usage kSevenTwoFour{.prompt_tokens = 7, .completion_tokens = 2, .cached_tokens = 4};

AnswerFilter::Options event_options(bool cut, Client client = Client::kChunked) {
  return {.body = net::BodyKind::kChunked, .events = true, .cut_usage = cut, .client = client};
}

TEST(AnswerFilter, PassesWholeChunksOfWholeEventsAsTheyAre) {
  const std::string wire = chunked({kRole, kHello, kDoneEvent});
  const Relayed result = run(event_options(true), wire);
  EXPECT_EQ(result.wire, wire);
  EXPECT_EQ(result.status, Status::kEnd);
}

TEST(AnswerFilter, CutsTheUsageChunkAndNothingElseWhereverTheBytesAreSplit) {
  for (const auto& wire :
       {chunked({kRole, kHello, kUsageChunk, kDoneEvent}),
        chunked({kRole, kHello + kUsageChunk + kDoneEvent}),
        chunked({kRole + kHello.substr(0, 9), kHello.substr(9) + kUsageChunk.substr(0, 30),
                 kUsageChunk.substr(30) + kDoneEvent})}) {
    for (const Client client : {Client::kChunked, Client::kPlain}) {
      for (size_t split = 0; split <= wire.size(); ++split) {
        const Relayed result = run(event_options(true, client), wire, {split});
        bool ended = client == Client::kPlain;
        EXPECT_EQ(body_of(result.wire, client, &ended), kRole + kHello + kDoneEvent) << split;
        EXPECT_TRUE(ended) << split;
        EXPECT_EQ(result.status, Status::kEnd);
        EXPECT_EQ(result.usage, kSevenTwoFour) << split;
      }
    }
  }
}

TEST(AnswerFilter, KeepsTheUsageChunkThatTheClientAskedForAndReadsIt) {
  const std::string wire = chunked({kRole, kHello, kUsageChunk, kDoneEvent});
  for (size_t split = 0; split <= wire.size(); ++split) {
    const Relayed result = run(event_options(false), wire, {split});
    EXPECT_EQ(body_of(result.wire, Client::kChunked), kRole + kHello + kUsageChunk + kDoneEvent)
        << split;
    EXPECT_EQ(result.usage, kSevenTwoFour) << split;
  }
}

TEST(AnswerFilter, AChunkStreamByteByByteIsTheSameStream) {
  const std::string wire = chunked({kRole, kHello, kUsageChunk, kDoneEvent});
  std::vector<size_t> every(wire.size());
  for (size_t i = 0; i < every.size(); ++i) every[i] = i;
  EXPECT_EQ(body_of(run(event_options(true), wire, every).wire, Client::kChunked),
            kRole + kHello + kDoneEvent);
}

TEST(AnswerFilter, PassesAnEventTooLargeToHold) {
  const std::string large = "data: " + std::string(600'000, 'x') + "\n\n";
  const std::string wire =
      chunked({kRole + large.substr(0, 300'000), large.substr(300'000), kDoneEvent});
  for (const size_t split :
       {size_t{0}, size_t{100'000}, size_t{299'990}, size_t{300'100}, wire.size()}) {
    EXPECT_EQ(body_of(run(event_options(true), wire, {split}).wire, Client::kChunked),
              kRole + large + kDoneEvent);
  }
}

TEST(AnswerFilter, DropsExtensionsAndTrailers) {
  const std::string wire = "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n";
  for (size_t split = 0; split <= wire.size(); ++split) {
    const Relayed result = run({.body = net::BodyKind::kChunked}, wire, {split});
    EXPECT_EQ(result.wire.find(';'), std::string::npos);
    EXPECT_EQ(result.wire.find("X: y"), std::string::npos);
    EXPECT_EQ(body_of(result.wire, Client::kChunked), "hello");
  }
}

TEST(AnswerFilter, ReadsTheUsageOfAJsonAnswerInAnyFraming) {
  const std::string json =
      "{\"id\":\"x\",\"choices\":[{\"message\":{\"content\":\"" + std::string(5000, 'x') +
      "\"}}],\"usage\":{\"prompt_tokens\":7,\"total_tokens\":9,\"completion_tokens\":2,"
      "\"prompt_tokens_details\":{\"cached_tokens\":4}},\"prompt_logprobs\":null}";
  for (const size_t split : {size_t{0}, size_t{1}, size_t{5050}, json.size() - 30, json.size()}) {
    Relayed result =
        run({.body = net::BodyKind::kLength, .length = json.size(), .client = Client::kPlain}, json,
            {split});
    EXPECT_EQ(result.wire, json);
    EXPECT_EQ(result.usage, kSevenTwoFour);
    const std::string wire = chunked({json});
    result = run({.body = net::BodyKind::kChunked}, wire, {split});
    EXPECT_EQ(body_of(result.wire, Client::kChunked), json);
    EXPECT_EQ(result.usage, kSevenTwoFour);
  }
}

TEST(AnswerFilter, AnAnswerUntilCloseGetsChunks) {
  AnswerFilter filter({.body = net::BodyKind::kUntilClose});
  Pieces out;
  EXPECT_EQ(filter.take("hello", out).status, Status::kMore);
  std::string wire;
  for (const iovec& p : out) wire.append(static_cast<const char*>(p.iov_base), p.iov_len);
  out.clear();
  EXPECT_EQ(filter.close(out), Status::kEnd);
  for (const iovec& p : out) wire.append(static_cast<const char*>(p.iov_base), p.iov_len);
  EXPECT_EQ(body_of(wire, Client::kChunked), "hello");
}

TEST(AnswerFilter, ACloseElsewhereIsAnError) {
  Pieces out;
  AnswerFilter counted({.body = net::BodyKind::kLength, .length = 5, .client = Client::kPlain});
  counted.take("hell", out);
  EXPECT_EQ(counted.close(out), Status::kError);
  EXPECT_EQ(run(event_options(false), "zz\r\n").status, Status::kError);
}

TEST(AnswerFilter, BreakingOffLeavesWholeEventsAnErrorAndDone) {
  const std::string wire = chunked({kRole, kHello});
  for (size_t cut = 0; cut < wire.size() - 5; ++cut) {
    AnswerFilter filter(event_options(true));
    std::string got;
    Pieces out;
    filter.take(std::string_view(wire).substr(0, cut), out);
    for (const iovec& p : out) got.append(static_cast<const char*>(p.iov_base), p.iov_len);
    out.clear();
    filter.break_off("{\"error\":{}}", out);
    for (const iovec& p : out) got.append(static_cast<const char*>(p.iov_base), p.iov_len);
    bool ended = false;
    const std::string body = body_of(got, Client::kChunked, &ended);
    const std::string tail = "data: {\"error\":{}}\n\n" + kDoneEvent;
    ASSERT_TRUE(body.ends_with(tail)) << cut << body;
    const std::string before = body.substr(0, body.size() - tail.size());
    EXPECT_TRUE(before.empty() || before == kRole || before == kRole + kHello) << cut << before;
    EXPECT_TRUE(ended);
  }
}

TEST(AnswerFilter, BreakingOffBehindDoneAddsNothing) {
  const std::string chunks = chunked({kRole, kDoneEvent});
  const std::string wire = chunks.substr(0, chunks.size() - 5);
  for (const Client client : {Client::kChunked, Client::kPlain}) {
    for (size_t split = 0; split <= wire.size(); ++split) {
      AnswerFilter filter(event_options(true, client));
      std::string got;
      const auto collect = [&got](const Pieces& out) {
        for (const iovec& p : out) got.append(static_cast<const char*>(p.iov_base), p.iov_len);
      };
      Pieces out;
      const auto taken = filter.take(std::string_view(wire).substr(0, split), out);
      collect(out);
      out.clear();
      filter.take(std::string_view(wire).substr(taken.consumed), out);
      collect(out);
      out.clear();
      filter.break_off("{\"error\":{}}", out);
      collect(out);
      bool ended = client == Client::kPlain;
      EXPECT_EQ(body_of(got, client, &ended), kRole + kDoneEvent) << split;
      EXPECT_TRUE(ended) << split;
    }
  }
}

TEST(FirstEvent, IsAnErrorOnlyIfTheEngineFailed) {
  EXPECT_EQ(classify_first_event("data: {\"error\""), FirstEvent::kIncomplete);
  EXPECT_EQ(classify_first_event("data: {\"error\":{\"message\":\"x\",\"code\":500}}\n\n"),
            FirstEvent::kError);
  EXPECT_EQ(classify_first_event("data: {\"error\":{\"message\":\"x\",\"code\":400}}\n\n"),
            FirstEvent::kGood);
  EXPECT_EQ(classify_first_event(kRole), FirstEvent::kGood);
  EXPECT_EQ(classify_first_event(std::string(20'000, 'x')), FirstEvent::kGood);
}

}  // namespace
}  // namespace fairlead::router
