// What a real API server makes of our definitions, and of objects of our kinds: the same as we do.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "api/admission.h"
#include "api/custom_resource.h"
#include "api/llm_inference_cluster.h"
#include "api/testing.h"
#include "api/testing/documents.h"
#include "api/validate.h"
#include "codec/yaml.h"
#include "control_plane.h"

namespace fairlead::kube {
namespace {

namespace fs = std::filesystem;
using codec::Json;

const Resource kDefinitions{.group = "apiextensions.k8s.io",
                            .version = "v1",
                            .plural = "customresourcedefinitions",
                            .kind = "CustomResourceDefinition",
                            .namespaced = false};
constexpr std::chrono::seconds kEstablishTime{60};

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Json yaml(const std::string& text) {
  const base::Result<Json> parsed = codec::parse_yaml(text);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : Json();
}

// The first path that is there; null otherwise.
Json at(const Json& value, std::initializer_list<std::string_view> path) {
  const Json* here = &value;
  for (const std::string_view key : path) {
    here = here->find(key);
    if (here == nullptr) return {};
  }
  return *here;
}

// Servers keep no order.
std::string spec_of(const Json& object) { return to_string(api::sorted(at(object, {"spec"}))); }

// The fields that a refusal names: `... is invalid: [spec.a: Required value, spec.b[0]: ...]`. The
// server also says of "<nil>" that it asked no rules because of the others, and names what the
// scale subresource refuses a second time, as ".spec.replicas".
std::set<std::string> refused_fields(std::string_view message) {
  constexpr std::string_view kKinds[] = {"Required value",  "Invalid value", "Unsupported value",
                                         "Duplicate value", "Forbidden",     "Too long",
                                         "Too many",        "Not found",     "Internal error"};
  constexpr std::string_view kBefore = " is invalid: ";
  std::set<std::string> fields;
  const size_t start = message.find(kBefore);
  if (start == std::string_view::npos) return fields;
  message.remove_prefix(start + kBefore.size());
  if (message.starts_with('[')) message.remove_prefix(1);
  for (size_t colon = message.find(": "); colon != std::string_view::npos;
       colon = message.find(": ", colon + 1)) {
    const std::string_view rest = message.substr(colon + 2);
    if (std::ranges::none_of(kKinds, [&](auto kind) { return rest.starts_with(kind); })) continue;
    const size_t space = message.rfind(' ', colon);
    const size_t from = space == std::string_view::npos ? 0 : space + 1;
    const std::string_view field = message.substr(from, colon - from);
    if (field != "<nil>") fields.emplace(field.starts_with('.') ? field.substr(1) : field);
  }
  return fields;
}

struct RealApiDefinitions : RealApi {
  void SetUp() override {
    static const bool installed = install();
    ASSERT_TRUE(installed);
  }

  bool install() {
    std::vector<fs::path> files;
    for (const fs::path& folder :
         {fs::path(FAIRLEAD_SOURCE "/deploy/crds"), fs::path(plane.definitions())}) {
      for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
    }
    for (const fs::path& file : files) {
      const Json definition = yaml(contents(file));
      const Target target{kDefinitions, "", at(definition, {"metadata", "name"}).as_string()};
      const auto made = run(client.patch(target, PatchKind::kApply, to_string(definition),
                                         {.field_manager = "tests"}));
      if (!made) {
        ADD_FAILURE() << file << ": " << made.error().describe();
        return false;
      }
      names.push_back(target.name);
    }
    // As soon as it serves the last one, it serves all.
    for (const std::string& name : names) {
      if (!run(established(name))) {
        ADD_FAILURE() << name << " is not served";
        return false;
      }
    }
    return true;
  }

  // The server serves it and finds nothing wrong with it.
  rt::Task<bool> established(std::string name) {
    const base::TimePoint deadline = base::after(loop.now(), kEstablishTime);
    while (loop.now() < deadline) {
      const base::Result<ObjectPtr> got = co_await client.get({kDefinitions, "", name});
      const base::Result<Json> tree = got ? (*got)->tree() : got.error();
      if (tree && condition(*tree, "Established") == "True") {
        EXPECT_EQ(condition(*tree, "NamesAccepted"), "True") << name;
        EXPECT_NE(condition(*tree, "NonStructuralSchema"), "True") << name;
        const Json versions = at(*tree, {"spec", "versions"});
        const Resource listed{.group = at(*tree, {"spec", "group"}).as_string(),
                              .version = at(versions.items().front(), {"name"}).as_string(),
                              .plural = at(*tree, {"spec", "names", "plural"}).as_string(),
                              .kind = at(*tree, {"spec", "names", "kind"}).as_string()};
        if (co_await client.list({listed}, {})) co_return true;
      }
      co_await rt::sleep_until(base::after(loop.now(), std::chrono::milliseconds(50)));
    }
    co_return false;
  }

