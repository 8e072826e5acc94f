// Reads a trace file, a piece at a time.
//
//   auto trace = read_trace("conversations.json", workload::TraceFormat::kShareGpt);
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "workload/trace.h"

namespace fairlead::bench {

// Blocks: for use before any load is sent. The error names the file, and line and field within it.
base::Result<std::shared_ptr<const workload::Trace>> read_trace(const std::string& path,
                                                                workload::TraceFormat format);

}  // namespace fairlead::bench
