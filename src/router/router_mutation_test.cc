// 100,000 valid exchanges with random changes, through a whole router in virtual time: half of them
// changed on the client's side, half on the engine's. A failure names its seed and the exchange;
// FAIRLEAD_SEED=N runs that seed alone.
//
// What must hold: a client gets whole answers or none; an engine gets whole requests, and only such
// as a second reading of HTTP finds in the client's bytes; every answer belongs to a request of its
// own connection; somebody else's requests between all this are answered as if nothing was; and
// when all is over nothing is left behind (RouterTest).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/hash.h"
#include "router/testing/mutation.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kSeeds = 4;
constexpr size_t kExchanges = 25'000;  // a seed

std::string tag(uint64_t number) { return fmt::format("tag-{:08}", number); }

// What only this body is answered with.
std::string echo_of(std::string_view body) {
  return fmt::format(R"({{"echo":"{:016x}"}})", base::hash64(body));
}

class RouterMutations : public RouterTest, public testing::WithParamInterface<uint64_t> {
 protected:
  void begin() {
    FakeEngine& e = engine(1);
    e.make = [this](const FakeEngine::Seen& seen) { return reply_to(seen); };
    RouterConfig config;
    config.ask_usage = false;  // engines get bodies as clients sent them
    config.policy = "round-robin";
    start(config);
  }
  std::unique_ptr<net::ByteStream> connect() {
    auto stream =
        loop_.block_on(network_.connect(*net::parse_address("10.1.0.1:8080"), base::kNever));
    return std::move(*stream);
  }
  uint64_t below(uint64_t bound) { return random_->below(bound); }

