#include "codec/prompt_pieces.h"

#include "codec/json_scanner.h"

namespace fairlead::codec {
namespace {

std::string_view inside(std::string_view bracketed) {
  return bracketed.substr(1, bracketed.size() - 2);
}

// Each method yields what `value`, one valid JSON value, holds; false once the sink has had enough.
class Walk {
 public:
  explicit Walk(PieceSink sink) : sink_(sink) {}

  bool yield(PieceKind kind, std::string_view raw) {
    return sink_.call(sink_.context, {kind, raw});
  }

  // Yields nothing for what is absent or null.
  bool other(std::string_view value) {
    return value.empty() || value == "null" || yield(PieceKind::kOther, value);
  }

  bool text(std::string_view value) {
    if (value.starts_with('"')) return yield(PieceKind::kText, inside(value));
    return other(value);
  }

  // Text, or a list of text and parts.
  bool content(std::string_view value) {
    if (!value.starts_with('[')) return text(value);
    return each_item(value, [this](std::string_view item) { return part(item); });
  }

  bool messages(std::string_view value) {
    if (!value.starts_with('[')) return text(value);
    JsonScanner in(value);
    return in.array([&] { return message(in, value); });
  }

  // A string, a list of token ids, or a list of either.
  bool prompt(std::string_view value) {
    if (!value.starts_with('[')) return text(value);
    if (is_tokens(value)) return yield(PieceKind::kTokens, inside(value));
    bool first = true;
    return each_item(value, [&](std::string_view item) {
      if (!first && !yield(PieceKind::kNext, {})) return false;
      first = false;
      if (is_tokens(item)) return yield(PieceKind::kTokens, inside(item));
      return text(item);
    });
  }

  // `input` of the embeddings API is a prompt, that of the responses API a text or messages.
  bool input(std::string_view value) {
    JsonScanner in(value);
    bool has_objects = false;
    if (in.peek() == '[') {
      in.array([&] {
        has_objects = in.peek() == '{';
        return false;
      });
    }
    return has_objects ? messages(value) : prompt(value);
  }

 private:
  template <class OnItem>
  static bool each_item(std::string_view list, OnItem on_item) {
    JsonScanner in(list);
    return in.array([&] {
      std::string_view item;
      return in.skip(item) && on_item(item);
    });
  }

  static bool is_tokens(std::string_view value) {
    JsonScanner in(value);
    if (in.peek() != '[') return false;
    bool tokens = false;
    in.array([&] {
      const char c = in.peek();
      tokens = c == '-' || (c >= '0' && c <= '9');
      return false;
    });
    return tokens;
  }

  bool part(std::string_view value) {
    if (!value.starts_with('{')) return text(value);
    std::string_view body;
    bool is_text = true;
    JsonScanner in(value);
    in.object([&](const JsonText& key) {
      std::string_view member;
      if (!in.skip(member)) return false;
      if (key.equals("text")) body = member;
      if (key.equals("type")) is_text = names_text(member);
      return true;
    });
    return is_text && body.starts_with('"') ? text(body) : other(value);
  }

  static bool names_text(std::string_view value) {
    JsonScanner in(value);
    JsonText type;
    if (in.peek() != '"' || !in.string(type)) return false;
    return type.equals("text") || type.equals("input_text") || type.equals("output_text");
  }

  // Reads the message in place: its content, most of the body, is passed over only once.
  bool message(JsonScanner& in, std::string_view list) {
    if (in.peek() != '{') {
      std::string_view value;
      return in.skip(value) && text(value);
    }
    std::string_view role;
    std::string_view body;
    std::string_view calls;
    const size_t start = in.offset();
    in.object([&](const JsonText& key) {
      std::string_view member;
      if (!in.skip(member)) return false;
      if (key.equals("role")) role = member;
      if (key.equals("content")) body = member;
      if (key.equals("tool_calls")) calls = member;
      return true;
    });
    if (!role.starts_with('"')) return other(list.substr(start, in.offset() - start));
    return yield(PieceKind::kRole, inside(role)) && content(body) && other(calls);
  }

  PieceSink sink_;
};

}  // namespace

void walk_prompt(std::string_view body, const BodyScan& scan, PieceSink sink) {
  Walk walk(sink);
  if (!walk.other(scan.tools.in(body))) return;
  if (!walk.content(scan.system.in(body)) || !walk.content(scan.instructions.in(body))) return;
  if (scan.messages.present()) {
    walk.messages(scan.messages.in(body));
  } else if (scan.prompt.present()) {
    walk.prompt(scan.prompt.in(body));
  } else {
    walk.input(scan.input.in(body));
  }
}

}  // namespace fairlead::codec
