// The kinds that Fairlead defines, and what is generated from their descriptions: the
// CustomResourceDefinitions (deploy/crds, `fairlead crds`) and the reference page (docs/api.md).
//
//   for (const CustomResource& resource : custom_resources()) crd_yaml(resource);
//   const CustomResource* resource = find_custom_resource("workload.serving.volcano.sh/v1alpha1",
//                                                         "ModelServing");
//   auto errors = validate(*resource, admit_fields(resource->schema, object), nullptr);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/admission.h"
#include "api/meta.h"
#include "api/schema.h"
#include "base/result.h"

namespace fairlead::api {

struct PrinterColumn {
  std::string_view name;
  std::string_view type;
  std::string_view json_path;
  std::string_view description = {};
};

struct ScaleSubresource {
  std::string_view spec_replicas;
  std::string_view status_replicas;
  std::string_view label_selector;
};

struct CustomResource {
  Kind kind;
  std::vector<PrinterColumn> columns;
  std::optional<ScaleSubresource> scale;  // status is a subresource of all of them
  Schema schema;                          // of the whole object
  // Reads an object as its struct and writes that: what our programs make of it.
  base::Result<std::string> (*rewrite)(const Json& object,
                                       std::vector<std::string>* warnings) = nullptr;
  // What the schema cannot say (rules.h), of an object that keeps its limits and rules
  // (validate.h): defaults, and all errors, at most kFieldErrorsMax.
  Json (*fill_in)(const Json& stored) = nullptr;
  std::vector<FieldError> (*check_rules)(const Json& stored, Operation operation) = nullptr;
};

// In the order of the reference page. Made once; any thread.
std::span<const CustomResource> custom_resources();
const CustomResource* find_custom_resource(std::string_view api_version, std::string_view kind);

Json crd_json(const CustomResource& resource);
// The same as YAML, with a line that says where it comes from.
std::string crd_yaml(const CustomResource& resource);
// "workload.serving.volcano.sh_modelservings.yaml"
std::string crd_file_name(const CustomResource& resource);

// docs/api.md: every field with type, default, limits and meaning, and all rules.
std::string reference_page();

}  // namespace fairlead::api
