#include "api/external_model_provider.h"

#include "api/describe.h"
#include "api/rule_texts.h"

namespace fairlead::api {

BOOST_DESCRIBE_ENUM(ProviderType, OpenAI, Anthropic)
BOOST_DESCRIBE_ENUM(AuthScheme, Bearer, APIKey)
BOOST_DESCRIBE_STRUCT(SecretKeySelector, (), (name, key, optional))
BOOST_DESCRIBE_STRUCT(ProviderAuth, (), (scheme, secretRef))
BOOST_DESCRIBE_STRUCT(ExternalModelProviderSpec, (),
                      (providerType, model, baseURL, insecureSkipVerify, auth, headers))
BOOST_DESCRIBE_STRUCT(ExternalModelProviderStatus, (), (observedGeneration, conditions))
BOOST_DESCRIBE_STRUCT(ExternalModelProvider, (), (metadata, spec, status))

const TypeInfo& type_of(const ProviderType*) {
  static const TypeInfo kType = describe_enum<ProviderType>();
  return kType;
}

const TypeInfo& type_of(const AuthScheme*) {
  static const TypeInfo kType = describe_enum<AuthScheme>();
  return kType;
}

const TypeInfo& type_of(const SecretKeySelector*) {
  using T = SecretKeySelector;
  static const TypeInfo kType = describe<T>(
      {.doc = "One entry of a Secret in the same namespace.", .map_type = "atomic"},
      {field<&T::name>(
           {.doc = "The Secret.", .default_json = R"("")", .webhook = {{"", rule_texts::kGiven}}}),
       field<&T::key>(
           {.doc = "Its entry.", .required = true, .webhook = {{"", rule_texts::kGiven}}}),
       field<&T::optional>({.doc = "Whether it may be missing."})});
  return kType;
}

const TypeInfo& type_of(const ProviderAuth*) {
  using T = ProviderAuth;
  static const TypeInfo kType = describe<T>(
      {.doc = "The credential that requests carry.",
       .rules = {{.rule = "!has(self.secretRef.optional) || !self.secretRef.optional",
                  .message = "secretRef.optional must be false or unset"}}},
      {field<&T::scheme>({.doc = "Bearer sends Authorization, APIKey sends x-api-key; by default "
                                 "what the provider type expects."}),
       field<&T::secretRef>({.doc = "Where the credential is.", .required = true})});
  return kType;
}

const TypeInfo& type_of(const ExternalModelProviderSpec*) {
  using T = ExternalModelProviderSpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "How the provider is reached."},
      {field<&T::providerType>({.doc = "The API it speaks.", .default_json = R"("OpenAI")"}),
       field<&T::model>(
           {.doc = "Its name for the model: it replaces the request's.", .max_length = 256}),
       field<&T::baseURL>({.doc = "The root of its API; https only.",
                           .required = true,
                           .min_length = 1,
                           .pattern = "^https://.+",
                           .webhook = {{"", rule_texts::kBaseUrl}}}),
       field<&T::insecureSkipVerify>(
           {.doc = "Whether its certificate goes unchecked.", .default_json = "false"}),
       field<&T::auth>({.doc = "The credential that requests carry."}),
       field<&T::headers>({.doc = "Header fields added to every request; nothing secret.",
                           .webhook = {{".*", rule_texts::kHeaderName},
                                       {".*", rule_texts::kHeaderReserved},
                                       {".*", rule_texts::kHeaderLine}}})});
  return kType;
}

const TypeInfo& type_of(const ExternalModelProviderStatus*) {
  using T = ExternalModelProviderStatus;
  static const TypeInfo kType = describe<T>(
      {.doc = "What the router found."},
      {field<&T::observedGeneration>({.doc = "The metadata.generation this was judged by."}),
       field<&T::conditions>({.doc = "Ready and CredentialsResolved."})});
  return kType;
}

const TypeInfo& type_of(const ExternalModelProvider*) {
  using T = ExternalModelProvider;
  static const TypeInfo kType = describe_kind<T>(
      {.doc = "An API outside the cluster that serves models."},
      {field<&T::metadata>({}), field<&T::spec>({.required = true}), field<&T::status>({})});
  return kType;
}

}  // namespace fairlead::api
