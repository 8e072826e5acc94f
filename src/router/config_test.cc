#include "router/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "pick/policy.h"

namespace fairlead::router {
namespace {

using ::testing::HasSubstr;

const std::string kUrl = "http://10.0.0.1:8000";

std::string config_error(const RouterConfig& config) {
  const base::Result<> valid = validate(config);
  return valid ? "" : valid.error().describe();
}

TEST(RouterConfig, WantsBackEndsFromOnePlace) {
  EXPECT_EQ(config_error({.backend = {kUrl}}), "");
  EXPECT_EQ(config_error({.backends_file = "engines.yaml"}), "");
  EXPECT_THAT(config_error({}), HasSubstr("--backend http://HOST:PORT"));
  EXPECT_THAT(config_error({.backend = {kUrl}, .backends_file = "engines.yaml"}),
              HasSubstr("choose one"));
}

TEST(RouterConfig, NamesTheBackEndThatIsNoUrl) {
  EXPECT_EQ(config_error({.backend = {kUrl, "http://engines.example:8000"}}), "");
  EXPECT_EQ(config_error({.backend = {"http://[::1]:8000", "https://10.0.0.1"}}), "");
  for (const std::string bad :
       {"", "http://", "https://", "ftp://x", "http://a:99999", "http://a:0", "http://a:8000/v1"}) {
    const std::string message = config_error({.backend = {kUrl, bad}});
    EXPECT_THAT(message, HasSubstr("--backend")) << bad;
    EXPECT_THAT(message, HasSubstr(bad));
  }
}

TEST(RouterConfig, ListsThePoliciesThereAre) {
  for (const std::string_view policy : pick::Policy::names()) {
    EXPECT_EQ(config_error({.backend = {kUrl}, .policy = std::string(policy)}), "") << policy;
    RouterConfig set;
    EXPECT_TRUE(codec::set_field(set, "policy", policy)) << policy;
  }
  const std::string message = config_error({.backend = {kUrl}, .policy = "best"});
  EXPECT_THAT(message, HasSubstr("'best'"));
  EXPECT_THAT(message, HasSubstr("prefix-cache"));
}

TEST(RouterConfig, APolicyAndAFileExcludeEachOther) {
  EXPECT_EQ(config_error({.backend = {kUrl}, .config = "router.yaml"}), "");
  EXPECT_THAT(config_error({.backend = {kUrl}, .policy = "random", .config = "router.yaml"}),
              HasSubstr("--policy and --config"));
}

TEST(RouterConfig, ChecksAConfigurationWithoutBackEnds) {
  EXPECT_EQ(config_error({.config = "router.yaml", .check_config = true}), "");
  EXPECT_THAT(
      config_error({.backend = {kUrl}, .backends_file = "engines.yaml", .check_config = true}),
      HasSubstr("choose one"));
}

TEST(RouterConfig, ASessionHeaderIsTheNameOfAHeader) {
  EXPECT_EQ(config_error({.backend = {kUrl}, .session_header = "x-user_2"}), "");
  for (const char* bad : {"", "x session", "x:", "s\u00e9ance"}) {
    EXPECT_THAT(config_error({.backend = {kUrl}, .session_header = bad}),
                HasSubstr("--session-header"));
  }
}

TEST(RouterConfig, NamesTheProxyAndTheOriginThatAreNone) {
  EXPECT_EQ(config_error({.backend = {kUrl},
                          .trusted_proxies = "10.0.0.0/8, fd00::/8",
                          .cors_origins = "https://chat.example, http://localhost:5173"}),
            "");
  EXPECT_THAT(config_error({.backend = {kUrl}, .trusted_proxies = "10.1.0.0/8"}),
              HasSubstr("--trusted-proxies: '10.1.0.0/8'"));
  EXPECT_THAT(config_error({.backend = {kUrl}, .cors_origins = "chat.example"}),
              HasSubstr("--cors-origins: 'chat.example'"));
}

TEST(RouterConfig, EveryFieldIsDescribedOnce) {
  const codec::StructInfo& info = info_of(static_cast<const RouterConfig*>(nullptr));
  std::set<std::string_view> names;
  for (const codec::FieldInfo& field : info.fields) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.doc.empty()) << field.name;
  }
  EXPECT_EQ(names.size(), 50U);
}

}  // namespace
}  // namespace fairlead::router
