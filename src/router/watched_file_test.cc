#include "router/watched_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace fairlead::router {
namespace {

class WatchedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "watchedXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    for (const char* name : {"file", "one", "two"}) std::remove(path(name).c_str());
    std::remove(directory_.c_str());
  }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
  }

  std::string directory_;
};

TEST_F(WatchedFileTest, TellsEachContentOnce) {
  write("file", "a");
  WatchedFile file(path("file"), base::Bytes(10));
  EXPECT_EQ(**file.changed(), "a");
  EXPECT_EQ(*file.changed(), std::nullopt);
  write("file", "b");
  EXPECT_EQ(**file.changed(), "b");
  write("file", "");
  EXPECT_EQ(**file.changed(), "");
}

TEST_F(WatchedFileTest, FollowsALinkThatMoves) {
  write("one", "1");
  write("two", "2");
  ASSERT_EQ(symlink(path("one").c_str(), path("file").c_str()), 0);
  WatchedFile file(path("file"), base::Bytes(10));
  EXPECT_EQ(**file.changed(), "1");
  std::remove(path("file").c_str());
  ASSERT_EQ(symlink(path("two").c_str(), path("file").c_str()), 0);
  EXPECT_EQ(**file.changed(), "2");
}

TEST_F(WatchedFileTest, TellsEachErrorOnceAndWhatComesAfterIt) {
  WatchedFile file(path("file"), base::Bytes(10));
  const auto missing = file.changed();
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find(path("file")), std::string::npos);
  EXPECT_TRUE(file.changed());
  write("file", "a");
  EXPECT_EQ(**file.changed(), "a");
}

TEST_F(WatchedFileTest, IsBoundedInSize) {
  write("file", "0123456789");
  WatchedFile file(path("file"), base::Bytes(10));
  EXPECT_EQ(**file.changed(), "0123456789");
  write("file", "0123456789a");
  EXPECT_FALSE(file.changed());
  EXPECT_FALSE(WatchedFile(directory_, base::Bytes(10)).changed()) << "a directory is no file";
}

}  // namespace
}  // namespace fairlead::router
