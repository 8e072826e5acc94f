// The CEL rules of a schema (x-kubernetes-validations), asked as an API server asks them: `self` is
// the value, `oldSelf` the one before a change. A rule about a change is asked only where both
// exist; items of lists are paired by their keys in lists of type map and not at all in others. A
// rule about the value alone may fail where an update leaves the value as it was.
//
//   auto rules = CelRules::compile(schema);
//   for (const FieldError& e : rules->check(object, &old)) ...   // spec.modelName is immutable
//
// Ask them of objects that check() of admission.h found valid.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "api/admission.h"
#include "api/schema.h"
#include "base/result.h"

namespace fairlead::api {

// What one rule may cost on one value, and all rules on one object; Kubernetes' bounds. What could
// cost more is refused unasked, and no further rule is asked then.
inline constexpr uint64_t kRuleCostMax = 1'000'000;
inline constexpr uint64_t kObjectCostMax = 10'000'000;

class CelRules {
 public:
  // kInvalidArgument for a rule that does not compile or names anything but self and oldSelf.
  static base::Result<CelRules> compile(const Schema& root);
  CelRules(CelRules&&) noexcept;
  CelRules& operator=(CelRules&&) noexcept;
  ~CelRules();

  // Any thread. `old` is nullptr for a new object.
  std::vector<FieldError> check(const Json& object, const Json* old) const;

 private:
  struct Node;
  class Walk;
  explicit CelRules(std::unique_ptr<Node> root);
  std::unique_ptr<Node> root_;
};

}  // namespace fairlead::api
