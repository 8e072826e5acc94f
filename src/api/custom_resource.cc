#include "api/custom_resource.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/autoscaling_policy.h"
#include "api/external_model_provider.h"
#include "api/llm_inference_cluster.h"
#include "api/model_booster.h"
#include "api/model_route.h"
#include "api/model_server.h"
#include "api/model_serving.h"
#include "api/rules.h"
#include "base/ascii.h"
#include "codec/yaml.h"

namespace fairlead::api {
namespace {

constexpr PrinterColumn kAge{"Age", "date", ".metadata.creationTimestamp"};

Schema text_schema(std::string_view description) {
  Schema schema;
  schema.type = "string";
  schema.description = description;
  return schema;
}

// The schema of the described struct with the members that every object has.
Schema root_schema(const TypeInfo& type) {
  Schema schema = type.schema;
  Schema* metadata = schema.property("metadata");
  CHECK(metadata != nullptr, "every kind has metadata");
  const std::vector<WebhookRule> of_metadata = metadata->webhook_rules;
  *metadata = Schema();
  metadata->type = "object";
  metadata->webhook_rules = of_metadata;
  schema.properties.push_back({"apiVersion", text_schema("Group and version of this object.")});
  schema.properties.push_back({"kind", text_schema("Kind of this object.")});
  std::sort(schema.properties.begin(), schema.properties.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return schema;
}

template <class T>
base::Result<std::string> rewrite(const Json& object, std::vector<std::string>* warnings) {
  const auto typed = read<T>(object, warnings);
  if (!typed) return typed.error();
  return write(*typed);
}

template <class T>
std::vector<FieldError> check_rules_of(const Json& stored, Operation operation) {
  const auto typed = read<T>(stored);
  // A number that its schema does not bound and its struct cannot hold.
  if (!typed) return {{"", typed.error().message()}};
  std::vector<FieldError> errors = check_rules(*typed, operation);
  if (errors.size() > kFieldErrorsMax) errors.resize(kFieldErrorsMax);
  return errors;
}

Json unchanged(const Json& stored) { return stored; }

template <class T>
CustomResource resource(std::vector<PrinterColumn> columns,
                        std::optional<ScaleSubresource> scale = std::nullopt) {
  const TypeInfo& type = type_of(static_cast<const T*>(nullptr));
  return {T::kKind,  std::move(columns), scale, root_schema(type), rewrite<T>,
          unchanged, check_rules_of<T>};
}

std::vector<CustomResource> make_resources() {
  std::vector<CustomResource> list;
  list.push_back(resource<ModelServing>(
      {{"Replicas", "integer", ".status.replicas", "Total number of serving groups"},
       {"Available", "integer", ".status.availableReplicas",
        "Number of serving groups that are ready"},
       {"Updated", "integer", ".status.updatedReplicas",
        "Number of serving groups updated to the latest revision"},
       kAge},
      ScaleSubresource{".spec.replicas", ".status.replicas", ".status.labelSelector"}));
  list.push_back(
      resource<ModelBooster>({{"Active", "string", ".status.conditions[?(@.type=='Active')].status",
                               "Whether the model booster is active"},
                              kAge}));
  list.push_back(resource<AutoscalingPolicy>({kAge}));
  list.back().fill_in = fill_in_policy;
  list.push_back(resource<ModelServer>(
      {{"Engine", "string", ".spec.inferenceEngine", "Inference engine used to serve the model"},
       {"Port", "integer", ".spec.workloadPort.port", "Model server port"},
       {"Protocol", "string", ".spec.workloadPort.protocol", "Model server protocol"},
       kAge}));
  list.push_back(resource<ModelRoute>({kAge}));
  list.push_back(resource<ExternalModelProvider>({}));
  list.push_back(resource<LLMInferenceCluster>(
      {{"Ready", "string", ".status.conditions[?(@.type=='Ready')].status", "Whether it serves"},
       {"Decode", "integer", ".status.replicas", "Decode pods"},
       {"URL", "string", ".status.endpoints.routerURL", "For clients"},
       kAge},
      ScaleSubresource{".spec.runtime.decode.replicas", ".status.replicas", ".status.selector"}));
  return list;
}

Json text(std::string_view value) { return Json::string(std::string(value)); }

Json columns_json(const CustomResource& resource) {
  std::vector<Json> columns;
  for (const PrinterColumn& column : resource.columns) {
    std::vector<Json::Member> members;
    if (!column.description.empty()) {
      members.emplace_back("description", text(column.description));
    }
    members.emplace_back("jsonPath", text(column.json_path));
    members.emplace_back("name", text(column.name));
    members.emplace_back("type", text(column.type));
    columns.push_back(Json::object(std::move(members)));
  }
  return Json::array(std::move(columns));
}

Json subresources_json(const CustomResource& resource) {
  std::vector<Json::Member> members;
  if (resource.scale) {
    members.emplace_back(
        "scale", Json::object({{"labelSelectorPath", text(resource.scale->label_selector)},
                               {"specReplicasPath", text(resource.scale->spec_replicas)},
                               {"statusReplicasPath", text(resource.scale->status_replicas)}}));
  }
  members.emplace_back("status", Json::object({}));
  return Json::object(std::move(members));
}

Json version_json(const CustomResource& resource) {
  std::vector<Json::Member> members;
  if (!resource.columns.empty()) {
    members.emplace_back("additionalPrinterColumns", columns_json(resource));
  }
  members.emplace_back("name", text(resource.kind.version));
  members.emplace_back(
      "schema", Json::object({{"openAPIV3Schema", to_json(resource.schema, Descriptions::kKeep)}}));
  members.emplace_back("served", Json::boolean(true));
  members.emplace_back("storage", Json::boolean(true));
  members.emplace_back("subresources", subresources_json(resource));
  return Json::object(std::move(members));
}

}  // namespace

std::span<const CustomResource> custom_resources() {
  static const std::vector<CustomResource> kResources = make_resources();
  return kResources;
}

const CustomResource* find_custom_resource(std::string_view api_version, std::string_view kind) {
  for (const CustomResource& resource : custom_resources()) {
    if (resource.kind.kind == kind && resource.kind.api_version() == api_version) return &resource;
  }
  return nullptr;
}

Json crd_json(const CustomResource& resource) {
  const Kind& kind = resource.kind;
  const Json names = Json::object({{"kind", text(kind.kind)},
                                   {"listKind", Json::string(std::string(kind.kind) + "List")},
                                   {"plural", text(kind.plural)},
                                   {"singular", Json::string(base::lowered(kind.kind))}});
  const Json spec =
      Json::object({{"group", text(kind.group)},
                    {"names", names},
                    {"scope", text(kind.scope == Scope::kNamespaced ? "Namespaced" : "Cluster")},
                    {"versions", Json::array({version_json(resource)})}});
  return Json::object(
      {{"apiVersion", text("apiextensions.k8s.io/v1")},
       {"kind", text("CustomResourceDefinition")},
       {"metadata",
        Json::object({{"name", Json::string(fmt::format("{}.{}", kind.plural, kind.group))}})},
       {"spec", spec}});
}

std::string crd_yaml(const CustomResource& resource) {
  return "# Generated by `fairlead crds` from src/api; do not edit.\n" +
         codec::to_yaml(crd_json(resource));
}

std::string crd_file_name(const CustomResource& resource) {
  return fmt::format("{}_{}.yaml", resource.kind.group, resource.kind.plural);
}

}  // namespace fairlead::api
