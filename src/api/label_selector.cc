#include "api/label_selector.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/describe.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(LabelSelectorRequirement, (), (key, operator_, values))
BOOST_DESCRIBE_STRUCT(LabelSelector, (), (matchLabels, matchExpressions))

namespace {

constexpr size_t kNameMax = 63;
constexpr size_t kPrefixMax = 253;

bool lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool alphanumeric(char c) { return lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

// Alphanumeric at both ends, dashes, dots and underscores between.
bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameMax && alphanumeric(name.front()) &&
         alphanumeric(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool valid_dns_label(std::string_view label) {
  return !label.empty() && lower_or_digit(label.front()) && lower_or_digit(label.back()) &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return lower_or_digit(c) || c == '-'; });
}

bool valid_prefix(std::string_view prefix) {
  if (prefix.size() > kPrefixMax) return false;
  while (true) {
    const size_t dot = prefix.find('.');
    if (!valid_dns_label(prefix.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    prefix.remove_prefix(dot + 1);
  }
}

bool listed(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool holds(const LabelSelectorRequirement& term, const Labels& labels) {
  const auto label = labels.find(term.key);
  const bool there = label != labels.end();
  if (term.operator_ == "In") return there && listed(term.values, label->second);
  if (term.operator_ == "NotIn") {
    return !term.values.empty() && (!there || !listed(term.values, label->second));
  }
  if (!term.values.empty()) return false;
  if (term.operator_ == "Exists") return there;
  return term.operator_ == "DoesNotExist" && !there;
}

base::Error bad_term(std::string_view term, std::string_view why) {
  return base::invalid_argument(fmt::format("selector at '{}': {}", term.substr(0, 80), why));
}

class SelectorParser {
 public:
  explicit SelectorParser(std::string_view text) : rest_(text) {}

  base::Result<LabelSelector> parse() {
    skip_space();
    while (!rest_.empty()) {
      if (out_.matchExpressions.size() >= kSelectorTermsMax)
        return bad_term(rest_, "too many terms");
      auto done = term();
      if (!done) return done.error();
      skip_space();
      if (rest_.empty()) break;
      if (!take(',')) return bad_term(rest_, "a comma must follow");
      skip_space();
      if (rest_.empty()) return bad_term(rest_, "a term must follow the comma");
    }
    return std::move(out_);
  }

 private:
  base::Result<> term() {
    const std::string_view start = rest_;
    const bool absent = take('!');
    LabelSelectorRequirement wanted;
    skip_space();
    wanted.key = word();
    if (!valid_label_key(wanted.key)) return bad_term(start, "that is no label key");
    skip_space();
    if (absent || rest_.empty() || rest_.front() == ',') {
      wanted.operator_ = absent ? "DoesNotExist" : "Exists";
      out_.matchExpressions.push_back(std::move(wanted));
      return {};
    }
    const bool equals = rest_.front() == '=' || rest_.front() == '!';
    auto values = equals ? one_value(wanted) : value_set(wanted);
    if (!values) return values;
    for (const std::string& value : wanted.values) {
      if (!valid_label_value(value)) return bad_term(start, "that is no label value");
    }
    const bool plain = equals && wanted.operator_ == "In";
    if (plain && !out_.matchLabels.contains(wanted.key)) {
      out_.matchLabels.emplace(std::move(wanted.key), std::move(wanted.values.front()));
    } else {
      out_.matchExpressions.push_back(std::move(wanted));
    }
    return {};
  }

  base::Result<> one_value(LabelSelectorRequirement& wanted) {
    wanted.operator_ = take('!') ? "NotIn" : "In";
    if (!take('=')) return bad_term(rest_, "expected =, ==, !=, in or notin");
    if (wanted.operator_ == "In") take('=');
    skip_space();
    wanted.values.emplace_back(word());
    return {};
  }

  base::Result<> value_set(LabelSelectorRequirement& wanted) {
    const std::string_view name = word();
    if (name != "in" && name != "notin") {
      return bad_term(rest_, "expected =, ==, !=, in or notin");
    }
    wanted.operator_ = name == "in" ? "In" : "NotIn";
    skip_space();
    if (!take('(')) return bad_term(rest_, "expected (");
    do {
      if (wanted.values.size() >= kSelectorTermsMax) return bad_term(rest_, "too many values");
      skip_space();
      wanted.values.emplace_back(word());
      skip_space();
    } while (take(','));
    if (!take(')')) return bad_term(rest_, "expected )");
    return {};
  }

  std::string_view word() {
    const size_t end = std::min(rest_.find_first_of(" \t\n\r=!(),"), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }
  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size()));
  }

  std::string_view rest_;
  LabelSelector out_;
};

}  // namespace

bool valid_label_key(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return valid_name(key);
  return valid_prefix(key.substr(0, slash)) && valid_name(key.substr(slash + 1));
}

bool valid_label_value(std::string_view value) { return value.empty() || valid_name(value); }

bool matches(const LabelSelector& selector, const Labels& labels) {
  for (const auto& [key, value] : selector.matchLabels) {
    const auto label = labels.find(key);
    if (label == labels.end() || label->second != value) return false;
  }
  return std::all_of(selector.matchExpressions.begin(), selector.matchExpressions.end(),
                     [&](const auto& term) { return holds(term, labels); });
}

base::Result<> check_selector(const LabelSelector& selector) {
  for (const auto& [key, value] : selector.matchLabels) {
    if (!valid_label_key(key)) return bad_term(key, "that is no label key");
    if (!valid_label_value(value)) return bad_term(value, "that is no label value");
  }
  for (const LabelSelectorRequirement& term : selector.matchExpressions) {
    if (!valid_label_key(term.key)) return bad_term(term.key, "that is no label key");
    const bool set = term.operator_ == "In" || term.operator_ == "NotIn";
    if (!set && term.operator_ != "Exists" && term.operator_ != "DoesNotExist") {
      return bad_term(term.operator_, "must be In, NotIn, Exists or DoesNotExist");
    }
    if (set == term.values.empty()) {
      return bad_term(term.key, set ? "needs values" : "takes no values");
    }
    for (const std::string& value : term.values) {
      if (!valid_label_value(value)) return bad_term(value, "that is no label value");
    }
  }
  return {};
}

base::Result<LabelSelector> parse_selector(std::string_view text) {
  if (text.size() > kSelectorBytesMax) return bad_term(text, "too long");
  return SelectorParser(text).parse();
}

std::string to_text(const LabelSelector& selector) {
  std::vector<std::string> terms;
  for (const auto& [key, value] : selector.matchLabels)
    terms.push_back(fmt::format("{}={}", key, value));
  for (const LabelSelectorRequirement& term : selector.matchExpressions) {
    if (term.operator_ == "Exists") {
      terms.push_back(term.key);
    } else if (term.operator_ == "DoesNotExist") {
      terms.push_back('!' + term.key);
    } else {
      terms.push_back(fmt::format("{} {} ({})", term.key, term.operator_ == "In" ? "in" : "notin",
                                  fmt::join(term.values, ",")));
    }
  }
  return fmt::format("{}", fmt::join(terms, ","));
}

const TypeInfo& type_of(const LabelSelectorRequirement*) {
  using T = LabelSelectorRequirement;
  static const TypeInfo kType = describe<T>(
      {.doc = "One condition on a label."},
      {field<&T::key>({.doc = "The label.", .required = true}),
       field<&T::operator_>({.doc = "In, NotIn, Exists or DoesNotExist.", .required = true}),
       field<&T::values>(
           {.doc = "What the label may be, for In and NotIn.", .list_type = "atomic"})});
  return kType;
}

const TypeInfo& type_of(const LabelSelector*) {
  using T = LabelSelector;
  static const TypeInfo kType = describe<T>(
      {.doc = "Chooses objects by their labels; all conditions must hold.", .map_type = "atomic"},
      {field<&T::matchLabels>({.doc = "Labels and their values."}),
       field<&T::matchExpressions>({.doc = "Further conditions.", .list_type = "atomic"})});
  return kType;
}

}  // namespace fairlead::api
