#include <algorithm>

#include "codec/yaml.h"

namespace fairlead::codec {
namespace {

constexpr std::string_view kSpace =
    "                                                                ";

bool plain_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

// Words that a reader of YAML takes for something else than text; 1.1's too, which kubectl reads.
bool is_word_of_yaml(std::string_view text) {
  constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no",
                                         "on",   "off",  "y",     "n"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) {
    return word.size() == text.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                    [](char a, char b) { return a == (b | 0x20); });
  });
}

// Whether the text reads back as itself without quotes: letters first, and nothing special after.
bool plain(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && letter(text.front()) && !is_word_of_yaml(text) &&
         std::all_of(text.begin(), text.end(), plain_character);
}

class YamlWriter {
 public:
  std::string write(const Json& json) {
    if (is_block(json)) {
      block(json, 0);
    } else {
      scalar(json);
      out_ += '\n';
    }
    return std::move(out_);
  }

 private:
  static bool is_block(const Json& json) {
    return !json.items().empty() || !json.members().empty();
  }

  void indent(size_t depth) {
    for (size_t left = depth * 2; left > 0;) {
      const size_t count = std::min(left, kSpace.size());
      out_ += kSpace.substr(0, count);
      left -= count;
    }
  }

  void text(std::string_view value) {
    if (plain(value)) {
      out_ += value;
    } else {
      append_json_string(out_, value);  // a JSON string is a double-quoted scalar
    }
  }

  void scalar(const Json& json) {
    if (json.is_string()) {
      text(json.as_string());
    } else {
      out_ += to_string(json);  // null, true, 1, 1.5, {} and []
    }
  }

  // What follows "key:" or "-".
  void value(const Json& json, size_t depth) {
    if (!is_block(json)) {
      out_ += ' ';
      scalar(json);
      out_ += '\n';
      return;
    }
    out_ += '\n';
    block(json, depth);
  }

  void member(const Json::Member& m, size_t depth) {
    text(m.first);
    out_ += ':';
    // A list may stand at the depth of its key.
    value(m.second, m.second.is_array() ? depth : depth + 1);
  }

  void block(const Json& json, size_t depth) {
    for (const Json::Member& m : json.members()) {
      indent(depth);
      member(m, depth);
    }
    for (const Json& item : json.items()) {
      indent(depth);
      out_ += '-';
      if (item.members().empty()) {
        value(item, depth + 1);
        continue;
      }
      bool first = true;
      for (const Json::Member& m : item.members()) {
        if (first) {
          out_ += ' ';
        } else {
          indent(depth + 1);
        }
        first = false;
        member(m, depth + 1);
      }
    }
  }

  std::string out_;
};

}  // namespace

std::string to_yaml(const Json& json) { return YamlWriter().write(json); }

}  // namespace fairlead::codec
