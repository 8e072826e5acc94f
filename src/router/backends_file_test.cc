#include "router/backends_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace fairlead::router {
namespace {

TEST(BackendsFile, ListsUrls) {
  const auto hosts = parse_backends(
      "backends:\n  - http://10.0.0.1:8000\n  - http://engines.svc:80/\n  - \"[::1]:9\"\n");
  ASSERT_TRUE(hosts) << hosts.error().message();
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ((*hosts)[0], (net::HostPort{"10.0.0.1", 8000}));
  EXPECT_EQ((*hosts)[1], (net::HostPort{"engines.svc", 80}));
  EXPECT_EQ((*hosts)[2], (net::HostPort{"::1", 9}));
}

TEST(BackendsFile, MayBeEmptyOfBackEnds) {
  EXPECT_TRUE(parse_backends("backends: []\n")->empty());
  EXPECT_TRUE(parse_backends("backends:\n")->empty());
}

TEST(BackendsFile, ErrorsNameTheLine) {
  const auto message = [](std::string_view text) {
    const auto hosts = parse_backends(text);
    return hosts ? std::string("no error") : hosts.error().message();
  };
  EXPECT_TRUE(message("backends:\n  - https://a:1\n  - ftp://b:2\n").starts_with("line 3: "));
  EXPECT_TRUE(message("backends:\n  - [1]\n").starts_with("line 2: "));
  EXPECT_EQ(message("backends: []\nbackend: []\n"),
            "line 2: unknown field \"backend\": only \"backends\"");
  EXPECT_EQ(message("- http://a:1\n"), "expected \"backends:\" with a list of URLs");
  EXPECT_EQ(message(""), "expected \"backends:\" with a list of URLs");
  EXPECT_NE(message("backends: [\n"), "no error");
}

class BackendsFileOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "backendsXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    std::remove(path().c_str());
    std::remove(directory_.c_str());
  }
  std::string path() const { return directory_ + "/backends.yaml"; }
  void write(const std::string& content) const { std::ofstream(path()) << content; }

  std::string directory_;
};

TEST_F(BackendsFileOnDisk, TellsEachContentOnce) {
  write("backends: [\"http://a:1\"]\n");
  BackendsFile file(path());
  auto first = file.changed();
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->size(), 1u);
  EXPECT_FALSE(file.changed()->has_value());
  write("backends: [\"http://a:1\", \"http://b:1\"]\n");
  EXPECT_EQ((*file.changed())->size(), 2u);
}

TEST_F(BackendsFileOnDisk, TellsEachErrorOnce) {
  BackendsFile file(path());
  const auto missing = file.changed();
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("backends.yaml"), std::string::npos);
  EXPECT_TRUE(file.changed());
  write("backends: {}\n");
  EXPECT_FALSE(file.changed());
  EXPECT_TRUE(file.changed());
}

TEST_F(BackendsFileOnDisk, IsBoundedInSize) {
  const std::string comment(kBackendsFileBytesMax.count - 13, '#');
  write("backends: []\n" + comment);
  BackendsFile file(path());
  EXPECT_TRUE(file.changed());
  write("backends: []\n#" + comment);
  EXPECT_FALSE(file.changed());
}

}  // namespace
}  // namespace fairlead::router
