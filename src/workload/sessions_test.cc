#include "workload/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "workload/text.h"

namespace fairlead::workload {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<Session> take(const SessionOptions& options, size_t count) {
  SessionSource source(options);
  std::vector<Session> sessions(count);
  for (Session& session : sessions) EXPECT_TRUE(source.next(session));
  return sessions;
}

SessionOptions recorded(Trace trace, uint64_t seed = 1, uint64_t salt = 0) {
  return {.kind = SessionKind::kRecorded,
          .prompts = {.seed = seed, .salt = salt},
          .trace = std::make_shared<const Trace>(std::move(trace))};
}

RecordedSession request(std::vector<uint64_t> blocks, uint32_t tokens) {
  RecordedSession session{.at = 5s, .system = "", .turns = {}};
  session.turns.push_back(
      {.question = "", .blocks = std::move(blocks), .prompt_tokens = tokens, .output_tokens = 7});
  return session;
}

TEST(Prompts, AreSessionsOfOneTurn) {
  const PromptOptions prompts{.prefixes = 3, .repeats = 2, .seed = 9};
  const auto sessions = take({.prompts = prompts}, 6);
  PromptSource source(prompts);
  Prompt prompt;
  for (const Session& session : sessions) {
    source.next(prompt);
    ASSERT_EQ(session.turns.size(), 1U);
    EXPECT_EQ(session.prefix, prompt.prefix);
    EXPECT_EQ(session.system, prompt.system);
    EXPECT_EQ(session.turns[0].question, prompt.question);
    EXPECT_EQ(session.turns[0].think, 0ns);
  }
  EXPECT_EQ(SessionSource({.prompts = prompts}).planned(), 6U);
  EXPECT_EQ(SessionSource({.prompts = prompts}).turns_mean(), 1);
}

TEST(Conversations, HaveTheTurnsAndThinkingTimesAskedForOnAverage) {
  const SessionOptions options{.kind = SessionKind::kConversations,
                               .prompts = {.prefixes = 4, .prefix_tokens = 20, .seed = 3},
                               .turns = 5,
                               .think_time = 2s};
  const auto sessions = take(options, 4000);
  double turns = 0;
  double thinking = 0;
  size_t most = 0;
  for (const Session& session : sessions) {
    ASSERT_GE(session.turns.size(), 1U);
    EXPECT_EQ(session.turns[0].think, 0ns);
    most = std::max(most, session.turns.size());
    turns += static_cast<double>(session.turns.size());
    for (const Turn& turn : session.turns) thinking += base::to_seconds(turn.think);
  }
  EXPECT_EQ(most, 9U);
  EXPECT_NEAR(turns / 4000, 5, 0.15);
  EXPECT_NEAR(thinking / (turns - 4000), 2, 0.1);
  EXPECT_EQ(SessionSource(options).turns_mean(), 5);
  EXPECT_EQ(SessionSource(options).planned(), 0U);
}

TEST(Conversations, ShareSystemPromptsButNoQuestion) {
  const auto sessions = take({.kind = SessionKind::kConversations,
                              .prompts = {.prefixes = 4, .prefix_tokens = 20},
                              .turns = 3},
                             200);
  std::set<std::string> systems;
  std::set<std::string> questions;
  std::set<uint32_t> prefixes;
  size_t turns = 0;
  for (const Session& session : sessions) {
    systems.insert(session.system);
    prefixes.insert(session.prefix);
    for (const Turn& turn : session.turns) questions.insert(turn.question.substr(0, 16));
    turns += session.turns.size();
  }
  EXPECT_EQ(systems.size(), 4U);
  EXPECT_EQ(questions.size(), turns);
  EXPECT_EQ(prefixes.size(), 200U) << "a repeat is a later turn";
}

TEST(Conversations, RepeatFromTheirSeedAndDifferFromAnother) {
  const auto texts = [](uint64_t seed, uint64_t salt) {
    std::string all;
    for (const Session& session : take({.kind = SessionKind::kConversations,
                                  .prompts = {.prefixes = 2, .seed = seed, .salt = salt}},
                                       20)) {
      for (const Turn& turn : session.turns) all += turn.question;
    }
    return all;
  };
  EXPECT_EQ(texts(1, 0), texts(1, 0));
  EXPECT_NE(texts(1, 0), texts(2, 0));
  EXPECT_NE(texts(1, 0), texts(1, 1));
}

TEST(Recorded, BlocksShareTextWhereTheyShareIds) {
  const auto sessions =
      take(recorded({request({0, 1}, 600), request({0, 2}, 1024), request({3}, 512)}), 3);
  const std::string& a = sessions[0].turns[0].question;
  const std::string& b = sessions[1].turns[0].question;
  const std::string& c = sessions[2].turns[0].question;
  constexpr size_t kBlock = kTraceBlockTokens * kBytesPerToken;
  EXPECT_EQ(a.size(), 600 * kBytesPerToken);
  EXPECT_EQ(b.size(), 2 * kBlock);
  EXPECT_EQ(a.substr(0, kBlock), b.substr(0, kBlock));
  EXPECT_NE(a.substr(kBlock, 16), b.substr(kBlock, 16));
  EXPECT_NE(a.substr(0, 16), c.substr(0, 16));
  EXPECT_EQ(sessions[0].turns[0].output_tokens, 7U);
  EXPECT_EQ(sessions[0].at, 5s);
  EXPECT_EQ(sessions[0].prefix, kNoPrefix);
}

TEST(Recorded, TextsDifferBetweenSeedsAndSalts) {
  const auto begin = [](uint64_t seed, uint64_t salt) {
    return take(recorded({request({0}, 100)}, seed, salt), 1)[0].turns[0].question.substr(0, 16);
  };
  EXPECT_EQ(begin(1, 0), begin(1, 0));
  EXPECT_NE(begin(1, 0), begin(2, 0));
  EXPECT_NE(begin(1, 0), begin(1, 1));
}

TEST(Recorded, ConversationsBeginWithAMarkOfTheirOwn) {
  RecordedSession plain;
  plain.turns = {{.question = "Hi", .blocks = {}, .output_tokens = 3},
                 {.question = "Why?", .blocks = {}, .output_tokens = std::nullopt}};
  RecordedSession instructed = plain;
  instructed.system = "Be brief.";
  const SessionOptions options = recorded({plain, plain, instructed});
  const auto sessions = take(options, 3);
  EXPECT_THAT(sessions[0].turns[0].question, testing::MatchesRegex("\\[[0-9a-f]{16}\\] Hi"));
  EXPECT_NE(sessions[0].turns[0].question, sessions[1].turns[0].question);
  EXPECT_EQ(sessions[0].turns[1].question, "Why?");
  EXPECT_GT(sessions[0].turns[1].think, 0ns);
  EXPECT_EQ(sessions[2].turns[0].question, "Hi");
  EXPECT_THAT(sessions[2].system, testing::EndsWith("] Be brief."));
  EXPECT_EQ(sessions[1].prefix, 1U);
  EXPECT_EQ(SessionSource(options).turns_mean(), 2);
}

TEST(Recorded, EndWithTheirTrace) {
  SessionSource source(recorded({request({0}, 10), request({1}, 10)}));
  EXPECT_EQ(source.planned(), 2U);
  Session session;
  EXPECT_TRUE(source.next(session));
  EXPECT_TRUE(source.next(session));
  EXPECT_FALSE(source.next(session));
  EXPECT_FALSE(source.next(session));
}

TEST(SessionOptions, AreRefusedByName) {
  const auto why = [](const SessionOptions& options) {
    const auto valid = validate(options);
    return valid ? std::string("valid") : valid.error().message();
  };
  EXPECT_EQ(why({}), "valid");
  EXPECT_EQ(why({.turns = 1000}), "valid");
  EXPECT_THAT(why({.turns = 1001}), HasSubstr("turns is 1001: allowed are 1 to 1000"));
  EXPECT_THAT(why({.turns = 0}), HasSubstr("turns is 0"));
  EXPECT_EQ(why({.think_time = 0s}), "valid");
  EXPECT_THAT(why({.think_time = -1ns}), HasSubstr("think-time"));
  EXPECT_THAT(why({.kind = SessionKind::kRecorded}), HasSubstr("needs a trace"));
  EXPECT_THAT(why({.prompts = {.prefixes = 0}}), StartsWith("prefixes is 0"));
}

}  // namespace
}  // namespace fairlead::workload
