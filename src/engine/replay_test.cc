// Every exchange recorded from vLLM 0.20.2 is asked again; the answers have the same status, type,
// keys in the same order, and values, but for what another model and tokenizer must change.
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/parse_args.h"
#include "engine/testing.h"

namespace fairlead::engine {
namespace {

using codec::Json;

struct Recorded {
  std::string name, method, path, body, head, answer;
  bool by_ids = false;  // the prompt was given in token ids, so that tokens can be compared
};

std::vector<Recorded> load(const std::string& file, const char* member) {
  std::ifstream in(std::string(FAIRLEAD_SOURCE "/tests/fixtures/vllm-0.20.2/") + file);
  std::stringstream text;
  text << in.rdbuf();
  auto json = codec::parse_json(text.str());
  EXPECT_TRUE(json.ok()) << file;
  const Json& list = json->is_object() ? *json->find(member) : *json;
  std::vector<Recorded> all;
  for (const Json& e : list.items()) {
    Recorded& r = all.emplace_back();
    r.name = e.find("name")->as_string();
    r.method = e.find("method")->as_string();
    r.path = e.find("path")->as_string();
    const Json& body = *e.find("body");
    if (!body.is_null()) r.body = body.is_string() ? body.as_string() : codec::to_string(body);
    const Json* prompt = body.find("prompt");
    r.by_ids = prompt != nullptr && prompt->is_array() && prompt->items()[0].is_integer();
    const std::string& response = e.find("response")->as_string();
    const size_t blank = response.find("\n\n");
    r.head = response.substr(0, blank + 1);
    r.answer = response.substr(blank + 2);
  }
  return all;
}

std::string field(const std::string& fields, const std::string& name) {
  const size_t at = ("\n" + fields).find("\n" + name + ": ");
  if (at == std::string::npos) return "";
  const size_t from = at + name.size() + 2;
  return fields.substr(from, fields.find('\n', from) - from);
}

// Appends what differs between two values.
void compare(const Json& want, const Json& got, bool by_ids, const std::string& path,
             std::string& out) {
  static const std::set<std::string> kLoose = {"id",     "created", "content", "text",
                                               "token",  "logprob", "bytes",   "token_ids",
                                               "tokens", "count",   "prompt",  "token_strs"};
  static const std::set<std::string> kTokens = {"prompt_tokens", "total_tokens", "cached_tokens"};
  const std::string key = path.substr(path.rfind('.') + 1);
  if (want.type() != got.type() && !(want.is_number() && got.is_number())) {
    out +=
        fmt::format("{}: want {}, got {}\n", path, codec::to_string(want), codec::to_string(got));
  } else if (want.is_object()) {
    for (size_t i = 0; i < std::max(want.members().size(), got.members().size()); ++i) {
      if (i >= want.members().size() || i >= got.members().size() ||
          want.members()[i].first != got.members()[i].first) {
        out += fmt::format("{}: want keys of {}, got {}\n", path, codec::to_string(want),
                           codec::to_string(got));
        return;
      }
      compare(want.members()[i].second, got.members()[i].second, by_ids,
              path + "." + want.members()[i].first, out);
    }
  } else if (want.is_array() && !kLoose.contains(key)) {
    if (want.items().size() != got.items().size()) {
      out +=
          fmt::format("{}: want {} items, got {}\n", path, want.items().size(), got.items().size());
      return;
    }
    for (size_t i = 0; i < want.items().size(); ++i) {
      compare(want.items()[i], got.items()[i], by_ids, path, out);
    }
  } else if (!kLoose.contains(key) && (by_ids || !kTokens.contains(key)) && !(want == got)) {
    out +=
        fmt::format("{}: want {}, got {}\n", path, codec::to_string(want), codec::to_string(got));
  }
}

std::string differences(const Recorded& want, const TestAnswer& got) {
  std::string out;
  const int status = std::stoi(want.head.substr(9, 3));
  if (status != got.status) out += fmt::format("status: want {}, got {}\n", status, got.status);
  for (const char* name : {"content-type", "allow", "transfer-encoding"}) {
    if (field(want.head, name) != field(got.fields, name)) {
      out += fmt::format("{}: want '{}', got '{}'\n", name, field(want.head, name),
                         field(got.fields, name));
    }
  }
  if (!got.whole) out += "the answer broke off\n";
  if (want.path == "/metrics") return out;
  if (got.content_type.starts_with("text/event-stream")) {
    const std::vector<Json> events = TestAnswer{.body = want.answer}.events();
    const std::vector<Json> mine = got.events();
    if (events.size() != mine.size()) return out + "another number of events: " + got.body;
    for (size_t i = 0; i < events.size(); ++i) {
      compare(events[i], mine[i], want.by_ids, fmt::format("event {}", i), out);
    }
  } else if (!want.answer.empty() && got.content_type == "application/json") {
    compare(TestAnswer{.body = want.answer}.json(), got.json(), want.by_ids, "answer", out);
  } else if (want.answer != got.body) {
    out += fmt::format("body: want '{}', got '{}'\n", want.answer, got.body);
  }
  return out;
}

// The request id that was sent shows in the recorded answer.
TestAnswer replay(TestEngine& engine, const Recorded& r) {
  TestRequest request{.method = r.method, .path = r.path, .body = r.body};
  if (r.answer.find("\"cmpl-abc-123\"") != std::string::npos) {
    request.fields += "X-Request-Id: abc-123\r\n";
  }
  return engine.ask(request);
}

TEST(Replay, NoticesDifferences) {
  const std::vector<Recorded> all = load("exchanges.json", "exchanges");
  ASSERT_FALSE(all.empty());
  const Recorded& chat = all.front();
  const auto answer = [&](std::string body) {
    return TestAnswer{.status = 200,
                      .content_type = "application/json",
                      .fields = "content-type: application/json\n",
                      .body = std::move(body),
                      .whole = true};
  };
  EXPECT_EQ(differences(chat, answer(chat.answer)), "");
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\"object\":\"chat", "\"objec\":\"chat"},
           {"\"index\":0", "\"index\":\"0\""},
           {"\"role\":\"assistant\",", ""},
           {"length", "stop"},
           {"\"tool_calls\":[]", "\"tool_calls\":[1]"}}) {
    std::string changed = chat.answer;
    ASSERT_NE(changed.find(from), std::string::npos) << from;
    changed.replace(changed.find(from), std::string(from).size(), to);
    EXPECT_NE(differences(chat, answer(changed)), "") << to;
  }
}

