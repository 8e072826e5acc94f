// The words of the rules of rules.h, one for each rule: the check says them, before or after what
// it found, and the description of the field names them, from which the reference page lists them.
#pragma once

#include <string_view>

namespace fairlead::api::rule_texts {

using Text = std::string_view;

inline constexpr Text kGiven = "must be given";
inline constexpr Text kNotNegative = "must not be negative";
inline constexpr Text kNoWhiteSpace = "must have no white space";
inline constexpr Text kPodNames =
    "must give pods names of at most 63 characters: lower-case letters, digits and dashes, from a "
    "letter on";

// ModelServing
inline constexpr Text kNoGroupRecreate =
    "must not be ServingGroupRecreate with RoleRollingUpdate, which replaces single roles";
inline constexpr Text kNoGroupPace =
    "must not be given with RoleRollingUpdate: roles have their own";
inline constexpr Text kAmount = "must be 0 or more, or a percentage from 0% to 100%";
inline constexpr Text kMoves =
    "must not be 0 where updates go by it: nothing could ever be updated";
inline constexpr Text kRoleName =
    "must be lower-case letters, digits and dashes, and begin with a letter";
inline constexpr Text kWorkerTemplate = "must be given where workerReplicas is not 0";
inline constexpr Text kRolePartition = "must not be given but with RoleRollingUpdate";
inline constexpr Text kNamesRole = "must name one of the roles";
inline constexpr Text kGangSize = "must at creation be at most the role's replicas";
inline constexpr Text kOneTier = "must not be given beside highestTierAllowed";

// ModelBooster
inline constexpr Text kWorkerType =
    "must be server with vLLM, prefill or decode with vLLMDisaggregated";
inline constexpr Text kWorkerOnce = "must not be there twice";
inline constexpr Text kWorkers =
    "must have a server worker with vLLM, a prefill and a decode worker with vLLMDisaggregated";
inline constexpr Text kCacheClaim =
    "must be pvc:// and the name of a claim where modelURI is pvc://";
inline constexpr Text kModelFolder = "must be a folder of the cache's claim";
inline constexpr Text kPort = "must be from 1 to 65535";
inline constexpr Text kSamePort = "must be the other worker's";
inline constexpr Text kConnectorJson = "must be text with a JSON object";
inline constexpr Text kConnectorRole =
    "must have the kv_role kv_producer in prefill, kv_consumer in decode, or kv_both";
inline constexpr Text kSameConnector = "must be of the other worker's connector type";

// AutoscalingPolicy
inline constexpr Text kOneTarget =
    "must have exactly one of homogeneousTarget, heterogeneousTarget and disaggregatedTarget";
inline constexpr Text kMetricTwice = "duplicate metric name";
inline constexpr Text kMetricValue = "metric target value must be greater than 0";
inline constexpr Text kWindow = "must be from 0s to 30m0s";
inline constexpr Text kServing = "must be ModelServing";
inline constexpr Text kReplicasInOrder = "must be at most maxReplicas";
inline constexpr Text kMetric = "must have at least one metric, for targets without their own";
inline constexpr Text kTargetOrRef = "must be given, or targetRef";
inline constexpr Text kNotBesideTarget = "must not be given beside target";
inline constexpr Text kTargetOnce = "must not be there twice";
inline constexpr Text kRoleMetrics =
    "must be given here or in the policy where minReplicas and maxReplicas differ";
inline constexpr Text kRoleSources =
    "must have at least one source where minReplicas and maxReplicas differ";
inline constexpr Text kSourceOfMetric = "must be of a metric of the role";
inline constexpr Text kPositive = "must be greater than 0";
inline constexpr Text kRatioInOrder = "must be at most maxRatio";
inline constexpr Text kRatioCanBeKept = "must be what the roles' limits can keep";
inline constexpr Text kRatioOfZero = "must be of roles that both may have 0 replicas, or neither";

// ModelServer
inline constexpr Text kLabels = "must have at least one label";
inline constexpr Text kLabel = "must be a label of Kubernetes";
inline constexpr Text kLabelKey = "must be the key of a label";

// ModelRoute
inline constexpr Text kAdapterName = "lora adapter name cannot be an empty string";
inline constexpr Text kRegex = "must be a regular expression of RE2";
inline constexpr Text kNoAdapters = "must not be given in a route with loraAdapters";
inline constexpr Text kWeight = "must have a weight that is not 0";

// ExternalModelProvider
inline constexpr Text kBaseUrl = "must be https:// and a host, without user, query and fragment";
inline constexpr Text kHeaderName = "must be the name of a header field";
inline constexpr Text kHeaderReserved = "must not be one that the router writes itself";
inline constexpr Text kHeaderLine = "must be one line";

// LLMInferenceCluster: what is made is called `<name>-prefill` at most.
inline constexpr Text kServiceNames =
    "must be at most 55 characters, lower-case letters, digits and dashes, from a letter on: "
    "Services are named after it";

}  // namespace fairlead::api::rule_texts
