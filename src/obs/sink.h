// Where lines of text go. A sink is called with whole lines, from one thread at a time unless it
// says otherwise; it may block as long as the file does.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fairlead::obs {

using Sink = std::function<void(std::string_view lines)>;

// Standard error, one write(2) a call; any thread.
Sink stderr_sink();
// Appends to a file, which is made if it is absent; "-" is standard output. Any thread.
base::Result<Sink> file_sink(const std::string& path);

}  // namespace fairlead::obs
