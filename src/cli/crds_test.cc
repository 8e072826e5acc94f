#include "cli/crds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fairlead::cli {
namespace {

namespace fs = std::filesystem;

TEST(Crds, WritesTheFilesThatAreInDeploy) {
  const fs::path folder = fs::path(testing::TempDir()) / "fairlead_crds";
  fs::create_directories(folder);
  ASSERT_TRUE(write_crds(folder).ok());
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(FAIRLEAD_SOURCE) / "deploy/crds")) {
    std::stringstream ours;
    std::stringstream theirs;
    ours << std::ifstream(folder / entry.path().filename()).rdbuf();
    theirs << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(ours.str(), theirs.str()) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 7U);
  fs::remove_all(folder);
}

TEST(Crds, PrintsAllAsOneStream) {
  const std::string text = crds_text();
  EXPECT_THAT(text, testing::StartsWith("---\n"));
  EXPECT_THAT(text, testing::HasSubstr("\n  name: llminferenceclusters.inference.llm.io\n"));
}

TEST(Crds, SaysWhereItCannotWrite) {
  const auto result = write_crds("/does/not/exist");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), testing::HasSubstr("cannot write /does/not/exist/"));
}

}  // namespace
}  // namespace fairlead::cli
