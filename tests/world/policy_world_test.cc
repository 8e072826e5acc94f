// What the policies that know caches gain over round-robin on simulated engines, and that a hot
// prefix spreads.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "engine_world.h"

namespace fairlead {
namespace {

using router::Ask;
using router::chat;
using router::Reply;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kExplainFields = "Content-Type: application/json\r\nx-fairlead-explain: 1\r\n";

std::string words(uint64_t seed, size_t bytes) {
  base::Random random(seed);
  std::string text;
  while (text.size() < bytes) text += fmt::format("{:x} ", random.next());
  return text;
}

struct Outcome {
  base::Nanos repeat_ttft_p90{0};
  double warm_share = 0;  // of the repeats: the engine had the prefix
  double share_max = 0;   // of the requests at one replica
};

class PolicyWorld : public EngineWorld {
 protected:
  // 200 requests over 40 prefixes of about 2,000 tokens, five each, shuffled, a few at a time.
  Outcome run(const std::string& policy) {
    for (int n = 1; n <= 2; ++n)
      add_engine(n, "--sim-profile rtx3060-qwen3-0.6b --num-gpu-blocks-override 40000");
    start_router({.policy = policy, .allow_explain = true});
    std::vector<uint64_t> order;
    for (uint64_t i = 0; i < 200; ++i) order.push_back(i % 40);
    base::Random random(11);
    for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    std::set<uint64_t> met;
    std::vector<std::pair<const Reply*, bool>> sent;
    for (const uint64_t prefix : order) {
      const bool repeat = !met.insert(prefix).second;
      const std::string body =
          chat(words(prefix, 8'000) + fmt::format("question {}", sent.size()),
               R"("max_tokens":16,"stream":true,"stream_options":{"include_usage":true})");
      sent.emplace_back(&send({.body = body, .fields = kExplainFields}), repeat);
      run_for(base::from_seconds(random.exponential(0.4)));
    }
    run_for(seconds(60));
    return evaluate(sent);
  }

  static int64_t cached_tokens(const Reply& reply) {
    const size_t at = reply.body.rfind("\"cached_tokens\":");
    return at == std::string::npos ? 0 : std::stoll(reply.body.substr(at + 16));
  }

  static Outcome evaluate(const std::vector<std::pair<const Reply*, bool>>& sent) {
    std::vector<base::Nanos> ttfts;
    size_t warm = 0;
    std::map<std::string, size_t> shares;
    for (const auto& [reply, repeat] : sent) {
      EXPECT_TRUE(reply->whole()) << reply->status << reply->body;
      const auto why = codec::parse_json(reply->field("x-fairlead-explain"));
      ++shares[why ? why->find("replica")->as_string() : ""];
      if (!repeat) continue;
      if (cached_tokens(*reply) > 1'000) ++warm;
      ttfts.push_back(reply->pieces.front() - reply->sent_at);
    }
    std::sort(ttfts.begin(), ttfts.end());
    Outcome outcome;
    outcome.repeat_ttft_p90 = ttfts[ttfts.size() * 9 / 10];
    outcome.warm_share = static_cast<double>(warm) / static_cast<double>(ttfts.size());
    for (const auto& [replica, count] : shares) {
      outcome.share_max = std::max(outcome.share_max,
                                   static_cast<double>(count) / static_cast<double>(sent.size()));
    }
    return outcome;
  }
};

// A world of its own, so that one test may compare two.
class PolicyRun : public PolicyWorld {
 public:
  explicit PolicyRun(const std::string& policy) : outcome(run(policy)) {
    expect_nothing_left();
    TearDown();
  }
  const Outcome outcome;

 private:
  void TestBody() override {}
};

TEST(Policies, KnowingCachesReturnsRepeatsToWarmReplicasAndHalvesTheirWait) {
  const Outcome blind = PolicyRun("round-robin").outcome;
  EXPECT_LE(blind.warm_share, 0.85) << "the comparison compares nothing";
  for (const char* policy : {"prefix-cache", "expected-ttft"}) {
    const Outcome aware = PolicyRun(policy).outcome;
    EXPECT_GE(aware.warm_share, 0.9) << policy;
    EXPECT_LE(aware.share_max, 0.6) << policy;
    EXPECT_LE(aware.repeat_ttft_p90 * 2, blind.repeat_ttft_p90)
        << policy << ": " << base::to_ms(aware.repeat_ttft_p90) << " ms against "
        << base::to_ms(blind.repeat_ttft_p90);
  }
}

TEST_F(PolicyWorld, OnePrefixAtFourTimesAReplicasCapacitySpreads) {
  for (int n = 1; n <= 4; ++n) add_engine(n, "--max-num-seqs 4 --sim-output-len 64");
  start_router({.allow_explain = true});
  const std::string hot = words(1, 4'000);
  ask(chat(hot + "first", R"("max_tokens":4)"));
  std::map<std::string, size_t> shares;
  std::vector<const Reply*> sent;
  for (int i = 0; i < 160; ++i) {
    sent.push_back(&send(
        {.body = chat(hot + std::to_string(i), R"("max_tokens":64)"), .fields = kExplainFields}));
    run_for(milliseconds(20));
  }
  run_for(seconds(120));
  for (const Reply* reply : sent) {
    ASSERT_EQ(reply->status, 200) << reply->body;
    ++shares[codec::parse_json(reply->field("x-fairlead-explain"))->find("replica")->as_string()];
  }
  EXPECT_EQ(shares.size(), 4U);
  for (const auto& [replica, count] : shares) EXPECT_LE(count, 160U * 45 / 100) << replica;
  expect_nothing_left();
}

}  // namespace
}  // namespace fairlead