TEST(Replay, AnswersAsTheRecordedVllmDid) {
  TestEngine engine(
      "--served-model-name tiny --model tiny-model --block-size 16 --max-model-len 8192");
  const std::vector<Recorded> all = load("exchanges.json", "exchanges");
  ASSERT_GT(all.size(), 30u);
  for (const Recorded& r : all) EXPECT_EQ(differences(r, replay(engine, r)), "") << r.name;
}

// On one fresh engine, in order: what is cached, salted and evicted shows in cached_tokens.
TEST(Replay, CachesAndEvictsAsTheRecordedVllmDid) {
  TestEngine engine(
      "--served-model-name tiny --model tiny-model --num-gpu-blocks-override 40 --max-model-len "
      "512 "
      "--enable-prompt-tokens-details",
      {.server_dev_mode = true});
  const std::vector<Recorded> all = load("exchanges_small_cache.json", "exchanges");
  ASSERT_GT(all.size(), 10u);
  for (const Recorded& r : all) {
    const TestAnswer answer = replay(engine, r);
    EXPECT_EQ(differences(r, answer), "") << r.name;
    if (r.name == "x-request-id") EXPECT_EQ(answer.json().find("id")->as_string(), "cmpl-abc-123");
  }
}

std::set<std::string> metric_names(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) names.insert(line);
  }
  return names;
}

TEST(Replay, ShowsTheMetricsOfTheRecordedVllm) {
  TestEngine engine(
      "--served-model-name tiny --model tiny-model --block-size 16 --max-model-len 8192");
  const std::vector<Recorded> all = load("exchanges.json", "exchanges");
  std::string wanted;
  for (const Recorded& r : all) {
    if (r.path == "/metrics") wanted = r.answer;
  }
  const std::set<std::string> mine = metric_names(engine.get("/metrics").body);
  for (const std::string& line : metric_names(wanted)) {
    const bool of_python = line.find(" python_") != std::string::npos;  // this is no Python process
    if (!of_python) EXPECT_TRUE(mine.contains(line)) << line;
  }
}

}  // namespace
}  // namespace fairlead::engine
