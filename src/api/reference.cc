// docs/api.md, from the schemas.
#include <fmt/format.h>

#include <algorithm>

#include "api/custom_resource.h"

namespace fairlead::api {
namespace {

// Embedded Kubernetes types are named, not repeated: they have no descriptions of ours.
bool is_foreign(const Schema& schema) {
  return schema.type == "object" && !schema.properties.empty() &&
         schema.properties.front().schema.description.empty();
}

std::string type_text(const Schema& schema) {
  if (schema.int_or_string) return schema.pattern.empty() ? "number or percentage" : "quantity";
  if (!schema.enum_values.empty()) return fmt::format("{}", fmt::join(schema.enum_values, ", "));
  if (!schema.items.empty()) return "list of " + type_text(schema.items.front());
  if (!schema.additional.empty()) return "map of " + type_text(schema.additional.front());
  if (schema.type.empty()) return "any";
  if (schema.format == "date-time") return "time";
  return schema.type;
}

std::string limits_text(const Schema& schema) {
  std::vector<std::string> parts;
  const auto range = [&](const auto& low, const auto& high, std::string_view what) {
    if (low && high) {
      parts.push_back(fmt::format("{}{} to {}", what, *low, *high));
    } else if (low) {
      parts.push_back(fmt::format("{}at least {}", what, *low));
    } else if (high) {
      parts.push_back(fmt::format("{}at most {}", what, *high));
    }
  };
  range(schema.minimum, schema.maximum, "");
  range(schema.min_length, schema.max_length, "length ");
  range(schema.min_items, schema.max_items, "items ");
  range(schema.min_properties, schema.max_properties, "entries ");
  if (!schema.pattern.empty() && !schema.int_or_string) {
    parts.push_back(fmt::format("`{}`", schema.pattern));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// A cell of a table: bars would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void add_rows(const Schema& schema, const std::string& path, std::string& out) {
  for (const auto& [name, property] : schema.properties) {
    const bool required =
        std::find(schema.required.begin(), schema.required.end(), name) != schema.required.end() &&
        !property.default_value;
    const std::string default_text =
        property.default_value ? fmt::format("`{}`", to_string(*property.default_value)) : "";
    const std::string here = path.empty() ? name : fmt::format("{}.{}", path, name);
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", here, cell(type_text(property)),
                       required ? "needed" : cell(default_text), cell(limits_text(property)),
                       cell(property.description));
    const Schema* inner = &property;
    std::string inner_path = here;
    if (!inner->items.empty()) {
      inner = &inner->items.front();
      inner_path += "[]";
    } else if (!inner->additional.empty()) {
      inner = &inner->additional.front();
      inner_path += ".*";
    }
    if (!is_foreign(*inner)) add_rows(*inner, inner_path, out);
  }
}

// Nothing where there are no rules.
void add_rules(const Schema& root, std::string& out) {
  std::string cel;
  std::string webhook;
  visit_places(root, "", [&](const std::string& path, const Schema& schema) {
    for (const Rule& rule : schema.rules) {
      cel += fmt::format("| `{}` | {} | `{}` |\n", path, cell(rule.message), cell(rule.rule));
    }
    for (const WebhookRule& rule : schema.webhook_rules) {
      webhook += fmt::format("| `{}{}` | {} |\n", path, rule.below, cell(rule.text));
    }
  });
  if (!cel.empty()) {
    out += "\nRules in the definition:\n\n| of | message | rule, in CEL |\n|---|---|---|\n" + cel;
  }
  if (!webhook.empty()) {
    out += "\nRules for an admission webhook:\n\n| of | message |\n|---|---|\n" + webhook;
  }
}

}  // namespace

std::string reference_page() {
  std::string out =
      "# API reference\n\n"
      "Generated from `src/api`; `FAIRLEAD_UPDATE=1` with the tests of `api` writes it anew.\n\n"
      "The definitions themselves are in `deploy/crds`, and `fairlead crds` prints them. Parts "
      "that\n"
      "Kubernetes defines (a pod's spec, resources, tolerations, volumes) are named here and "
      "checked\n"
      "as Kubernetes defines them. API servers ask the rules in a definition; what no definition "
      "can\n"
      "say is for an admission webhook.\n";
  for (const CustomResource& resource : custom_resources()) {
    out +=
        fmt::format("\n## {}\n\n{}\n\n`{}`, `{}`. {}\n\n", resource.kind.kind,
                    resource.schema.description, resource.kind.api_version(), resource.kind.plural,
                    resource.scale ? "`kubectl scale` works on it." : "It has a status.");
    out += "| field | type | default | limits | meaning |\n|---|---|---|---|---|\n";
    for (const char* part : {"spec", "status"}) {
      if (const Schema* schema = resource.schema.property(part)) add_rows(*schema, part, out);
    }
    add_rules(resource.schema, out);
  }
  return out;
}

}  // namespace fairlead::api
