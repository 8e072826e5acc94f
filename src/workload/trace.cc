#include "workload/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workload/text.h"

namespace fairlead::workload {
namespace {

enum class Speaker : uint8_t { kUser, kAssistant, kSystem, kOther };

Speaker speaker_of(std::string_view name) {
  if (name == "human" || name == "user") return Speaker::kUser;
  if (name == "gpt" || name == "assistant" || name == "chatgpt" || name == "bing" ||
      name == "bard") {
    return Speaker::kAssistant;
  }
  return name == "system" ? Speaker::kSystem : Speaker::kOther;
}

const codec::Json* find_either(const codec::Json& object, std::string_view a, std::string_view b) {
  const codec::Json* found = object.find(a);
  return found != nullptr ? found : object.find(b);
}

uint32_t tokens_of(std::string_view text) {
  const size_t tokens = (text.size() + kBytesPerToken - 1) / kBytesPerToken;
  return static_cast<uint32_t>(std::min<size_t>(tokens, TraceReader::kTokensMax));
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

base::Error TraceReader::refuse(std::string message) const {
  return base::invalid_argument(fmt::format("line {}: {}", item_line_, message));
}

base::Result<> TraceReader::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (auto taken = take_byte(c); !taken) return taken;
    if (c == '\n') ++line_;
  }
  return {};
}

// Finds where an object ends by its braces and strings alone; whether it is JSON shows when it is
// parsed.
base::Result<> TraceReader::take_byte(char c) {
  if (depth_ == 0) {
    if (is_space(c) || c == '[' || c == ']' || c == ',') return {};
    item_line_ = line_;
    if (c != '{') {
      return refuse(fmt::format("expected an object, found byte 0x{:02x}",
                                static_cast<unsigned>(static_cast<unsigned char>(c))));
    }
    depth_ = 1;
    item_ = c;
    return {};
  }
  if (item_.size() >= kItemBytesMax) {
    return refuse(fmt::format("the object is longer than {} bytes", kItemBytesMax));
  }
  item_ += c;
  if (in_string_) {
    in_string_ = escaped_ || c != '"';
    escaped_ = !escaped_ && c == '\\';
  } else if (c == '"') {
    in_string_ = true;
  } else if (c == '{') {
    ++depth_;
  } else if (c == '}' && --depth_ == 0) {
    return take_item();
  }
  return {};
}

base::Result<> TraceReader::take_item() {
  const auto json = codec::parse_json(item_);
  if (!json) return refuse(json.error().describe());
  if (trace_.size() >= kSessionsMax) {
    return refuse(fmt::format("a trace has at most {} requests or conversations", kSessionsMax));
  }
  if (format_ == TraceFormat::kMooncake) return take_mooncake(*json);
  take_sharegpt(*json);
  return {};
}

base::Result<> TraceReader::take_mooncake(const codec::Json& item) {
  const auto number = [&](std::string_view name, double min, double max) -> base::Result<double> {
    const codec::Json* field = item.find(name);
    if (field == nullptr || !field->is_number()) {
      return refuse(fmt::format("{} is missing or no number", name));
    }
    const double value = field->as_double();
    if (value >= min && value <= max) return value;
    return refuse(fmt::format("{} is {}: allowed are {} to {}", name, value, min, max));
  };
  constexpr double kTimestampMax = 1e12;  // 30 years, in ms
  const auto at = number("timestamp", 0, kTimestampMax);
  if (!at) return at.error();
  const auto input = number("input_length", 1, kTokensMax);
  if (!input) return input.error();
  const auto output = number("output_length", 0, kTokensMax);
  if (!output) return output.error();
  RecordedTurn turn;
  turn.prompt_tokens = static_cast<uint32_t>(*input);
  turn.output_tokens = std::max(static_cast<uint32_t>(*output), 1U);
  if (const codec::Json* ids = item.find("hash_ids")) {
    for (const codec::Json& id : ids->items()) {
      if (!id.is_integer()) return refuse("hash_ids has an item that is no integer");
      turn.blocks.push_back(id.as_uint());
    }
  }
  const size_t blocks = (turn.prompt_tokens + kTraceBlockTokens - 1) / kTraceBlockTokens;
  if (turn.blocks.size() != blocks) {
    return refuse(fmt::format("hash_ids has {} items: an input_length of {} needs {}, of {} tokens",
                              turn.blocks.size(), turn.prompt_tokens, blocks, kTraceBlockTokens));
  }
  RecordedSession session;
  session.at = base::Nanos(static_cast<int64_t>(*at * 1e6));
  session.turns.push_back(std::move(turn));
  trace_.push_back(std::move(session));
  return {};
}

// Messages that nobody asked for, and conversations without a question, are passed over: real files
// have both.
void TraceReader::take_sharegpt(const codec::Json& item) {
  const codec::Json* messages = find_either(item, "conversations", "messages");
  if (messages == nullptr) return;
  RecordedSession session;
  for (const codec::Json& message : messages->items()) {
    const codec::Json* from = find_either(message, "from", "role");
    const codec::Json* value = find_either(message, "value", "content");
    if (from == nullptr || value == nullptr || value->as_string().empty()) continue;
    switch (speaker_of(from->as_string())) {
      case Speaker::kUser:
        session.turns.push_back(
            {.question = value->as_string(), .blocks = {}, .output_tokens = std::nullopt});
        break;
      case Speaker::kAssistant:
        if (!session.turns.empty()) {
          session.turns.back().output_tokens = tokens_of(value->as_string());
        }
        break;
      case Speaker::kSystem:
        session.system = value->as_string();
        break;
      case Speaker::kOther:
        break;
    }
  }
  if (!session.turns.empty()) trace_.push_back(std::move(session));
}

base::Result<Trace> TraceReader::finish() {
  if (depth_ > 0) return refuse("the object that begins here does not end");
  if (trace_.empty()) {
    return base::invalid_argument(format_ == TraceFormat::kMooncake
                                      ? "no request in it: a line has timestamp, input_length, "
                                        "output_length and hash_ids"
                                      : "no conversation in it that a user began");
  }
  const auto time_of = [](const RecordedSession& s) { return s.at.value_or(base::Nanos(0)); };
  std::stable_sort(trace_.begin(), trace_.end(),
                   [&](const auto& a, const auto& b) { return time_of(a) < time_of(b); });
  const base::Nanos first = time_of(trace_.front());
  for (RecordedSession& session : trace_) {
    if (session.at) *session.at -= first;
  }
  return std::move(trace_);
}

}  // namespace fairlead::workload
