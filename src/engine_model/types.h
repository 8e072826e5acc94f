// What goes into the engine model and what comes out. Plain values; no thread of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace fairlead::engine_model {

using Token = uint32_t;

// The bounds of one engine, named as vLLM's flags.
struct ModelConfig {
  uint32_t block_size = 16;
  // As vLLM's num_gpu_blocks: block 0 is a placeholder that is never handed out.
  uint32_t num_gpu_blocks = 1024;
  uint32_t max_num_seqs = 256;
  uint32_t max_num_batched_tokens = 2048;
  bool enable_prefix_caching = true;
  // Without it a prompt is computed in one step or not at all.
  bool enable_chunked_prefill = true;
  // LoRA adapters that requests in a batch may use; 0: requests have none.
  uint32_t max_loras = 0;
  // Keep what happens to cached blocks in EngineModel::events() until somebody takes it.
  bool record_events = false;
};

// Names one request while it lives; never reused, and never 0.
enum class RequestId : uint64_t {};

struct Request {
  std::vector<Token> prompt;
  // The request ends with kLength after so many tokens unless the source stops it before; >= 1.
  uint32_t output_tokens_max = 1;
  // Nothing is generated: it ends with kStop when its prompt is computed, as embeddings do.
  bool pooling = false;
  // Which LoRA adapter it uses; 0: none.
  uint32_t adapter = 0;
  // Seeds the chain of block hashes: model, adapter and cache_salt, hashed by the caller.
  uint64_t cache_seed = 0;
  // The caller's own name for the request, handed to the TokenSource and back in outputs.
  uint64_t user = 0;
};

enum class Finish : uint8_t { kNone, kStop, kLength };

// Where output tokens come from: text is the caller's business, not the model's.
class TokenSource {
 public:
  struct Next {
    Token token = 0;
    bool stop = false;  // this token is the last one, by the text's own end
  };
  virtual ~TokenSource() = default;
  virtual Next next_token(uint64_t user) = 0;
};

struct RequestStats {
  base::TimePoint added;
  base::TimePoint scheduled;    // first time in a batch
  base::TimePoint first_token;  // end of the step that produced it
  base::TimePoint last_token;
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  // of the prompt, when it was first scheduled
  uint32_t output_tokens = 0;
  uint32_t preemptions = 0;
};

// One token of one request; of a pooling request its end, without a token.
struct Output {
  uint64_t user = 0;
  Token token = 0;
  Finish finish = Finish::kNone;
  // Valid until the next call into the model.
  const RequestStats* stats = nullptr;
};

struct StepPlan {
  base::Nanos duration{};
  uint32_t tokens = 0;    // computed in this step, prompt and output together
  uint32_t requests = 0;  // in the batch; zero means that there is no step to wait for
};

// Only ever grow.
struct Counters {
  uint64_t prefix_cache_queries = 0;  // tokens looked up
  uint64_t prefix_cache_hits = 0;     // tokens found
  uint64_t preemptions = 0;
  uint64_t prompt_tokens = 0;         // of prompts whose first token came out
  uint64_t prompt_tokens_cached = 0;  // of those, taken from the cache
  uint64_t output_tokens = 0;
  uint64_t steps = 0;
};

struct Load {
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint32_t deferred = 0;  // of the waiting ones: their adapter has no seat
  uint32_t blocks_used = 0;
  double kv_cache_usage = 0;  // 0 to 1
};

}  // namespace fairlead::engine_model
