#include "api/validate.h"

#include <utility>

#include "api/cel.h"
#include "base/check.h"

namespace fairlead::api {
namespace {

std::vector<CelRules> compile_all_rules() {
  std::vector<CelRules> all;
  for (const CustomResource& resource : custom_resources()) {
    auto rules = CelRules::compile(resource.schema);
    CHECK(rules.ok(), "the rules of our kinds compile");
    all.push_back(std::move(*rules));
  }
  return all;
}

}  // namespace

std::vector<FieldError> validate(const CustomResource& resource, const Json& stored,
                                 const Json* old) {
  static const std::vector<CelRules> kRules = compile_all_rules();
  const auto index = static_cast<size_t>(&resource - custom_resources().data());
  CHECK(index < kRules.size(), "the resource is one of custom_resources()");
  std::vector<FieldError> errors = check(resource.schema, stored);
  return errors.empty() ? kRules[index].check(stored, old) : errors;
}

}  // namespace fairlead::api
