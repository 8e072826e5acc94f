#include "api/custom_resource.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/llm_inference_cluster.h"
#include "api/testing/documents.h"
#include "api/validate.h"
#include "codec/yaml.h"

namespace fairlead::api {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expect_generated(const fs::path& path, const std::string& made) {
  const std::string old = contents(path);
  if (std::getenv("FAIRLEAD_UPDATE") != nullptr) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << made;
  }
  EXPECT_EQ(old, made) << "FAIRLEAD_UPDATE=1 api_test --gtest_filter='Generated*' writes " << path;
}

TEST(Generated, DefinitionsAreInDeploy) {
  const fs::path folder = fs::path(FAIRLEAD_SOURCE) / "deploy/crds";
  std::vector<std::string> names;
  for (const CustomResource& resource : custom_resources()) {
    names.push_back(crd_file_name(resource));
    expect_generated(folder / names.back(), crd_yaml(resource));
  }
  std::vector<std::string> there;
  for (const auto& entry : fs::directory_iterator(folder)) there.push_back(entry.path().filename());
  EXPECT_THAT(there, testing::UnorderedElementsAreArray(names));
}

TEST(Generated, ReferenceIsInDocs) {
  expect_generated(fs::path(FAIRLEAD_SOURCE) / "docs/api.md", reference_page());
}

TEST(CustomResources, AreFoundByVersionAndKind) {
  const CustomResource* found =
      find_custom_resource("networking.serving.volcano.sh/v1alpha1", "ModelRoute");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->kind.plural, "modelroutes");
  EXPECT_EQ(find_custom_resource("networking.serving.volcano.sh/v1", "ModelRoute"), nullptr);
  EXPECT_EQ(find_custom_resource("networking.serving.volcano.sh/v1alpha1", "Pod"), nullptr);
}

TEST(CustomResources, NameTheChildrenOfACluster) {
  std::vector<std::string> names;
  for (const ClusterChild child :
       {ClusterChild::kRouter, ClusterChild::kPrefill, ClusterChild::kDecode,
        ClusterChild::kShardMap, ClusterChild::kSignals}) {
    names.push_back(child_name("c", child));
  }
  EXPECT_THAT(names,
              testing::ElementsAre("c-router", "c-prefill", "c-decode", "c-shardmap", "c-signals"));
}

// What kubectl apply keeps in an annotation must fit into it.
TEST(CustomResources, DefinitionsFitClientSideApply) {
  for (const CustomResource& resource : custom_resources()) {
    EXPECT_LT(to_string(crd_json(resource)).size(), 256U << 10) << resource.kind.kind;
  }
}

// The folder with what the other implementation's users have; tools/test leaves these tests out
// where there is none.
fs::path shared() {
  const char* folder = std::getenv("FAIRLEAD_SHARED");
  return folder == nullptr ? fs::path() : fs::path(folder);
}

