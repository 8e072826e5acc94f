// Label selectors: as fields of an object (LabelSelector) and as the text of a list request.
//
//   auto selector = parse_selector("app=router,tier in (a,b),!canary");
//   matches(*selector, pod.metadata.labels);
//   to_text(*selector);   // "app=router,tier in (a,b),!canary"
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/type_info.h"
#include "base/result.h"

namespace fairlead::api {

using Labels = std::map<std::string, std::string>;

inline constexpr size_t kSelectorBytesMax = 64 << 10;
inline constexpr size_t kSelectorTermsMax = 1024;

struct LabelSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values;
  bool operator==(const LabelSelectorRequirement&) const = default;
};

// All of it must hold; an empty selector matches everything.
struct LabelSelector {
  Labels matchLabels;
  std::vector<LabelSelectorRequirement> matchExpressions;
  bool operator==(const LabelSelector&) const = default;
};

// An operator that is not one of the four, or a wrong number of values, matches nothing;
// check_selector says which.
bool matches(const LabelSelector& selector, const Labels& labels);
base::Result<> check_selector(const LabelSelector& selector);

// The grammar of the API server's labelSelector parameter: =, ==, !=, in, notin, key, !key.
base::Result<LabelSelector> parse_selector(std::string_view text);
std::string to_text(const LabelSelector& selector);

// Syntax of label keys ("example.com/name") and values.
bool valid_label_key(std::string_view key);
bool valid_label_value(std::string_view value);

const TypeInfo& type_of(const LabelSelectorRequirement*);
const TypeInfo& type_of(const LabelSelector*);

}  // namespace fairlead::api
