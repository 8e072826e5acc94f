#include "codec/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

namespace fairlead::codec {
namespace {

using base::Result;

uint32_t line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 0 : static_cast<uint32_t>(mark.line) + 1;
}

base::Error error_at(uint32_t line, std::string_view why) {
  return base::invalid_argument(line == 0 ? fmt::format("YAML: {}", why)
                                          : fmt::format("YAML line {}: {}", line, why));
}

std::optional<Json> integer_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!negative) return Json::unsigned_integer(value);
  constexpr uint64_t kMinMagnitude = uint64_t{1} << 63;
  if (value > kMinMagnitude) return std::nullopt;
  return Json::integer(static_cast<int64_t>(0 - value));
}

std::optional<Json> double_of(std::string_view text) {
  const std::string_view digits =
      text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  // from_chars knows names such as "inf" and "nan" that YAML spells in another way.
  if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
    return std::nullopt;
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Json::number(value);
}

Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return Json();
  if (text == "true" || text == "True" || text == "TRUE") return Json::boolean(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json::boolean(false);
  if (auto integer = integer_of(text)) return std::move(*integer);
  if (auto number = double_of(text)) return std::move(*number);
  return Json::string(text);
}

// Builds the tree from the parser's events. After the first error it ignores what comes, so memory
// stays within the limits whatever the text holds.
class TreeBuilder final : public YAML::EventHandler {
 public:
  const std::optional<base::Error>& error() const { return error_; }
  Json take() { return std::move(root_); }
  uint32_t document_line() const { return document_line_; }

  void OnDocumentStart(const YAML::Mark& mark) override { document_line_ = line_of(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (fits(mark, open_.size())) add(mark, anchor, Json());
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (takes_key()) {
      open_.back().key = text;
      open_.back().key_line = line_of(mark);
      return;
    }
    // "?" is the tag of a plain scalar; "!" that of a quoted one.
    if (!fits(mark, open_.size())) return;
    add(mark, anchor, tag == "?" ? plain_scalar(text) : Json::string(text));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchored_.find(anchor);
    // The parser knows the name, so its value is not complete yet.
    if (it == anchored_.end()) return fail(line_of(mark), "an alias within its own anchor");
    if (tree_fits(mark, it->second, open_.size())) add(mark, YAML::NullAnchor, it->second);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, FrameKind::kSequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, FrameKind::kMap);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  enum class FrameKind : uint8_t { kSequence, kMap };
  struct Frame {
    FrameKind kind;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::vector<Json> items;
    std::vector<Json::Member> members;
    std::optional<std::string> key;
    uint32_t key_line = 0;
  };

  void fail(uint32_t line, std::string_view why) {
    if (!error_) error_ = error_at(line, why);
  }

  bool takes_key() const {
    return !error_ && !open_.empty() && open_.back().kind == FrameKind::kMap && !open_.back().key;
  }

  // Counts one value at the given depth.
  bool fits(const YAML::Mark& mark, size_t depth) {
    if (depth > kYamlDepthMax) fail(line_of(mark), "nested too deeply");
    if (++nodes_ > kYamlNodesMax) fail(line_of(mark), "too many values");
    return !error_;
  }

  // Counts all values of a tree about to be copied.
  bool tree_fits(const YAML::Mark& mark, const Json& json, size_t depth) {
    if (!fits(mark, depth)) return false;
    for (const Json& item : json.items()) {
      if (!tree_fits(mark, item, depth + 1)) return false;
    }
    for (const auto& [key, value] : json.members()) {
      if (!tree_fits(mark, value, depth + 1)) return false;
    }
    return true;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, FrameKind kind) {
    if (error_) return;
    if (takes_key()) return fail(line_of(mark), "a key must be a scalar");
    if (!fits(mark, open_.size())) return;
    open_.push_back({kind, mark, anchor, {}, {}, {}, 0});
  }

  void close() {
    if (error_) return;
    Frame frame = std::move(open_.back());
    open_.pop_back();
    if (const Json::Member* repeated = first_repeated(frame.members)) {
      return fail(repeated->second.line(), fmt::format("'{}' is repeated", repeated->first));
    }
    add(frame.mark, frame.anchor,
        frame.kind == FrameKind::kMap ? Json::object(std::move(frame.members))
                                      : Json::array(std::move(frame.items)));
  }

  // Takes in a value that fits() has counted.
  void add(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
    if (error_) return;
    if (takes_key()) return fail(line_of(mark), "a key must be a scalar");
    value.set_line(line_of(mark));
    if (anchor != YAML::NullAnchor) {
      if (!tree_fits(mark, value, 0)) return;
      anchored_.insert_or_assign(anchor, value);
    }
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().kind == FrameKind::kSequence) {
      open_.back().items.push_back(std::move(value));
    } else {
      value.set_line(open_.back().key_line);
      open_.back().members.emplace_back(std::move(*open_.back().key), std::move(value));
      open_.back().key.reset();
    }
  }

  static const Json::Member* first_repeated(const std::vector<Json::Member>& members) {
    std::vector<const Json::Member*> sorted;
    sorted.reserve(members.size());
    for (const Json::Member& member : members) sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->first < b->first; });
    const auto it =
        std::adjacent_find(sorted.begin(), sorted.end(),
                           [](const auto* a, const auto* b) { return a->first == b->first; });
    return it == sorted.end() ? nullptr : *(it + 1);
  }

  Json root_;
  uint32_t document_line_ = 0;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, Json> anchored_;
  size_t nodes_ = 0;
  std::optional<base::Error> error_;
};

}  // namespace

Result<Json> parse_yaml(std::string_view text) {
  if (text.size() > kYamlBytesMax.count) {
    return error_at(
        0, fmt::format("{} bytes are more than {}", text.size(), base::to_string(kYamlBytesMax)));
  }
  if (!valid_utf8(text)) return error_at(0, "invalid UTF-8");
  std::istringstream stream{std::string(text)};
  // yaml-cpp reports by exceptions; they end here.
  try {
    YAML::Parser parser(stream);
    TreeBuilder tree;
    parser.HandleNextDocument(tree);
    if (tree.error()) return *tree.error();
    Json root = tree.take();
    // Not LoadAll: it never ends on text such as ",a", of which the parser makes empty documents
    // without moving on.
    if (parser.HandleNextDocument(tree)) {
      return error_at(tree.document_line(), "only one document is allowed");
    }
    return root;
  } catch (const YAML::Exception& e) {
    return error_at(line_of(e.mark), e.msg);
  }
}

}  // namespace fairlead::codec
