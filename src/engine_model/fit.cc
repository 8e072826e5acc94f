#include "engine_model/fit.h"

#include <numeric>

#include "base/check.h"
#include "engine_model/model.h"

namespace fairlead::engine_model {

namespace {

class Counting final : public TokenSource {
 public:
  Next next_token(uint64_t) override { return {.token = next_++, .stop = false}; }

 private:
  Token next_ = 1'000'000'000;
};

struct Sample {
  double ttft_ms = 0;
  double inter_token_ms = 0;
};

// Adds `streams` prompts at once: the first `shared` tokens in common, the others their own.
std::vector<Sample> run(EngineModel& model, const PublishedFigure& f, uint32_t streams,
                        base::TimePoint& now) {
  Token next = f.cached_tokens;
  for (uint32_t i = 0; i < streams; ++i) {
    Request request;
    request.prompt.resize(f.prompt_tokens);
    std::iota(request.prompt.begin(), request.prompt.begin() + f.cached_tokens, Token{0});
    std::iota(request.prompt.begin() + f.cached_tokens, request.prompt.end(), next);
    next += f.prompt_tokens - f.cached_tokens;
    request.output_tokens_max = f.output_tokens;
    CHECK(model.add(std::move(request), now).ok(), "a published run that does not fit the profile");
  }
  std::vector<Sample> samples;
  while (model.has_work()) {
    now += model.plan_step(now).duration;
    for (const Output& out : model.finish_step(now)) {
      if (out.finish == Finish::kNone) continue;
      const RequestStats& s = *out.stats;
      Sample sample;
      sample.ttft_ms = base::to_ms(s.first_token - s.added);
      if (s.output_tokens > 1) {
        sample.inter_token_ms = base::to_ms(s.last_token - s.first_token) / (s.output_tokens - 1);
      }
      samples.push_back(sample);
    }
  }
  return samples;
}

double modelled(const Profile& profile, const PublishedFigure& f) {
  ModelConfig config;
  config.num_gpu_blocks = num_gpu_blocks(profile, config.block_size);
  config.max_num_batched_tokens = f.max_num_batched_tokens;
  Counting source;
  EngineModel model(config, profile, source);
  model.set_speed(f.device_share);
  base::TimePoint now{};
  if (f.cached_tokens > 0) run(model, f, 1, now);
  const base::TimePoint start = now;
  const std::vector<Sample> samples = run(model, f, f.streams, now);
  Sample sum;
  for (const Sample& s : samples) {
    sum.ttft_ms += s.ttft_ms;
    sum.inter_token_ms += s.inter_token_ms;
  }
  const double count = static_cast<double>(samples.size());
  switch (f.kind) {
    case PublishedFigure::Kind::kTtftMeanMs:
      return sum.ttft_ms / count;
    case PublishedFigure::Kind::kInterTokenMs:
      return sum.inter_token_ms / count;
    case PublishedFigure::Kind::kOutputTokensPerSecond:
      return count * f.output_tokens / base::to_seconds(now - start);
  }
  return 0;
}

}  // namespace

std::vector<Fit> fit(const Profile& profile) {
  std::vector<Fit> fits;
  for (const PublishedFigure& figure : profile.figures) {
    const double value = modelled(profile, figure);
    fits.push_back({&figure, value, value / figure.value - 1});
  }
  return fits;
}

}  // namespace fairlead::engine_model
