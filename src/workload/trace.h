// Traces: what users really sent, as files in two public shapes.
//
//   Mooncake   JSON lines, one request each: {"timestamp": ms, "input_length": tokens,
//              "output_length": tokens, "hash_ids": [...]}. There is no text: requests that share
//              a prefix begin with the same ids, each of 512 tokens.
//   ShareGPT   an array of conversations (or one a line): {"conversations": [{"from": "human",
//              "value": "..."}, {"from": "gpt", "value": "..."}, ...]}. OpenAI's names ("messages",
//              "role", "content", "user", "assistant") are taken too. A user's message is a turn;
//              the answer after it says how long an answer to ask for.
//
// Both are read item by item, so a file of any shape and size costs what is kept of it, and may
// come in pieces. Pure; one thread.
//
//   TraceReader reader(TraceFormat::kMooncake);
//   while (more) if (auto fed = reader.feed(bytes); !fed) return fed.error();
//   Result<Trace> trace = reader.finish();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "codec/json.h"

namespace fairlead::workload {

inline constexpr uint32_t kTraceBlockTokens = 512;  // of one hash id

struct RecordedTurn {
  std::string question;                   // empty where `blocks` stand for the text
  std::vector<uint64_t> blocks;           // as many as `prompt_tokens` need
  uint32_t prompt_tokens = 0;             // of the blocks
  std::optional<uint32_t> output_tokens;  // absent where nobody answered
};

struct RecordedSession {
  std::optional<base::Nanos> at;  // since the first of the trace
  std::string system;
  std::vector<RecordedTurn> turns;  // at least one
};

// In the order of their times, else of the file. At least one.
using Trace = std::vector<RecordedSession>;

enum class TraceFormat : uint8_t { kMooncake, kShareGpt };

class TraceReader {
 public:
  static constexpr size_t kItemBytesMax = 16U << 20;
  static constexpr size_t kSessionsMax = 1'000'000;
  static constexpr uint32_t kTokensMax = 4'000'000;  // of a prompt, and of an answer

  explicit TraceReader(TraceFormat format) : format_(format) {}

  // The error names line, field, value and what is allowed; after one, nothing more may be fed.
  base::Result<> feed(std::string_view bytes);
  base::Result<Trace> finish();

 private:
  base::Result<> take_byte(char c);
  base::Result<> take_item();
  base::Result<> take_mooncake(const codec::Json& item);
  void take_sharegpt(const codec::Json& item);
  base::Error refuse(std::string message) const;

  TraceFormat format_;
  Trace trace_;
  // Where the next byte stands: items are objects, alone, one a line or in an array.
  std::string item_;
  size_t depth_ = 0;  // of braces; 0 is between items
  bool in_string_ = false;
  bool escaped_ = false;
  uint64_t line_ = 1;
  uint64_t item_line_ = 0;
};

}  // namespace fairlead::workload
