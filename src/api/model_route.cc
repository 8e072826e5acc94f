#include "api/model_route.h"

#include "api/describe.h"
#include "api/rule_texts.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(StringMatch, (), (exact, prefix, regex))
BOOST_DESCRIBE_STRUCT(BodyMatch, (), (model))
BOOST_DESCRIBE_STRUCT(ModelMatch, (), (headers, uri, body))
BOOST_DESCRIBE_STRUCT(TargetModel, (), (modelServerName, externalModelProviderName, weight))
BOOST_DESCRIBE_STRUCT(RouteRule, (), (name, modelMatch, targetModels))
BOOST_DESCRIBE_STRUCT(ParentReference, (), (group, kind, namespace_, name, sectionName, port))
BOOST_DESCRIBE_ENUM(RateLimitUnit, second, minute, hour, day, month)
BOOST_DESCRIBE_STRUCT(RedisRateLimit, (), (address))
BOOST_DESCRIBE_STRUCT(GlobalRateLimit, (), (redis))
BOOST_DESCRIBE_STRUCT(RateLimit, (), (inputTokensPerUnit, outputTokensPerUnit, unit, global))
BOOST_DESCRIBE_STRUCT(ModelRouteSpec, (), (modelName, loraAdapters, parentRefs, rules, rateLimit))
BOOST_DESCRIBE_STRUCT(ModelRouteStatus, (), ())
BOOST_DESCRIBE_STRUCT(ModelRoute, (), (metadata, spec, status))

namespace {

constexpr std::string_view kDnsName =
    R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)";

}  // namespace

const TypeInfo& type_of(const StringMatch*) {
  using T = StringMatch;
  static const TypeInfo kType = describe<T>(
      {.doc = "How a text must look. At most one of these should be set."},
      {field<&T::exact>({.doc = "The text."}), field<&T::prefix>({.doc = "What it begins with."}),
       field<&T::regex>({.doc = "An expression of RE2 that is found anywhere in it."})});
  return kType;
}

const TypeInfo& type_of(const BodyMatch*) {
  using T = BodyMatch;
  static const TypeInfo kType =
      describe<T>({.doc = "What the request's body must say."},
                  {field<&T::model>({.doc = "The model or adapter that is asked for."})});
  return kType;
}

const TypeInfo& type_of(const ModelMatch*) {
  using T = ModelMatch;
  static const TypeInfo kType =
      describe<T>({.doc = "Conditions on a request; all must hold."},
                  {field<&T::headers>({.doc = "Conditions on header fields, by name."}),
                   field<&T::uri>({.doc = "Condition on the path."}),
                   field<&T::body>({.doc = "Condition on the body."})});
  return kType;
}

const TypeInfo& type_of(const TargetModel*) {
  using T = TargetModel;
  static const TypeInfo kType = describe<T>(
      {.doc = "One destination.",
       .rules = {{.rule = R"((has(self.modelServerName) && self.modelServerName != "") != )"
                          R"((has(self.externalModelProviderName) && )"
                          R"(self.externalModelProviderName != ""))",
                  .message = "exactly one of modelServerName or externalModelProviderName must be "
                             "set"}}},
      {field<&T::modelServerName>({.doc = "A ModelServer of this namespace."}),
       field<&T::externalModelProviderName>({.doc = "An ExternalModelProvider of this namespace.",
                                             .webhook = {{"", rule_texts::kNoAdapters}}}),
       field<&T::weight>({.doc = "Its share, relative to the others' weights.",
                          .default_json = "100",
                          .min = 0,
                          .max = 100})});
  return kType;
}

const TypeInfo& type_of(const RouteRule*) {
  using T = RouteRule;
  static const TypeInfo kType =
      describe<T>({.doc = "Where requests that meet its conditions go."},
                  {field<&T::name>({.doc = "For people."}),
                   field<&T::modelMatch>({.doc = "Conditions; without them it takes every request.",
                                          .webhook = {{".headers.*.regex", rule_texts::kRegex},
                                                      {".uri.regex", rule_texts::kRegex}}}),
                   field<&T::targetModels>({.doc = "Destinations, chosen by weight.",
                                            .required = true,
                                            .min_items = 1,
                                            .max_items = 16,
                                            .webhook = {{"", rule_texts::kWeight}}})});
  return kType;
}