Json yaml(const std::string& text) {
  auto parsed = codec::parse_yaml(text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message();
  return parsed ? *parsed : Json();
}

// Every leaf of a definition by its place: descriptions and the generator's version apart.
void flatten(const Json& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (value.is_object()) {
    if (value.members().empty()) out[path] = "{}";
    for (const auto& [key, member] : value.members()) {
      const bool text = key == "description" && member.is_string();
      const bool step = key == "properties" || key == "openAPIV3Schema" || key == "schema";
      if (text || (key == "annotations" && path == "metadata")) continue;
      flatten(member,
              step && member.is_object() ? path
              : path.empty()             ? key
                                         : path + '.' + key,
              out);
    }
  } else if (value.is_array() && path.ends_with(".versions")) {
    for (const Json& item : value.items()) flatten(item, "", out);
  } else {
    out[path] = to_string(value);
  }
}

struct Difference {
  std::string at;
  std::string theirs;
  std::string ours;
};

std::vector<Difference> differences(const Json& theirs, const Json& ours) {
  std::map<std::string, std::string> left;
  std::map<std::string, std::string> right;
  flatten(theirs, "", left);
  flatten(ours, "", right);
  std::vector<Difference> found;
  for (const auto& [at, value] : left) {
    const auto it = right.find(at);
    if (it == right.end()) {
      found.push_back({at, value, "absent"});
    } else if (it->second != value) {
      found.push_back({at, value, it->second});
    }
  }
  for (const auto& [at, value] : right) {
    if (!left.contains(at)) found.push_back({at, "absent", value});
  }
  return found;
}

// testdata/kthena_differences.yaml lists each, by the place or a place above it, with its reason.
TEST(CustomResources, DifferFromTheOthersAsListedBesideTheRepository) {
  if (shared().empty()) GTEST_SKIP() << "FAIRLEAD_SHARED names no folder with crds/kthena";
  const Json listed = yaml(contents(fs::path(FAIRLEAD_TESTDATA) / "kthena_differences.yaml"));
  std::set<std::string> used;
  size_t compared = 0;
  for (const CustomResource& resource : custom_resources()) {
    const fs::path file = shared() / "crds/kthena" / crd_file_name(resource);
    if (!fs::exists(file)) continue;
    ++compared;
    for (const Difference& found : differences(yaml(contents(file)), crd_json(resource))) {
      const Json* reason = nullptr;
      for (const Json& entry : listed.items()) {
        const std::string& at = entry.find("at")->as_string();
        const bool here = found.at == at || found.at.starts_with(at + '.');
        if (entry.find("kind")->as_string() == resource.kind.kind && here) reason = &entry;
      }
      EXPECT_NE(reason, nullptr) << resource.kind.kind << ' ' << found.at << ": theirs "
                                 << found.theirs << ", ours " << found.ours;
      if (reason == nullptr) continue;
      used.insert(to_string(*reason));
      if (reason->find("change")->as_string() == "added") {
        EXPECT_EQ(found.theirs, "absent") << found.at;
      }
    }
  }
  EXPECT_EQ(compared, 6U);
  for (const Json& entry : listed.items()) {
    EXPECT_TRUE(used.contains(to_string(entry))) << "no such difference: " << to_string(entry);
    const std::string& change = entry.find("change")->as_string();
    EXPECT_THAT(change, testing::AnyOf("added", "tightened", "loosened", "same"));
    const std::string& why = entry.find("why")->as_string();
    EXPECT_FALSE(why.empty());
    if (change == "loosened") {
      EXPECT_THAT(why, testing::ContainsRegex("B[0-9]+|defect|seed"));
    }
  }
}

// How many documents of `text` are ours; each must be read, defaulted and found valid.
// An image that the reader is to fill in: "<your image>".
std::string with_images(std::string document) {
  constexpr std::string_view kBegin = "image: <";
  for (size_t at = 0; (at = document.find(kBegin, at)) != std::string::npos;) {
    document.replace(at, document.find('\n', at) - at, "image: example/engine");
  }
  return document;
}

size_t expect_usable(const std::string& name, const std::string& text) {
  size_t ours = 0;
  for (const std::string& document : documents(text)) {
    if (document.find("serving.volcano.sh/") == std::string::npos &&
        document.find("inference.llm.io/") == std::string::npos) {
      continue;
    }
    SCOPED_TRACE(fmt::format("{}: {}", name, document));
    const Json object = yaml(with_images(document));
    if (object.find("kind") == nullptr) continue;
    const CustomResource* resource = find_custom_resource(object.find("apiVersion")->as_string(),
                                                          object.find("kind")->as_string());
    if (resource == nullptr) continue;
    ++ours;
    const Json stored = admit_fields(resource->schema, object);
    EXPECT_EQ(describe(validate(*resource, stored, nullptr)), "");
    EXPECT_EQ(describe(resource->check_rules(resource->fill_in(stored), Operation::kCreate)), "");
    std::vector<std::string> warnings;
    const auto written = resource->rewrite(object, &warnings);
    EXPECT_TRUE(written.ok()) << written.error().message();
    EXPECT_THAT(warnings, IsEmpty());  // kubectl refuses what a definition does not name
  }
  return ours;
}

TEST(CustomResources, TakeEveryExampleBesideTheRepository) {
  if (shared().empty()) GTEST_SKIP() << "FAIRLEAD_SHARED names no folder with examples";
  size_t ours = 0;
  for (const auto& entry : fs::recursive_directory_iterator(shared() / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ours += expect_usable(entry.path().filename(), contents(entry.path()));
  }
  EXPECT_EQ(ours, 13U);
}

TEST(CustomResources, TakeWhatTheSeedsShowBesideTheRepository) {
  if (shared().empty()) GTEST_SKIP() << "FAIRLEAD_SHARED names no folder with seeds";
  size_t ours = 0;
  for (const auto& entry : fs::directory_iterator(shared() / "seeds")) {
    ours += expect_usable(entry.path().filename(), contents(entry.path()));
  }
  EXPECT_EQ(ours, 6U);
}

}  // namespace
}  // namespace fairlead::api
