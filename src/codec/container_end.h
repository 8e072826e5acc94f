// Where a JSON object or array ends, for those that are thrown away: 64 bytes a step where SSE2 is
// at hand, looking at nothing but strings and brackets.
#pragma once

namespace fairlead::codec {

// The byte behind the bracket that closes the one at p; nullptr if there is none before `end`. An
// object may be closed by ']' and hold anything: its grammar is not looked at.
const char* container_end(const char* p, const char* end);

}  // namespace fairlead::codec
