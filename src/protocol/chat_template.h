// The default chat template, in the shape of ChatML, which Qwen and many others use:
//
//   <|im_start|>system
//   You are helpful.<|im_end|>
//   <|im_start|>user
//   hi<|im_end|>
//   <|im_start|>assistant
//
// Tools are listed as JSON at the end of the system message (which is made if there is none), calls
// appear as <tool_call> elements, a tool's answer as <tool_response> in a message of the user: the
// form that the "hermes" tool parser reads. Pure.
#pragma once

#include <string>

#include "protocol/request.h"

namespace fairlead::protocol {

std::string render_chat(const Conversation& conversation);

}  // namespace fairlead::protocol