  static std::string condition(const Json& object, std::string_view type) {
    const Json conditions = at(object, {"status", "conditions"});
    for (const Json& each : conditions.items()) {
      if (at(each, {"type"}).as_string() == type) return at(each, {"status"}).as_string();
    }
    return "";
  }

  static Json object_of(const api::CustomResource& ours, const std::string& name, const Json& spec,
                        const std::string& version = "") {
    return Json::object({{"apiVersion", Json::string(ours.kind.api_version())},
                         {"kind", Json::string(std::string(ours.kind.kind))},
                         {"metadata", Json::object({{"name", Json::string(name)},
                                                    {"resourceVersion", Json::string(version)}})},
                         {"spec", spec}});
  }

  // Creates it there, or what it was before it and then updates it, and judges it here.
  void expect_same_verdict(const api::CustomResource& ours, const std::string& name,
                           const Json& row) {
    const Target kind{resource_of(ours.kind), space};
    const Json old = at(row, {"old"});
    std::string version;
    if (!old.is_null()) {
      const auto made = run(client.create(kind, to_string(object_of(ours, name, old)), {}));
      ASSERT_TRUE(made) << made.error().describe();
      version = (*made)->resource_version();
    }
    const Json object = object_of(ours, name, at(row, {"spec"}), version);
    const Json before = api::admit_fields(ours.schema, object_of(ours, name, old));
    const Json stored = api::admit_fields(ours.schema, object);
    std::set<std::string> refused;
    for (const api::FieldError& e :
         api::validate(ours, stored, old.is_null() ? nullptr : &before)) {
      refused.insert(e.field);
    }
    const auto made = run(old.is_null() ? client.create(kind, to_string(object), {})
                                        : client.update({resource_of(ours.kind), space, name},
                                                        to_string(object), {}));
    if (!made) {
      const std::string& said = made.error().message();
      EXPECT_EQ(made.error().code(), base::ErrorCode::kInvalidArgument);
      EXPECT_EQ(refused_fields(said), refused) << said;
      const Json wanted = at(row, {"errors"});
      for (const Json& error : wanted.items()) {
        EXPECT_THAT(said, testing::HasSubstr(at(error, {"message"}).as_string()));
      }
      return;
    }
    EXPECT_THAT(refused, testing::IsEmpty()) << "the server takes it";
    const base::Result<Json> tree = (*made)->tree();
    ASSERT_TRUE(tree);
    EXPECT_EQ(spec_of(*tree), spec_of(stored));
  }

  void make_space(const std::string& name) {
    const auto made = run(
        client.create({kNamespaces}, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name), {}));
    EXPECT_TRUE(made) << made.error().describe();
  }

  // Applies a file as users do; how many of its documents are of our kinds. Those are stored as our
  // validation says.
  size_t apply(const fs::path& file, const std::string& text) {
    const auto applied = plane.kubectl({"apply", "--validate=strict", "-f", file.string()});
    EXPECT_TRUE(applied) << applied.error().message();
    size_t ours = 0;
    for (const std::string& document : api::documents(text)) {
      const api::CustomResource* resource = of_document(document);
      if (resource == nullptr) continue;
      ++ours;
      const Json object = yaml(document);
      const std::string in = at(object, {"metadata", "namespace"}).as_string();
      const auto got = run(client.get({resource_of(resource->kind), in.empty() ? "default" : in,
                                       at(object, {"metadata", "name"}).as_string()}));
      EXPECT_TRUE(got) << got.error().describe();
      if (!got) continue;
      const Json stored = api::admit_fields(resource->schema, object);
      EXPECT_EQ(spec_of(*(*got)->tree()), spec_of(stored));
      EXPECT_EQ(api::describe(api::validate(*resource, stored, nullptr)), "");
    }
    return ours;
  }

  // Null if it is of no kind of ours.
  static const api::CustomResource* of_document(const std::string& document) {
    if (document.find("serving.volcano.sh/") == std::string::npos &&
        document.find("inference.llm.io/") == std::string::npos) {
      return nullptr;  // perhaps no YAML at all
    }
    const Json object = yaml(document);
    return api::find_custom_resource(at(object, {"apiVersion"}).as_string(),
                                     at(object, {"kind"}).as_string());
  }

