#include "cli/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "cli/text.h"
#include "codec/suggest.h"

namespace fairlead::cli {
namespace {

using codec::FieldShape;
using codec::FlagHelp;
using codec::ValueKind;

constexpr size_t kDocColumn = 28;

std::string normalized(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

const FlagHelp* find(const std::vector<FlagHelp>& flags, std::string_view name) {
  for (const FlagHelp& flag : flags) {
    if (normalized(flag.flag) == name) return &flag;
  }
  return nullptr;
}

bool is_switch(const FlagHelp& flag) {
  return flag.kind == ValueKind::kBool && flag.shape != FieldShape::kList;
}

base::Error unknown_flag(const std::vector<FlagHelp>& flags, const std::string& name) {
  std::vector<std::string> names;
  for (const FlagHelp& flag : flags) names.push_back(normalized(flag.flag));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = codec::nearest_name(name, views);
  return base::invalid_argument(
      near.empty() ? fmt::format("unknown flag --{}; --help lists them", name)
                   : fmt::format("unknown flag --{}: did you mean --{}?", name, near));
}

// One pass over the words; `given` collects the names.
class Parser {
 public:
  Parser(const codec::StructInfo& info, void* object, std::span<const std::string> args)
      : info_(info), object_(object), args_(args), flags_(codec::flags_of(info)) {}

  base::Result<> parse() {
    while (at_ < args_.size()) {
      const std::string& word = args_[at_++];
      if (!word.starts_with("--") || word.size() == 2) {
        return base::invalid_argument(
            fmt::format("'{}' is not expected here: flags begin with --; --help lists them", word));
      }
      auto parsed = parse_one(std::string_view(word).substr(2));
      if (!parsed) return parsed;
    }
    for (const FlagHelp& flag : flags_) {
      if (flag.required && !given_.contains(flag.flag)) {
        return base::invalid_argument(fmt::format("--{} is needed: {}", flag.flag, flag.doc));
      }
    }
    return {};
  }

 private:
  base::Result<> parse_one(std::string_view word) {
    const size_t equals = word.find('=');
    std::string name = normalized(word.substr(0, equals));
    const bool has_value = equals != std::string_view::npos;
    const FlagHelp* flag = find(flags_, name);
    bool negated = false;
    if (flag == nullptr && name.starts_with("no-")) {
      flag = find(flags_, std::string_view(name).substr(3));
      negated = flag != nullptr && is_switch(*flag);
      if (!negated) flag = nullptr;
    }
    if (flag == nullptr) return unknown_flag(flags_, name);
    if (negated && has_value) {
      return base::invalid_argument(fmt::format("--{} takes no value", name));
    }
    given_.insert(flag->flag);
    if (negated) return set(*flag, "false");
    if (has_value) return set(*flag, word.substr(equals + 1));
    if (is_switch(*flag)) return set(*flag, "true");
    if (at_ == args_.size()) {
      return base::invalid_argument(
          fmt::format("--{} needs a value: {} ({})", name, flag->type, flag->doc));
    }
    return set(*flag, args_[at_++]);
  }

  base::Result<> set(const FlagHelp& flag, std::string_view value) {
    const auto done = codec::set_field(info_, object_, flag.flag, value);
    if (done) return {};
    return base::invalid_argument(fmt::format("--{}", done.error().describe()));
  }

  const codec::StructInfo& info_;
  void* object_;
  std::span<const std::string> args_;
  std::vector<FlagHelp> flags_;
  std::set<std::string> given_;
  size_t at_ = 0;
};

std::string_view placeholder(const FlagHelp& flag) {
  switch (flag.kind) {
    case ValueKind::kBool:
      return "BOOL";
    case ValueKind::kInteger:
    case ValueKind::kDouble:
      return "N";
    case ValueKind::kEnum:
      return "NAME";
    case ValueKind::kSize:
      return "SIZE";
    case ValueKind::kDuration:
      return "TIME";
    case ValueKind::kString:
    case ValueKind::kStruct:
      return "TEXT";
  }
  return "";
}

std::string flag_column(const FlagHelp& flag) {
  if (is_switch(flag)) {
    return fmt::format("--{}{}", flag.default_text == "true" ? "no-" : "", flag.flag);
  }
  return fmt::format("--{} {}", flag.flag, placeholder(flag));
}

}  // namespace

base::Result<> parse_flags(const codec::StructInfo& info, void* object,
                           std::span<const std::string> args) {
  return Parser(info, object, args).parse();
}

std::string flags_help(const codec::StructInfo& info) {
  std::string text;
  for (const FlagHelp& flag : codec::flags_of(info)) {
    std::string doc = flag.doc;
    if (!is_switch(flag)) doc += fmt::format(" [{}]", flag.type);
    if (flag.shape == FieldShape::kList) doc += ", may be repeated";
    if (flag.required) {
      doc += ", needed";
    } else if (is_switch(flag)) {
      doc += fmt::format(" (default: {})", flag.default_text == "true" ? "on" : "off");
    } else if (!flag.default_text.empty()) {
      doc += fmt::format(" (default: {})", flag.default_text);
    } else {
      doc += " (default: none)";
    }
    append_entry(text, flag_column(flag), doc, kDocColumn);
  }
  return text;
}

}  // namespace fairlead::cli
