#include "api/cel.h"

#include <fairlead_rust.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace fairlead::api {
namespace {

struct FreeRule {
  void operator()(fairlead_cel_rule* rule) const { fairlead_cel_free(rule); }
};
using CompiledRule = std::unique_ptr<fairlead_cel_rule, FreeRule>;

std::string take_text(fairlead_text text) {
  std::string out(text.data == nullptr ? "" : text.data, text.size);
  fairlead_text_free(text);
  return out;
}

// The same without rules and descriptions: what a rule's values look like.
Schema shape_of(const Schema& schema) {
  Schema shape = schema;
  shape.rules.clear();
  shape.default_value.reset();
  for (auto& property : shape.properties) property.schema = shape_of(property.schema);
  for (Schema& item : shape.items) item = shape_of(item);
  for (Schema& value : shape.additional) value = shape_of(value);
  return shape;
}

}  // namespace

// A place in the schema that has rules at or below it.
struct CelRules::Node {
  struct Asked {
    CompiledRule compiled;
    std::string message;
    bool transition = false;
  };
  std::vector<Asked> rules;
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> properties;
  std::unique_ptr<Node> items;
  std::unique_ptr<Node> additional;
  std::vector<std::string> list_keys;  // of a list of type map

  bool empty() const { return rules.empty() && properties.empty() && !items && !additional; }
  const Node* property(std::string_view name) const {
    for (const auto& [key, node] : properties) {
      if (key == name) return node.get();
    }
    return nullptr;
  }

  // nullptr where there is nothing to ask.
  static base::Result<std::unique_ptr<Node>> make(const Schema& schema) {
    auto node = std::make_unique<Node>();
    const Schema shape = schema.rules.empty() ? Schema() : shape_of(schema);
    for (const Rule& rule : schema.rules) {
      Schema with_rule = shape;
      with_rule.rules.push_back(rule);
      const std::string text = to_string(to_json(with_rule, Descriptions::kDrop));
      fairlead_text error{};
      CompiledRule compiled(fairlead_cel_compile(text.data(), text.size(), &error));
      const std::string reason = take_text(error);
      if (!compiled) {
        return base::invalid_argument(fmt::format("rule '{}': {}", rule.rule, reason));
      }
      const bool transition = fairlead_cel_is_transition(compiled.get()) != 0;
      node->rules.push_back({std::move(compiled), rule.message, transition});
    }
    for (const auto& [name, property] : schema.properties) {
      auto child = make(property);
      if (!child) return child;
      if (*child) node->properties.emplace_back(name, std::move(*child));
    }
    for (const Schema& item : schema.items) {
      auto child = make(item);
      if (!child) return child;
      node->items = std::move(*child);
    }
    for (const Schema& value : schema.additional) {
      auto child = make(value);
      if (!child) return child;
      node->additional = std::move(*child);
    }
    if (schema.list_type == "map") node->list_keys = schema.list_map_keys;
    if (node->empty()) return std::unique_ptr<Node>();
    return node;
  }
};

class CelRules::Walk {
 public:
  // `stays`: an update leaves what the value is part of as it was.
  void at(const Node& node, const Json& value, const Json* old, bool stays) {
    if (value.is_null()) return;
    stays = stays || (old != nullptr && *old == value);
    if (!node.rules.empty()) ask(node, value, old, stays);
    for (const auto& [key, member] : value.members()) {
      const Node* property = node.property(key);
      const Node* child = property != nullptr ? property : node.additional.get();
      if (child == nullptr) continue;
      const Json* before = old == nullptr ? nullptr : old->find(key);
      const std::string_view dot = path_.empty() ? "" : ".";
      step(property != nullptr ? fmt::format("{}{}", dot, key) : fmt::format("[{}]", key), *child,
           member, before, stays);
    }
    if (!node.items) return;
    const auto items = value.items();
    for (size_t i = 0; i < items.size(); ++i) {
      step(fmt::format("[{}]", i), *node.items, items[i], pair_of(node, items[i], old), stays);
    }
  }

  std::vector<FieldError> take_errors() { return std::move(errors_); }

 private:
  void step(std::string_view text, const Node& node, const Json& value, const Json* old,
            bool stays) {
    if (too_costly_) return;
    const size_t length = path_.size();
    path_ += text;
    at(node, value, old, stays);
    path_.resize(length);
  }

  static const Json* pair_of(const Node& node, const Json& item, const Json* old) {
    if (old == nullptr || node.list_keys.empty()) return nullptr;
    for (const Json& before : old->items()) {
      bool same = true;
      for (const std::string& key : node.list_keys) {
        const Json* a = item.find(key);
        const Json* b = before.find(key);
        same = same && a != nullptr && b != nullptr && *a == *b;
      }
      if (same) return &before;
    }
    return nullptr;
  }

  void ask(const Node& node, const Json& value, const Json* old, bool stays) {
    const std::string now = to_string(value);
    const std::string before = old == nullptr ? std::string() : to_string(*old);
    for (const Node::Asked& rule : node.rules) {
      fairlead_text text{};
      uint64_t cost = 0;
      const auto verdict = fairlead_cel_ask(rule.compiled.get(), now.data(), now.size(),
                                            old == nullptr ? nullptr : before.data(), before.size(),
                                            std::min(kRuleCostMax, left_), &cost, &text);
      const std::string reason = take_text(text);
      const bool forgiven = verdict == FAIRLEAD_CEL_FAILS && stays && !rule.transition;
      if (verdict != FAIRLEAD_CEL_HOLDS && !forgiven && errors_.size() < kFieldErrorsMax) {
        errors_.push_back({path_, explain(verdict, rule.message, reason)});
      }
      too_costly_ = verdict == FAIRLEAD_CEL_TOO_COSTLY;
      if (too_costly_) return;
      left_ -= std::min(cost, left_);
    }
  }

  static std::string explain(fairlead_cel_verdict verdict, const std::string& message,
                             const std::string& reason) {
    if (verdict == FAIRLEAD_CEL_FAILS) return message.empty() ? reason : message;
    if (verdict == FAIRLEAD_CEL_ERROR) return fmt::format("cannot be judged: {}", reason);
    return "is too large for its rules";
  }

  std::string path_;
  uint64_t left_ = kObjectCostMax;
  bool too_costly_ = false;  // then no other rule is asked
  std::vector<FieldError> errors_;
};

CelRules::CelRules(std::unique_ptr<Node> root) : root_(std::move(root)) {}
CelRules::CelRules(CelRules&&) noexcept = default;
CelRules& CelRules::operator=(CelRules&&) noexcept = default;
CelRules::~CelRules() = default;

base::Result<CelRules> CelRules::compile(const Schema& root) {
  auto node = Node::make(root);
  if (!node) return node.error();
  return CelRules(std::move(*node));
}

std::vector<FieldError> CelRules::check(const Json& object, const Json* old) const {
  Walk walk;
  if (root_) walk.at(*root_, object, old, false);
  return walk.take_errors();
}

}  // namespace fairlead::api