  Script reply_to(const FakeEngine::Seen& seen) {
    const std::string echo = echo_of(seen.body);
    if (hostile_answer_ && seen.body.find(tag(number_)) != std::string::npos) {
      Script script = valid_answer(echo);
      std::string& bytes = script.steps.back().bytes;
      bytes = mutate(std::move(bytes), *random_);
      script.then = static_cast<Script::Then>(below(3));
      answer_bytes_ = bytes;
      return script;
    }
    return answer(200, echo);
  }
  Script valid_answer(const std::string& echo) {
    switch (below(4)) {
      case 0:
        return raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(echo) +
                       chunk(tag(number_)) + "0\r\n\r\n",
                   Script::Then::kKeep);
      case 1: {
        const std::string stream = chunk(token_event(tag(number_))) + chunk(event("[DONE]"));
        return raw(answer_head(200,
                               "Content-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n") +
                       stream + "0\r\n\r\n",
                   Script::Then::kKeep);
      }
      case 2:
        return answer(400, R"({"error":{"message":")" + tag(number_) + R"("}})");
      default:
        return answer(200, echo);
    }
  }

  std::string counted(std::string_view more = {}) {
    const std::string body = chat(tag(number_), more);
    return fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "X-Request-Id: {}\r\nContent-Length: {}\r\n\r\n{}",
        tag(number_), body.size(), body);
  }
  std::string valid_request() {
    const std::string body = chat(tag(number_));
    switch (below(6)) {
      case 0:
        return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
               "chunked\r\n\r\n" +
               chunk(body.substr(0, 20)) + chunk(body.substr(20)) + "0\r\n\r\n";
      case 1:
        return counted() + counted(R"("n":2)");
      case 2:
        return "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n" + counted();
      case 3:
        return fmt::format(
            "POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\n"
            "Content-Length: {}\r\n\r\n{}",
            body.size(), body);
      case 4:
        return counted(R"("stream":true)");
      default:
        return counted();
    }
  }

  // Sends in pieces and returns what came back.
  std::string exchange(net::ByteStream& stream, std::string_view bytes) {
    std::string got;
    const size_t cut = below(2) == 0 ? bytes.size() : below(bytes.size() + 1);
    for (const std::string_view part : {bytes.substr(0, cut), bytes.substr(cut)}) {
      if (part.empty()) continue;
      static_cast<void>(stream.try_write(part));
      run_for(microseconds(500));
      read_all(stream, got);
    }
    return got;
  }
  static void read_all(net::ByteStream& stream, std::string& got) {
    std::array<char, 4096> buffer;
    for (;;) {
      const net::IoResult io = stream.try_read(buffer);
      if (io.kind != net::IoResult::Kind::kBytes) return;
      got.append(buffer.data(), io.count);
    }
  }

  void hostile_client() {
    hostile_answer_ = false;
    engines_[0].seen.clear();
    const std::string bytes = mutate(valid_request(), *random_);
    auto stream = connect();
    const std::string got = exchange(*stream, bytes);
    stream.reset();
    run_for(microseconds(200));
    const ParsedAnswers parsed = parse_answers(got);
    const std::string shown = fmt::format("sent {:?}\ngot {:?}", bytes, got);
    ASSERT_TRUE(parsed.whole) << parsed.problem << "\n" << shown;
    std::vector<std::string> echoes;
    for (const auto& [status, body] : parsed.answers) {
      if (body.starts_with("{\"echo\"")) {
        ASSERT_EQ(status, 200) << shown;
        echoes.push_back(body);
      } else if (status >= 400) {
        ASSERT_TRUE(body.starts_with(R"({"error":{"message":)") || body.empty()) << shown;
      }
    }
    check_forwarded(bytes, echoes, shown);
  }

  // Each request at the engine was in the client's bytes, in that order, and was answered.
  void check_forwarded(std::string_view bytes, const std::vector<std::string>& echoes,
                       const std::string& shown) {
    const std::vector<std::string> found = reference_bodies(bytes);
    size_t at = 0;
    size_t answered = 0;
    for (const FakeEngine::Seen& seen : engines_[0].seen) {
      while (at < found.size() && found[at] != seen.body) ++at;
      ASSERT_LT(at, found.size()) << "forwarded " << seen.body << "\n" << shown;
      ++at;
      if (answered < echoes.size()) {
        ASSERT_EQ(echoes[answered], echo_of(seen.body)) << shown;
        ++answered;
      }
    }
    ASSERT_EQ(answered, echoes.size()) << shown;
    forwarded_ += answered;
  }

  void hostile_engine() {
    hostile_answer_ = true;
    engines_[0].seen.clear();
    answer_bytes_.clear();
    auto stream = connect();
    const std::string got = exchange(*stream, counted(below(2) == 0 ? R"("stream":true)" : ""));
    stream.reset();
    run_for(microseconds(200));
    hostile_answer_ = false;
    const std::string shown = fmt::format("engine {:?}\ngot {:?}", answer_bytes_, got);
    const ParsedAnswers parsed = parse_answers(got);
    ASSERT_EQ(parsed.problem, "") << shown;
    ASSERT_LE(parsed.answers.size(), 1u) << "one request, one answer\n" << shown;
    // No other exchange's tag, but one that the changes made; one may be cut off.
    for (size_t i = got.find("tag-"); i != std::string::npos; i = got.find("tag-", i + 1)) {
      const std::string found = got.substr(i, tag(0).size());
      const bool whole =
          std::all_of(found.begin() + 4, found.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (whole && found.size() == tag(0).size() && found != tag(number_)) {
        ASSERT_NE(answer_bytes_.find(found), std::string::npos) << shown;
      }
    }
  }

  // Somebody else, on a connection that stays.
  void bystander() {
    if (bystander_ == nullptr || bystander_->hung_up()) {
      ASSERT_EQ(bystander_, nullptr) << "the router closed a good connection";
      bystander_ = connect();
    }
    const std::string body = chat(fmt::format("bystander {}", number_));
    static_cast<void>(bystander_->try_write(
        fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body)));
    std::string got;
    for (int i = 0; i < 20 && !got.ends_with("}"); ++i) {
      run_for(microseconds(200));
      read_all(*bystander_, got);
    }
    const ParsedAnswers parsed = parse_answers(got);
    ASSERT_TRUE(parsed.whole && parsed.answers.size() == 1) << got;
    ASSERT_EQ(parsed.answers[0].body, echo_of(body)) << got;
  }

  std::optional<base::Random> random_;
  uint64_t number_ = 0;
  uint64_t forwarded_ = 0;
  bool hostile_answer_ = false;
  std::string answer_bytes_;
  std::unique_ptr<net::ByteStream> bystander_;
};

TEST_P(RouterMutations, HarmNobodyElse) {
  const char* only = std::getenv("FAIRLEAD_SEED");
  const uint64_t seed = only != nullptr ? std::strtoull(only, nullptr, 10) : GetParam();
  SCOPED_TRACE(fmt::format("FAIRLEAD_SEED={}", seed));
  random_.emplace(seed);
  begin();
  for (number_ = 0; number_ < kExchanges; ++number_) {
    SCOPED_TRACE(fmt::format("exchange {}", number_));
    if (number_ % 2 == 0) {
      hostile_client();
    } else {
      hostile_engine();
    }
    if (HasFatalFailure()) break;
    if (number_ % 4 == 3) bystander();
    if (HasFatalFailure()) break;
    access_lines_.clear();
  }
  EXPECT_GT(forwarded_, kExchanges / 20) << "most mutations must not be refused outright";
  bystander_.reset();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RouterMutations, testing::Range<uint64_t>(1, kSeeds + 1));

}  // namespace
}  // namespace fairlead::router
