// The parts of a request body that make up its prompt, in prompt order, as the bytes that were
// sent: for prefix hashes and for an estimate of tokens.
//
//   for_each_prompt_piece(body, scan, [&](const PromptPiece& piece) {
//     hash = base::hash64(piece.raw, hash);
//     return --budget != 0;                        // false stops
//   });
//
// Tools come first, then system text, then `messages`, else `prompt`, else `input`: chat templates
// render in this order. Text is yielded still escaped: the same client sends the same bytes again,
// which is all that a prefix hash needs.
#pragma once

#include <string_view>
#include <type_traits>

#include "codec/body_scan.h"

namespace fairlead::codec {

enum class PieceKind : uint8_t {
  kRole,    // starts a message
  kText,    // inside of a string
  kTokens,  // inside of a list of token ids: "1,2,3"
  kOther,   // JSON that a template renders in its own way: tools, images, tool calls
  kNext,    // empty: another prompt of a list of prompts starts
};

struct PromptPiece {
  PieceKind kind;
  std::string_view raw;
};

// The context and what to call for each piece; returns false to stop.
struct PieceSink {
  void* context;
  bool (*call)(void* context, const PromptPiece& piece);
};

// `scan` must be of this body. What has an unexpected shape is yielded as kOther.
void walk_prompt(std::string_view body, const BodyScan& scan, PieceSink sink);

template <class OnPiece>
void for_each_prompt_piece(std::string_view body, const BodyScan& scan, OnPiece&& on_piece) {
  walk_prompt(body, scan,
              {&on_piece, [](void* context, const PromptPiece& piece) -> bool {
                 return (*static_cast<std::remove_reference_t<OnPiece>*>(context))(piece);
               }});
}

}  // namespace fairlead::codec
