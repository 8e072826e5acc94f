#include "simulate/traffic.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"

namespace fairlead::simulate {
namespace {

constexpr base::Nanos kMooncakeGrid = std::chrono::seconds(3);
constexpr uint32_t kRecordedTokensMax = 400'000;  // what a h100-8b replica holds

// Draws of one run; texts of different seeds are different.
class Maker {
 public:
  Maker(uint64_t seed, uint32_t requests) : random_(seed), salt_(base::mix64(seed)) {
    traffic_.reserve(requests);
  }

  uint32_t between(uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(random_.below(high - low + 1));
  }
  Text named(uint64_t name, uint32_t tokens) const { return {base::mix64(salt_ ^ name), tokens}; }
  Text fresh(uint32_t tokens) { return {random_.next(), tokens}; }
  base::Random& random() { return random_; }
  size_t size() const { return traffic_.size(); }
  Traffic take() { return std::move(traffic_); }

  PlannedRequest& add(std::vector<Text> prompt, uint32_t output_tokens) {
    return traffic_.emplace_back(PlannedRequest{
        .prompt = std::move(prompt), .answer = random_.next(), .output_tokens = output_tokens});
  }
  PlannedRequest& add_first(std::vector<Text> prompt, uint32_t output_tokens) {
    at_s_ += random_.exponential(1);
    PlannedRequest& request = add(std::move(prompt), output_tokens);
    request.at = base::from_seconds(at_s_);
    return request;
  }

 private:
  base::Random random_;
  uint64_t salt_;
  double at_s_ = 0;
  Traffic traffic_;
};

// Of `count`, by Zipf's law.
class Zipf {
 public:
  Zipf(uint32_t count, double exponent) {
    double sum = 0;
    for (uint32_t i = 1; i <= count; ++i) cumulative_.push_back(sum += std::pow(i, -exponent));
  }
  uint64_t draw(base::Random& random) const {
    const double at = random.uniform() * cumulative_.back();
    return static_cast<uint64_t>(std::upper_bound(cumulative_.begin(), cumulative_.end(), at) -
                                 cumulative_.begin());
  }