const TypeInfo& type_of(const ParentReference*) {
  using T = ParentReference;
  static const TypeInfo kType = describe<T>(
      {.doc = "A Gateway that the route is attached to."},
      {field<&T::group>(
           {.doc = "Group of the parent.",
            .default_json = R"("gateway.networking.k8s.io")",
            .max_length = 253,
            .pattern = R"(^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)"}),
       field<&T::kind>({.doc = "Kind of the parent.",
                        .default_json = R"("Gateway")",
                        .min_length = 1,
                        .max_length = 63,
                        .pattern = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}),
       field<&T::namespace_>({.doc = "Its namespace; the route's by default.",
                              .min_length = 1,
                              .max_length = 63,
                              .pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}),
       field<&T::name>({.doc = "Its name.", .required = true, .min_length = 1, .max_length = 253}),
       field<&T::sectionName>(
           {.doc = "One listener of it.", .min_length = 1, .max_length = 253, .pattern = kDnsName}),
       field<&T::port>({.doc = "One port of it.", .min = 1, .max = 65535})});
  return kType;
}

const TypeInfo& type_of(const RateLimitUnit*) {
  static const TypeInfo kType = describe_enum<RateLimitUnit>();
  return kType;
}

const TypeInfo& type_of(const RedisRateLimit*) {
  using T = RedisRateLimit;
  static const TypeInfo kType =
      describe<T>({.doc = "Where the counts are kept."},
                  {field<&T::address>({.doc = "host:port of Redis.", .required = true})});
  return kType;
}

const TypeInfo& type_of(const GlobalRateLimit*) {
  using T = GlobalRateLimit;
  static const TypeInfo kType =
      describe<T>({.doc = "One limit for all routers together."},
                  {field<&T::redis>({.doc = "Counts in Redis; without it each router counts."})});
  return kType;
}

const TypeInfo& type_of(const RateLimit*) {
  using T = RateLimit;
  static const TypeInfo kType = describe<T>(
      {.doc = "How many tokens a unit of time may cost."},
      {field<&T::inputTokensPerUnit>({.doc = "Tokens of prompts; no limit by default.", .min = 1}),
       field<&T::outputTokensPerUnit>({.doc = "Tokens of answers; no limit by default.", .min = 1}),
       field<&T::unit>(
           {.doc = "The unit of time.", .required = true, .default_json = R"("second")"}),
       field<&T::global>({.doc = "One limit for all routers together."})});
  return kType;
}

const TypeInfo& type_of(const ModelRouteSpec*) {
  using T = ModelRouteSpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "Which requests it takes and where they go.",
       .rules = {{.rule = R"((has(self.modelName) && self.modelName != "") || )"
                          R"((has(self.loraAdapters) && size(self.loraAdapters) > 0))",
                  .message = "ModelName and LoraAdapters cannot both be empty"}}},
      {field<&T::modelName>(
           {.doc = "The model that requests ask for. It cannot change once it is set.",
            .rules = {{.rule = "self == oldSelf", .message = "modelName is immutable"}}}),
       field<&T::loraAdapters>({.doc = "LoRA adapters that requests may ask for instead.",
                                .max_items = 10,
                                .webhook = {{"[]", rule_texts::kAdapterName}}}),
       field<&T::parentRefs>(
           {.doc = "Gateways it is attached to; by default all of its namespace."}),
       field<&T::rules>({.doc = "In order; the first whose conditions hold takes the request.",
                         .required = true,
                         .max_items = 16}),
       field<&T::rateLimit>({.doc = "How many tokens may be spent; no limit by default."})});
  return kType;
}

const TypeInfo& type_of(const ModelRouteStatus*) {
  static const TypeInfo kType = describe<ModelRouteStatus>({.doc = "Nothing so far."}, {});
  return kType;
}

const TypeInfo& type_of(const ModelRoute*) {
  using T = ModelRoute;
  static const TypeInfo kType = describe_kind<T>(
      {.doc = "Sends requests for a model to the servers that have it."},
      {field<&T::metadata>({}), field<&T::spec>({.required = true}), field<&T::status>({})});
  return kType;
}

}  // namespace fairlead::api
