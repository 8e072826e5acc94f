// The grammar of JSON over raw bytes, without a tree: what the body scan, the event scan and the
// error positions of parse_json stand on.
//
//   JsonScanner in(text);
//   std::string_view model;
//   bool ok = in.object([&](JsonText key) {
//     if (key.raw != "model") return in.skip();
//     JsonText value;
//     if (!in.string(value)) return false;
//     model = value.raw;
//     return true;
//   }) && in.finish();
//   if (!ok) report(in.offset(), in.why());
//
// Strict RFC 8259, but: the text must be valid UTF-8 already (check it whole with valid_utf8, which
// is many times faster than doing it here), numbers may have any size, and a \u escape of half a
// surrogate pair passes: both are the engine's to judge. Spans point into the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace fairlead::codec {

// A string between its quotes, as it was sent.
struct JsonText {
  std::string_view raw;
  bool escaped = false;  // holds a backslash: decode() to read it

  // False where an unpaired surrogate makes it no text.
  bool decode(std::string& out) const;
  bool equals(std::string_view text) const;
};

class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text, size_t depth_max = kJsonDepthMax)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        depth_left_(depth_max) {}

  // The next byte that is not white space, which tells the type of the value; 0 at the end.
  char peek();
  bool string(JsonText& out);
  // A number or literal as it was sent.
  bool scalar(std::string_view& out);
  // Any value; `out` gets its bytes.
  bool skip();
  bool skip(std::string_view& out);
  // The same for a value that is thrown away, several times faster: of what is in an object or
  // array it sees only strings and brackets.
  bool discard();
  // True if nothing but white space is left.
  bool finish();
  // Consume the container; the callback must consume exactly one value and return false on failure.
  template <class OnMember>
  bool object(OnMember on_member);
  template <class OnItem>
  bool array(OnItem on_item);

  // Where it stands, and after a failure where and why it failed.
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  const char* why() const { return why_ == nullptr ? "" : why_; }
  bool fail(const char* why);
  // The failure in words, with byte and line.
  base::Error error() const;

 private:
  bool enter();
  bool leave() { return ++depth_left_ != 0; }
  bool number();
  bool literal(std::string_view word);
  bool unicode_escape(const char*& p);

  const char* begin_;
  const char* at_;
  const char* end_;
  size_t depth_left_;
  const char* why_ = nullptr;
};

inline char JsonScanner::peek() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

template <class OnMember>
bool JsonScanner::object(OnMember on_member) {
  if (peek() != '{') return fail("expected an object");
  if (!enter()) return false;
  if (peek() == '}') {
    ++at_;
    return leave();
  }
  while (true) {
    JsonText key;
    if (peek() != '"') return fail("expected a string as key");
    if (!string(key)) return false;
    if (peek() != ':') return fail("expected ':'");
    ++at_;
    if (!on_member(key)) return false;
    const char next = peek();
    if (next != ',' && next != '}') return fail("expected ',' or '}'");
    ++at_;
    if (next == '}') return leave();
  }
}

template <class OnItem>
bool JsonScanner::array(OnItem on_item) {
  if (peek() != '[') return fail("expected an array");
  if (!enter()) return false;
  if (peek() == ']') {
    ++at_;
    return leave();
  }
  while (true) {
    if (!on_item()) return false;
    const char next = peek();
    if (next != ',' && next != ']') return fail("expected ',' or ']'");
    ++at_;
    if (next == ']') return leave();
  }
}

// Says where `text` stops being UTF-8.
base::Error utf8_error(std::string_view text);

}  // namespace fairlead::codec