 private:
  std::vector<double> cumulative_;
};

void add_conversation(Maker& maker, uint32_t requests) {
  constexpr double kThinkSeconds = 2;
  std::vector<Text> said{maker.named(maker.random().below(20), 1024)};
  for (uint32_t turn = 0, turns = maker.between(1, 9); turn < turns; ++turn) {
    if (maker.size() == requests) return;
    said.push_back(maker.fresh(maker.between(32, 256)));
    const uint32_t output = maker.between(64, 256);
    PlannedRequest& request = turn == 0 ? maker.add_first(said, output) : maker.add(said, output);
    if (turn > 0) {
      request.follows = static_cast<uint32_t>(maker.size() - 2);
      request.at = base::from_seconds(maker.random().exponential(kThinkSeconds));
    }
    said.push_back({request.answer, output});
  }
}

void add_single(Maker& maker, TrafficKind kind) {
  const uint32_t output = maker.between(16, 256);
  const Text question = maker.fresh(maker.between(32, 256));
  switch (kind) {
    case TrafficKind::kSharedPrompt:
      maker.add_first({maker.named(0, 2048), question}, output);
      break;
    case TrafficKind::kHotPrefix: {
      const bool hot = maker.random().uniform() < 0.7;
      const Text prefix =
          hot ? maker.named(1'000, 4096) : maker.named(maker.random().below(200), 2048);
      maker.add_first({prefix, question}, output);
      break;
    }
    case TrafficKind::kRandom:
      maker.add_first({maker.fresh(std::clamp(
                          static_cast<uint32_t>(maker.random().exponential(1'500)), 16U, 16'000U))},
                      output);
      break;
    case TrafficKind::kPrefixGroups:
    case TrafficKind::kConversations:
      break;  // made elsewhere
  }
}

PlannedRequest recorded(const workload::RecordedSession& session, base::Random& random) {
  const workload::RecordedTurn& turn = session.turns.front();
  PlannedRequest request;
  request.at = session.at.value_or(base::Nanos(0)) +
               base::from_seconds(random.uniform() * base::to_seconds(kMooncakeGrid));
  uint32_t left = std::min(turn.prompt_tokens, kRecordedTokensMax);
  for (const uint64_t id : turn.blocks) {
    const uint32_t tokens = std::min(left, workload::kTraceBlockTokens);
    if (tokens == 0) break;
    request.prompt.push_back({base::mix64(id), tokens});
    left -= tokens;
  }
  request.answer = random.next();
  request.output_tokens = std::max(1U, turn.output_tokens.value_or(1));
  return request;
}

void sort_by_time(Traffic& traffic) {
  std::stable_sort(traffic.begin(), traffic.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
}

}  // namespace

engine_model::Token token_of(uint64_t text, uint32_t index) {
  return static_cast<engine_model::Token>(base::mix64(text + index) >> 32);
}

std::string_view to_string(TrafficKind kind) {
  switch (kind) {
    case TrafficKind::kSharedPrompt:
      return "shared system prompt";
    case TrafficKind::kPrefixGroups:
      return "prefix groups";
    case TrafficKind::kConversations:
      return "conversations";
    case TrafficKind::kHotPrefix:
      return "one hot prefix";
    case TrafficKind::kRandom:
      return "random";
  }
  return "unknown";
}

Traffic make_prefix_traffic(const PrefixTraffic& options, uint32_t requests, uint64_t seed) {
  Maker maker(seed, requests);
  const Zipf groups(options.prefixes, options.zipf);
  while (maker.size() < requests) {
    const Text prefix = maker.named(groups.draw(maker.random()), options.prefix_tokens);
    const Text question = maker.fresh(maker.between(options.question.min, options.question.max));
    maker.add_first({prefix, question}, maker.between(options.output.min, options.output.max));
  }
  return maker.take();
}

Traffic make_traffic(TrafficKind kind, uint32_t requests, uint64_t seed) {
  if (kind == TrafficKind::kPrefixGroups) return make_prefix_traffic({}, requests, seed);
  Maker maker(seed, requests);
  while (maker.size() < requests) {
    if (kind == TrafficKind::kConversations) {
      add_conversation(maker, requests);
    } else {
      add_single(maker, kind);
    }
  }
  return maker.take();
}

Traffic make_recorded_traffic(const workload::Trace& trace, uint64_t seed) {
  base::Random random(seed);
  Traffic traffic;
  for (const workload::RecordedSession& session : trace) {
    if (session.turns.front().blocks.empty()) continue;
    traffic.push_back(recorded(session, random));
  }
  sort_by_time(traffic);
  return traffic;
}

Traffic slice(const Traffic& traffic, size_t first, size_t count) {
  first = std::min(first, traffic.size());
  count = std::min(count, traffic.size() - first);
  const auto begin = traffic.begin() + static_cast<ptrdiff_t>(first);
  Traffic out(begin, begin + static_cast<ptrdiff_t>(count));
  for (size_t i = out.size(); i-- > 0;) out[i].at -= out[0].at;
  return out;
}

std::string to_mooncake(const Traffic& traffic) {
  constexpr uint32_t kBlock = workload::kTraceBlockTokens;
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> ids;  // of a text's block
  std::string lines;
  for (const PlannedRequest& request : traffic) {
    CHECK(request.follows == kFollowsNone, "a Mooncake trace has no later turns");
    uint64_t tokens = 0;
    std::vector<uint64_t> blocks;
    for (const Text& text : request.prompt) {
      CHECK(tokens % kBlock == 0, "a text begins with a block");
      tokens += text.tokens;
      for (uint32_t i = 0; i * kBlock < text.tokens; ++i) {
        blocks.push_back(ids.try_emplace({text.id, i}, ids.size()).first->second);
      }
    }
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(request.at);
    fmt::format_to(std::back_inserter(lines),
                   "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, "
                   "\"hash_ids\": [{}]}}\n",
                   at.count(), tokens, request.output_tokens, fmt::join(blocks, ", "));
  }
  return lines;
}

double rate(const Traffic& traffic) {
  base::Nanos last{0};
  for (const PlannedRequest& request : traffic) {
    if (request.follows == kFollowsNone) last = std::max(last, request.at);
  }
  return last <= base::Nanos(0) ? 0 : static_cast<double>(traffic.size()) / base::to_seconds(last);
}

void set_rate(Traffic& traffic, double requests_per_second) {
  const double factor = rate(traffic) / requests_per_second;
  if (factor <= 0) return;
  for (PlannedRequest& request : traffic) {
    if (request.follows != kFollowsNone) continue;
    request.at = base::from_seconds(base::to_seconds(request.at) * factor);
  }
}

void press(Traffic& traffic) {
  for (PlannedRequest& request : traffic) request.at = base::Nanos(0);
}

}  // namespace fairlead::simulate
