// What the definitions of our kinds cannot say, neither as limits nor in CEL: names that are made
// of several fields, text that must compile or parse, what is in pod specs, and defaults that hold
// where a whole part is absent. An admission webhook asks them.
//
//   const CustomResource* resource = find_custom_resource(api_version, kind);
//   Json stored = resource->fill_in(admit_fields(resource->schema, object));
//   for (const FieldError& e : resource->check_rules(stored, Operation::kCreate)) ...
//
// They are asked of an object that keeps the limits and CEL rules of its definition (validate.h),
// and repeat none of them. What they say is in rule_texts.h. Pure functions; any thread.
#pragma once

#include <vector>

#include "api/admission.h"
#include "api/autoscaling_policy.h"
#include "api/external_model_provider.h"
#include "api/llm_inference_cluster.h"
#include "api/model_booster.h"
#include "api/model_route.h"
#include "api/model_server.h"
#include "api/model_serving.h"

namespace fairlead::api {

std::vector<FieldError> check_rules(const ModelServing& serving, Operation operation);
std::vector<FieldError> check_rules(const ModelBooster& booster, Operation operation);
std::vector<FieldError> check_rules(const AutoscalingPolicy& policy, Operation operation);
std::vector<FieldError> check_rules(const ModelServer& server, Operation operation);
std::vector<FieldError> check_rules(const ModelRoute& route, Operation operation);
std::vector<FieldError> check_rules(const ExternalModelProvider& provider, Operation operation);
std::vector<FieldError> check_rules(const LLMInferenceCluster& cluster, Operation operation);

// The behaviour of a policy that says nothing, or not all, about how fast it may act. What the
// definition's own defaults have filled in stays.
void fill_in(AutoscalingBehavior& behavior);
// The same in a stored object; one that cannot be read stays as it is.
Json fill_in_policy(const Json& stored);

// The longest name of what a ModelServing makes: its groups, roles and pods are numbered.
std::string longest_child_name(const ModelServing& serving, const Role& role);

// Lower-case letters, digits and dashes, from a letter on, at most 63: what a Service's name is.
bool valid_dns_label(std::string_view name);

}  // namespace fairlead::api
