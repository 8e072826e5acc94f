// vLLM's rules about a request's body as a whole, which it applies before it looks at the fields
// one by one. Each function returns the first rule that is broken, in vLLM's order. Pure.
#pragma once

#include "codec/json.h"
#include "protocol/errors.h"
#include "protocol/validation.h"

namespace fairlead::protocol {

Refusal check_chat_rules(const codec::Json& body, const Endpoint& endpoint);
Refusal check_completion_rules(const codec::Json& body, const Endpoint& endpoint);
Refusal check_embedding_rules(const codec::Json& body, const Endpoint& endpoint);
// Of a chat's tokenization.
Refusal check_tokenize_rules(const codec::Json& body, const Endpoint& endpoint);

// With tools and no choice the choice is "auto"; vLLM writes that into the body, where later
// messages show it.
codec::Json with_tool_choice(codec::Json body);

}  // namespace fairlead::protocol