  std::vector<std::string> names;
};

TEST_F(RealApiDefinitions, OursAndThoseOfOthersAreInstalled) {
  std::vector<std::string> there;
  const auto all = run(client.list_all({kDefinitions}, {}));
  ASSERT_TRUE(all) << all.error().describe();
  for (const ObjectPtr& each : all->items) there.emplace_back(each->name());
  for (const api::CustomResource& ours : api::custom_resources()) {
    EXPECT_THAT(there, testing::Contains(fmt::format("{}.{}", ours.kind.plural, ours.kind.group)));
  }
  for (const char* name :
       {"gateways.gateway.networking.k8s.io", "httproutes.gateway.networking.k8s.io",
        "inferencepools.inference.networking.k8s.io",
        "leaderworkersets.leaderworkerset.x-k8s.io"}) {
    EXPECT_THAT(there, testing::Contains(name));
  }
}

TEST_F(RealApiDefinitions, TheServerAndOurValidationAgreeOnTheTables) {
  for (const api::CustomResource& ours : api::custom_resources()) {
    const std::string file = fmt::format("{}.yaml", ours.kind.plural);
    const Json table =
        yaml(contents(fs::path(FAIRLEAD_SOURCE "/src/api/testdata/admission") / file));
    EXPECT_FALSE(table.items().empty()) << file;
    for (size_t i = 0; i < table.items().size(); ++i) {
      const Json& row = table.items()[i];
      SCOPED_TRACE(fmt::format("{}: {}", file, at(row, {"name"}).as_string()));
      expect_same_verdict(ours, fmt::format("row-{}", i), row);
    }
  }
}

TEST_F(RealApiDefinitions, AClustersScaleIsThatOfDecodeAndItsStatusIsApart) {
  const TypedClient<api::LLMInferenceCluster> clusters(client);
  api::LLMInferenceCluster cluster;
  cluster.metadata.name = "llminferencecluster-sample";
  cluster.metadata.namespace_ = space;
  cluster.spec.model.name = "m";
  cluster.status.replicas = 9;
  auto made = run(clusters.create(space, cluster, {}));
  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ(made->value.status.replicas, std::nullopt) << "not written with the spec";
  api::LLMInferenceCluster seen = made->value;
  seen.status.replicas = 1;
  seen.status.selector = "app=decode";
  seen.spec.routing.routerReplicas = 5;
  made = run(clusters.update(seen, {}, "status"));
  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ(made->value.spec.routing.routerReplicas, 1) << "not written with the status";

  auto scale = run(clusters.scale(space, cluster.metadata.name));
  ASSERT_TRUE(scale) << scale.error().describe();
  EXPECT_EQ(scale->value.spec.replicas, 1);
  EXPECT_EQ(scale->value.status.replicas, 1);
  EXPECT_EQ(scale->value.status.selector, "app=decode");
  scale->value.spec.replicas = 4;
  scale = run(clusters.update_scale(scale->value, {}));
  ASSERT_TRUE(scale) << scale.error().describe();
  made = run(clusters.get(space, cluster.metadata.name));
  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ(made->value.spec.runtime.decode.replicas, 4);
  EXPECT_EQ(made->value.spec.runtime.prefill.replicas, 1);
}

// The folder with what users of the other implementation have; tools/test leaves these tests out
// where there is none.
fs::path shared() {
  const char* folder = std::getenv("FAIRLEAD_SHARED");
  return folder == nullptr ? fs::path() : fs::path(folder);
}

// Users apply one file at a time; several of the examples have the same name.
TEST_F(RealApiDefinitions, KubectlAppliesEveryExampleBesideTheRepository) {
  if (shared().empty()) GTEST_SKIP() << "FAIRLEAD_SHARED names no folder with examples";
  make_space("autoscale-demo");
  size_t applied = 0;
  for (const auto& entry : fs::recursive_directory_iterator(shared() / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path());
    applied += apply(entry.path(), contents(entry.path()));
    const auto deleted = plane.kubectl({"delete", "--wait=true", "-f", entry.path().string()});
    EXPECT_TRUE(deleted) << deleted.error().message();
  }
  EXPECT_EQ(applied, 13U);
}

TEST_F(RealApiDefinitions, KubectlAppliesWhatTheSeedsShowBesideTheRepository) {
  if (shared().empty()) GTEST_SKIP() << "FAIRLEAD_SHARED names no folder with seeds";
  make_space("kthena-vllm-demo");
  size_t applied = 0;
  for (const auto& entry : fs::directory_iterator(shared() / "seeds")) {
    for (const std::string& document : api::documents(contents(entry.path()))) {
      if (of_document(document) == nullptr) continue;
      const fs::path file = fs::path(plane.folder()) / "seed.yaml";
      std::ofstream(file) << document;
      applied += apply(file, document);
    }
  }
  EXPECT_EQ(applied, 6U);
}

}  // namespace
}  // namespace fairlead::kube
